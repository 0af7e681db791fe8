// The requests that the sandbox process has not answered yet, and the order in which they are sent. A request that does not
// finish in its first short slice, or that was in a process that died, never stands in the way of the others: it goes to the
// end of a line and runs alone. Nothing is lost and nothing is answered twice. Knows nothing of processes and channels.
import { sandboxLimits } from '../limits.ts';
import { mostRequests } from './batches.ts';
import type { SandboxOutcome } from './sandbox.ts';
import { firstSliceMs } from './time-slice.ts';

/** together: with others, for a short slice. solo: the same, but alone. long: alone, with the whole time of an expression. */
type Stage = 'together' | 'solo' | 'long';

interface Request {
  id: number;
  text: string;
  stage: Stage;
  /** How often the process died while this request ran as the only one and for its whole time. */
  deaths: number;
  settle: (outcome: SandboxOutcome) => void;
}

export interface Death {
  cause: string;
  wasHung: boolean;
  /** False for a SIGKILL that the watchdog did not send. */
  isSelfInflicted: boolean;
}

export class RequestBook {
  #lines: Record<Stage, Request[]> = { together: [], solo: [], long: [] };
  /** A list, because a map would keep deleted requests, and all that hangs on them, in tables that V8 leaves behind. */
  #inFlight: Request[] = [];
  #waitingChars = 0;
  #nextId = 1;
  /** Requests that go before the next one that runs alone: those that waited while the last one ran. */
  #freshFirst = 0;

  get inFlight(): number {
    return this.#inFlight.length;
  }

  get isFull(): boolean {
    const { together, solo, long } = this.#lines;
    const waiting = together.length + solo.length + long.length;
    return waiting >= sandboxLimits.waiting || this.#waitingChars >= sandboxLimits.waitingChars;
  }

  get isAlone(): boolean {
    return this.#runsAlone !== undefined;
  }

  /** How long the process may be silent with what it has in hand. */
  silenceMs(hardMs: number): number {
    const stage = this.#runsAlone?.stage;
    if (stage === 'long') return hardMs;
    const slices = this.#inFlight.map(({ text }) => firstSliceMs(text.length));
    const graceMs = stage === 'solo' ? sandboxLimits.soloHangMs : sandboxLimits.hangMs;
    return Math.min(hardMs, graceMs + Math.max(0, ...slices));
  }

  add(text: string, alone: boolean, settle: (outcome: SandboxOutcome) => void): void {
    const request: Request = { id: this.#nextId, text, stage: alone ? 'long' : 'together', deaths: 0, settle };
    this.#nextId = (this.#nextId + 1) >>> 0;
    this.#wait(request);
  }

  /** The next request that may be sent now. One that runs alone waits until the process is empty and keeps it empty. */
  next(): { id: number; text: string; isLong: boolean } | undefined {
    const { together, solo, long } = this.#lines;
    // Most of those that run solo have done nothing: they go before those that had their first slice.
    const suspects = solo.length > 0 ? solo : long;
    const line = suspects.length > 0 && (together.length === 0 || this.#freshFirst <= 0) ? suspects : together;
    const [next] = line;
    if (next === undefined || this.#inFlight.length >= sandboxLimits.inFlight) return undefined;
    if (this.#inFlight.length > 0 && (next.stage !== 'together' || this.isAlone)) return undefined;
    line.shift();
    if (line === together) this.#freshFirst--;
    this.#waitingChars -= next.text.length;
    this.#inFlight.push(next);
    return { id: next.id, text: next.text, isLong: next.stage === 'long' };
  }

  /** What the process said of a request. Only an answer counts before the request had its whole time, alone. */
  told(id: number, outcome: SandboxOutcome): void {
    const at = this.#inFlight.findIndex((request) => request.id === id);
    const [request] = at < 0 ? [] : this.#inFlight.splice(at, 1);
    if (request === undefined) return;
    this.#countFresh(request);
    if (outcome.kind === 'answer' || request.stage === 'long') request.settle(outcome);
    else this.#suspect(request);
  }

  /**
   * The process died. It runs requests in their order and sends each batch of answers before it begins the next batch, so that
   * only the oldest batch can have done it. Each of that batch runs by itself, behind everything that waits.
   */
  takeBack(death: Death): void {
    const taken = this.#inFlight;
    this.#inFlight = [];
    const [first] = taken;
    if (first === undefined) return;
    this.#countFresh(first);
    if (first.stage === 'long') {
      this.#died(first, death);
      return;
    }
    const suspects = taken.splice(0, mostRequests);
    for (const innocent of taken) this.#waitingChars += innocent.text.length;
    this.#lines.together.unshift(...taken);
    // The oldest is the most likely one: the others go before it.
    const [oldest, ...others] = suspects as [Request, ...Request[]];
    for (const other of others) this.#wait({ ...other, stage: 'solo' });
    if (others.length === 0) this.#suspect(oldest);
    else this.#wait({ ...oldest, stage: 'solo' });
  }

  failAll(message: string): void {
    const { together, solo, long } = this.#lines;
    const all = [...this.#inFlight, ...together, ...solo, ...long];
    this.#inFlight = [];
    this.#lines = { together: [], solo: [], long: [] };
    this.#waitingChars = 0;
    for (const request of all) request.settle({ kind: 'unavailable', message });
  }

  get #runsAlone(): Request | undefined {
    const [first] = this.#inFlight;
    return first !== undefined && first.stage !== 'together' ? first : undefined;
  }

  #wait(request: Request): void {
    const { together, solo, long } = this.#lines;
    if (solo.length === 0 && long.length === 0) this.#freshFirst = together.length;
    this.#waitingChars += request.text.length;
    this.#lines[request.stage].push(request);
  }

  #countFresh({ stage }: Request): void {
    if (stage !== 'together') this.#freshFirst = this.#lines.together.length;
  }

  #suspect(request: Request): void {
    this.#wait({ ...request, stage: 'long' });
  }

  #died(request: Request, { cause, wasHung, isSelfInflicted }: Death): void {
    request.deaths++;
    const limit = isSelfInflicted ? sandboxLimits.deaths : sandboxLimits.killedDeaths;
    if (request.deaths < limit) this.#wait(request);
    else if (wasHung) request.settle({ kind: 'timeout' });
    else if (cause === 'swollen') request.settle({ kind: 'memory' });
    else request.settle({ kind: 'crash', message: `the sandbox died of it (${cause})` });
  }
}
