// Keeps the requests that the sandbox process has not answered yet, and decides the order in which they are sent. A request that
// does not finish in its first short slice, or that may have killed the process, never delays the others: it goes to the end of a
// queue and runs alone. Each request is settled exactly once. This file knows neither processes nor channels.
import { sandboxLimits } from '../limits.ts';
import { maxBatchRequests } from './batches.ts';
import type { SandboxOutcome } from './sandbox.ts';
import { firstSliceMs } from './time-slice.ts';

/** together: with others, for a short slice. solo: alone, for a short slice. long: alone, with the full time limit. */
type Stage = 'together' | 'solo' | 'long';

interface QueuedRequest {
  id: number;
  text: string;
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
  #queues: Record<Stage, QueuedRequest[]> = { together: [], solo: [], long: [] };
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
    const { together, solo, long } = this.#queues;
    const waiting = together.length + solo.length + long.length;
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

  add(text: string, alone: boolean, settle: (outcome: SandboxOutcome) => void): void {
    const request: QueuedRequest = { id: this.#nextId, text, stage: alone ? 'long' : 'together', deaths: 0, settle };
    this.#nextId = (this.#nextId + 1) >>> 0;
    this.#enqueue(request);
  }

  /** The next request that may be sent now. A request that runs alone waits until no other is in flight, and blocks the others. */
  next(): { id: number; text: string; isLong: boolean } | undefined {
    const { together, solo, long } = this.#queues;
    // Most solo requests are innocent, so they run before the long requests, which have already used up a slice.
    const suspects = solo.length > 0 ? solo : long;
    const queue = suspects.length > 0 && (together.length === 0 || this.#newcomersFirst <= 0) ? suspects : together;
    const [next] = queue;
    if (next === undefined || this.#inFlight.length >= sandboxLimits.inFlight) return undefined;
    if (this.#inFlight.length > 0 && (next.stage !== 'together' || this.isRunningAlone)) return undefined;
    queue.shift();
    if (queue === together) this.#newcomersFirst--;
    this.#waitingChars -= next.text.length;
    this.#inFlight.push(next);
    return { id: next.id, text: next.text, isLong: next.stage === 'long' };
  }

  /** Settles a request with its outcome. Before the long stage only an answer counts; any other outcome leads to the long stage. */
  recordOutcome(id: number, outcome: SandboxOutcome): void {
    const at = this.#inFlight.findIndex((request) => request.id === id);
    const [request] = at < 0 ? [] : this.#inFlight.splice(at, 1);
    if (request === undefined) return;
    this.#countNewcomers(request);
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
    this.#queues.together.unshift(...taken);
    // The oldest request is the most likely cause, so the others go before it.
    const [oldest, ...others] = suspects as [QueuedRequest, ...QueuedRequest[]];
    for (const other of others) this.#enqueue({ ...other, stage: 'solo' });
    if (others.length === 0) this.#runLong(oldest);
    else this.#enqueue({ ...oldest, stage: 'solo' });
  }

  failAll(message: string): void {
    const { together, solo, long } = this.#queues;
    const all = [...this.#inFlight, ...together, ...solo, ...long];
    this.#inFlight = [];
    this.#queues = { together: [], solo: [], long: [] };
    this.#waitingChars = 0;
    for (const request of all) request.settle({ kind: 'unavailable', message });
  }

  get #aloneRequest(): QueuedRequest | undefined {
    const [first] = this.#inFlight;
    return first !== undefined && first.stage !== 'together' ? first : undefined;
  }

  #enqueue(request: QueuedRequest): void {
    const { together, solo, long } = this.#queues;
    if (solo.length === 0 && long.length === 0) this.#newcomersFirst = together.length;
    this.#waitingChars += request.text.length;
    this.#queues[request.stage].push(request);
  }

  #countNewcomers({ stage }: QueuedRequest): void {
    if (stage !== 'together') this.#newcomersFirst = this.#queues.together.length;
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
