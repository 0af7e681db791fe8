// The requests of the slow process, which runs one at a time. Each request gets a short slice first, and its full time limit only
// when no other request waits for a slice. So harmless requests among the suspected ones wait for one long run at most.
import type { Clock } from '../../clock.ts';
import { sandboxLimits } from '../limits.ts';
import type { Frame } from './frames.ts';
import type { ProcessDeath, RequestBook, RunOutcome, SandboxRequest } from './requests.ts';
import type { SandboxOutcome } from './sandbox.ts';
import { firstSliceMs } from './time-slice.ts';

/** slice: a short one. long: the full time limit, behind every request that waits for a slice. */
export type SlowStage = 'slice' | 'long';

interface SlowRequest {
  request: SandboxRequest;
  stage: SlowStage;
  /** How often the process died while this request ran in the long stage. */
  deaths: number;
}

/**
 * A burst of bad values delays later good ones by a slice or two when the newest goes first, and with the oldest after some of the
 * newest no value waits for ever.
 */
const mostNewestInRow = 16;

/** Where requests for slices never end, one long run in this time: a tenth of the process. */
const longEveryMs = 5_000;

export interface SlowBookEvents {
  isProven: (request: SandboxRequest) => boolean;
  /** A request used up a slice, took long, or ended the process. */
  onFailed: (request: SandboxRequest) => void;
  onAnswered: (request: SandboxRequest) => void;
}

export class SlowBook implements RequestBook {
  readonly #clock: Clock;
  readonly #events: SlowBookEvents;
  #queues = emptyQueues();
  #running: SlowRequest | undefined;
  #runningId = 0;
  #waitingChars = 0;
  #newestInRow = 0;
  /** End of the last long run, or the moment when a long run was first wanted since. */
  #longSinceMs = 0;

  constructor(clock: Clock, events: SlowBookEvents) {
    this.#clock = clock;
    this.#events = events;
  }

  get inFlight(): number {
    return this.#running === undefined ? 0 : 1;
  }

  get waiting(): { requests: number; chars: number } {
    return { requests: this.#slices + this.#queues.long.length, chars: this.#waitingChars };
  }

  add(request: SandboxRequest, stage: SlowStage): void {
    this.#enqueue({ request, stage, deaths: 0 });
  }

  next(): Frame | undefined {
    if (this.#running !== undefined) return undefined;
    const isLongNext = this.#slices === 0 || this.#clock.now() - this.#longSinceMs >= longEveryMs;
    const next = (isLongNext ? this.#queues.long.shift() : undefined) ?? this.#takeSlice();
    if (next === undefined) return undefined;
    this.#waitingChars -= next.request.text.length;
    this.#running = next;
    this.#runningId = (this.#runningId + 1) >>> 0;
    return { id: this.#runningId, kind: next.stage === 'long' ? 'long' : 'run', text: next.request.text };
  }

  recordOutcome(id: number, outcome: RunOutcome): void {
    const running = id === this.#runningId ? this.#takeRunning() : undefined;
    if (running === undefined) return;
    const { request, stage } = running;
    if (outcome.kind === 'answer') this.#events.onAnswered(request);
    else this.#events.onFailed(request);
    const isAnswer = outcome.kind === 'answer' || outcome.kind === 'costly';
    if (isAnswer || stage === 'long') request.settle(settledBy(outcome));
    else this.#enqueue({ ...running, stage: 'long' });
  }

  recordDeath(death: ProcessDeath): void {
    const running = this.#takeRunning();
    if (running === undefined) return;
    const { request, stage } = running;
    if (death.isBlamedOnRequest) this.#events.onFailed(request);
    const deaths = running.deaths + (stage === 'long' ? 1 : 0);
    const limit = death.isBlamedOnRequest ? sandboxLimits.deaths : sandboxLimits.killedDeaths;
    if (deaths < limit) this.#enqueue({ request, stage: 'long', deaths });
    else request.settle(blamedFor(death));
  }

  allowedSilenceMs(hardMs: number): number {
    if (this.#running === undefined || this.#running.stage === 'long') return hardMs;
    return Math.min(hardMs, sandboxLimits.hangMs + firstSliceMs(this.#running.request.text.length));
  }

  failAll(message: string): void {
    const all = [this.#running ?? [], ...Object.values(this.#queues)].flat();
    this.#running = undefined;
    this.#queues = emptyQueues();
    this.#waitingChars = 0;
    for (const { request } of all) request.settle({ kind: 'unavailable', message });
  }

  get #slices(): number {
    return this.#queues.doubted.length + this.#queues.proven.length;
  }

  #enqueue(entry: SlowRequest): void {
    const { doubted, long } = this.#queues;
    if (entry.stage === 'long' && long.length === 0) this.#longSinceMs = this.#clock.now();
    this.#waitingChars += entry.request.text.length;
    (entry.stage === 'long' ? long : doubted).push(entry);
  }

  /** Requests that only shared a batch with a failed one go first, because most of them are innocent. */
  #takeSlice(): SlowRequest | undefined {
    const { doubted, proven } = this.#queues;
    for (let next = doubted.shift(); next !== undefined; next = doubted.shift()) {
      if (!this.#events.isProven(next.request)) return next;
      proven.push(next);
    }
    const isNewest = this.#newestInRow < mostNewestInRow;
    this.#newestInRow = isNewest ? this.#newestInRow + 1 : 0;
    return isNewest ? proven.pop() : proven.shift();
  }

  #takeRunning(): SlowRequest | undefined {
    const running = this.#running;
    this.#running = undefined;
    if (running?.stage === 'long') this.#longSinceMs = this.#clock.now();
    return running;
  }
}

function emptyQueues(): Record<'doubted' | 'proven' | 'long', SlowRequest[]> {
  return { doubted: [], proven: [], long: [] };
}

function settledBy({ kind, text }: RunOutcome): SandboxOutcome {
  switch (kind) {
    case 'answer':
    case 'costly':
      return { kind: 'answer', text };
    case 'timeout':
    case 'memory':
      return { kind };
    case 'broken':
    case 'unsure':
      return { kind: 'crash', message: text };
    default:
      return kind satisfies never;
  }
}

function blamedFor({ cause, wasHung }: ProcessDeath): SandboxOutcome {
  if (wasHung) return { kind: 'timeout' };
  if (cause === 'swollen') return { kind: 'memory' };
  return { kind: 'crash', message: `the sandbox process died while it ran the expression (${cause})` };
}
