// Keeps the requests that the sandbox process has not answered yet, and decides the order in which they are sent. A request that
// does not finish in its first short slice, or that may have killed the process, never delays the others: it goes to the end of a
// queue and runs alone. Each request is settled exactly once. This file knows neither processes nor channels.
import { sandboxLimits } from '../limits.ts';
import { maxBatchRequests } from './batches.ts';
import type { RunOptions, SandboxOutcome } from './sandbox.ts';
import { firstSliceMs } from './time-slice.ts';

/**
 * together: with others, for a short slice. doubted: the same, a few at a time and after all others, because a request with the same
 * expressions has failed. solo: alone, for a short slice. long: alone, with the full time limit.
 */
type Stage = 'together' | 'doubted' | 'solo' | 'long';

/** Each can take a whole slice and a new isolate, some 35 ms, and whatever arrives next waits for those in flight. */
const maxDoubtedInFlight = 2;

interface QueuedRequest {
  id: number;
  text: string;
  /** Equal for requests with the same expressions; without one the request is never doubted. */
  cause: string | undefined;
  stage: Stage;
  /** How often the process died while this request ran in the long stage. */
  deaths: number;
  settle: (outcome: SandboxOutcome) => void;
}

export interface ProcessDeath {
  cause: string;
  wasHung: boolean;
  /** False for a SIGKILL that the watchdog did not send: then the kernel or an operator is the likelier cause. */
  isBlamedOnRequest: boolean;
}

export class RequestBook {
  #queues: Record<Stage, QueuedRequest[]> = emptyQueues();
  /** Causes of which a request has failed and none has been answered since the doubted queue was last empty. */
  readonly #doubts = new Set<string>();
  #isNewestNext = false;
  /** A list, because the dead tables that V8 leaves behind a growing map would keep deleted requests in memory. */
  #inFlight: QueuedRequest[] = [];
  #waitingChars = 0;
  #nextId = 1;
  /** How many `together` requests run before the next request that runs alone: those that waited while the last one ran. */
  #newcomersFirst = 0;

  get inFlight(): number {
    return this.#inFlight.length;
  }

  get isFull(): boolean {
    const waiting = Object.values(this.#queues).reduce((sum, { length }) => sum + length, 0);
    return waiting >= sandboxLimits.waiting || this.#waitingChars >= sandboxLimits.waitingChars;
  }

  get isRunningAlone(): boolean {
    return this.#aloneRequest !== undefined;
  }

  /** How long the process may be silent with its present requests. */
  allowedSilenceMs(hardMs: number): number {
    const stage = this.#aloneRequest?.stage;
    if (stage === 'long') return hardMs;
    const slices = this.#inFlight.map(({ text }) => firstSliceMs(text.length));
    const graceMs = stage === 'solo' ? sandboxLimits.soloHangMs : sandboxLimits.hangMs;
    return Math.min(hardMs, graceMs + Math.max(0, ...slices));
  }

  add(text: string, { alone, cause }: RunOptions, settle: (outcome: SandboxOutcome) => void): void {
    const isDoubted = cause !== undefined && this.#doubts.has(cause);
    const stage = alone === true ? 'long' : isDoubted ? 'doubted' : 'together';
    const request: QueuedRequest = { id: this.#nextId, text, cause, stage, deaths: 0, settle };
    this.#nextId = (this.#nextId + 1) >>> 0;
    this.#enqueue(request);
  }

  /** The next request that may be sent now. A request that runs alone waits until no other is in flight, and blocks the others. */
  next(): { id: number; text: string; isLong: boolean } | undefined {
    const { together, doubted, solo, long } = this.#queues;
    // Most solo requests are innocent, so they run before the long requests, which have already used up a slice.
    const suspects = solo.length > 0 ? solo : long;
    const fresh = together.length > 0 ? together : doubted;
    const queue = suspects.length > 0 && (fresh.length === 0 || this.#newcomersFirst <= 0) ? suspects : fresh;
    const limit = queue === doubted ? maxDoubtedInFlight : sandboxLimits.inFlight;
    if (queue.length === 0 || this.#inFlight.length >= limit) return undefined;
    if (this.#inFlight.length > 0 && (queue === suspects || this.isRunningAlone)) return undefined;
    const next = (queue === doubted ? this.#takeDoubted() : queue.shift()) as QueuedRequest;
    if (queue === fresh) this.#newcomersFirst--;
    this.#waitingChars -= next.text.length;
    this.#inFlight.push(next);
    return { id: next.id, text: next.text, isLong: next.stage === 'long' };
  }

  /** Alternately the newest and the oldest: a burst of bad values delays later good ones by a slice or two, and no value waits for ever. */
  #takeDoubted(): QueuedRequest | undefined {
    this.#isNewestNext = !this.#isNewestNext;
    return this.#isNewestNext ? this.#queues.doubted.pop() : this.#queues.doubted.shift();
  }

  /** Settles a request with its outcome. Before the long stage only an answer counts; any other outcome leads to the long stage. */
  recordOutcome(id: number, outcome: SandboxOutcome): void {
    const at = this.#inFlight.findIndex((request) => request.id === id);
    const [request] = at < 0 ? [] : this.#inFlight.splice(at, 1);
    if (request === undefined) return;
    this.#countNewcomers(request);
    this.#weigh(request, outcome.kind === 'answer');
    if (outcome.kind === 'answer' || request.stage === 'long') request.settle(outcome);
    else this.#runLong(request);
  }

  /**
   * Puts the requests in flight back into the queues. The process runs requests in their order and sends the answers to a batch
   * before it begins the next one, so only the oldest batch can have killed it. Each request of that batch runs alone, last of all.
   */
  requeueAfterDeath(death: ProcessDeath): void {
    const taken = this.#inFlight;
    this.#inFlight = [];
    const [first] = taken;
    if (first === undefined) return;
    this.#countNewcomers(first);
    if (first.stage === 'long') {
      this.#blame(first, death);
      return;
    }
    const suspects = taken.splice(0, maxBatchRequests);
    for (const innocent of taken) this.#waitingChars += innocent.text.length;
    this.#queues.together.unshift(...taken.filter(({ stage }) => stage === 'together'));
    this.#queues.doubted.unshift(...taken.filter(({ stage }) => stage === 'doubted'));
    // The oldest request is the most likely cause, so the others go before it.
    const [oldest, ...others] = suspects as [QueuedRequest, ...QueuedRequest[]];
    this.#weigh(oldest, false);
    for (const other of others) this.#enqueue({ ...other, stage: 'solo' });
    if (others.length === 0) this.#runLong(oldest);
    else this.#enqueue({ ...oldest, stage: 'solo' });
  }

  failAll(message: string): void {
    const all = [this.#inFlight, ...Object.values(this.#queues)].flat();
    this.#inFlight = [];
    this.#queues = emptyQueues();
    this.#waitingChars = 0;
    for (const request of all) request.settle({ kind: 'unavailable', message });
  }

  get #aloneRequest(): QueuedRequest | undefined {
    const [first] = this.#inFlight;
    return first !== undefined && isAlone(first) ? first : undefined;
  }

  /** Requests with the same expressions as a failed one are likely to fail too, so they run after all others. */
  #weigh({ cause }: QueuedRequest, isAnswered: boolean): void {
    if (cause === undefined) return;
    if (isAnswered) {
      if (this.#queues.doubted.length === 0) this.#doubts.delete(cause);
      return;
    }
    if (this.#doubts.has(cause)) return;
    this.#doubts.add(cause);
    const { together, doubted } = this.#queues;
    for (const one of together) if (one.cause === cause) doubted.push({ ...one, stage: 'doubted' });
    this.#queues.together = together.filter((one) => one.cause !== cause);
  }

  #enqueue(request: QueuedRequest): void {
    const { solo, long } = this.#queues;
    if (solo.length === 0 && long.length === 0) this.#newcomersFirst = this.#fresh;
    this.#waitingChars += request.text.length;
    this.#queues[request.stage].push(request);
  }

  #countNewcomers(request: QueuedRequest): void {
    if (isAlone(request)) this.#newcomersFirst = this.#fresh;
  }

  get #fresh(): number {
    return this.#queues.together.length + this.#queues.doubted.length;
  }

  #runLong(request: QueuedRequest): void {
    this.#enqueue({ ...request, stage: 'long' });
  }

  #blame(request: QueuedRequest, { cause, wasHung, isBlamedOnRequest }: ProcessDeath): void {
    request.deaths++;
    const limit = isBlamedOnRequest ? sandboxLimits.deaths : sandboxLimits.killedDeaths;
    if (request.deaths < limit) this.#enqueue(request);
    else if (wasHung) request.settle({ kind: 'timeout' });
    else if (cause === 'swollen') request.settle({ kind: 'memory' });
    else request.settle({ kind: 'crash', message: `the sandbox process died while it ran the expression (${cause})` });
  }
}

function emptyQueues(): Record<Stage, QueuedRequest[]> {
  return { together: [], doubted: [], solo: [], long: [] };
}

function isAlone({ stage }: QueuedRequest): boolean {
  return stage === 'solo' || stage === 'long';
}
