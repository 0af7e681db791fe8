// Counts how long each caller has used the event loop lately. The loop is one for all, so a caller who uses more of it than its
// share is refused before the others wait. What many requests want at once is done one after the other, the callers in turn, and a
// slice at a time, so that new requests are heard between two slices. Of one caller's requests the oldest few go on together: hundreds
// of half-read lists would fill the memory. In: the beginning of each piece of work for a caller.
// Out: a promise for its turn, and 429 with Retry-After.
import { nextTick, threadCpuUsage } from 'node:process';
import type { Clock } from '../../clock.ts';
import { type Metrics, readSeries } from '../../metrics.ts';
import { tooManyRequests } from '../../object/meta/status.ts';
import { StatusFault } from '../request/status-fault.ts';

export interface LoopShares {
  /** Of the window, for one caller. */
  ofOne: number;
  /** For all callers; beyond it only those with less than `small` go on. */
  altogether: number;
  small: number;
}

/** Nobody shares the loop in a benchmark. */
export const wholeLoop: LoopShares = { ofOne: 1, altogether: 1, small: 1 };

/** A quarter of a core serves hundreds of requests a second, and leaves three callers more than their share. */
export const loopShares: LoopShares = { ofOne: 0.25, altogether: 0.75, small: 0.02 };

const windowSeconds = 10;

/** So long the loop works for callers before it looks at what has come in. A probe waits for two or three slices. */
const sliceMs = 20;

/** Requests of one caller that have begun and share its turns; a short request need not wait for one long list. */
const mostBegun = 4;

interface Waiting {
  begun: number;
  go: () => void;
}

/** Of this thread; another program of the machine, which takes the processor away, is no work of the caller. */
function cpuMsOfThread(): number {
  const { user, system } = threadCpuUsage();
  return (user + system) / 1000;
}

export class LoopTime {
  readonly #clock: Clock;
  readonly #shares: LoopShares;
  readonly #cpuMs: () => number;
  /** Milliseconds by caller, one map for each second of the window. */
  readonly #seconds = new Map<number, Map<string, number>>();
  #turn: { caller: string; fromMs: number } | undefined;
  #endsTurn = false;
  #refused = 0;
  /** Of this slice, by all callers. */
  #sliceUsedMs = 0;
  #endsSlice = false;
  #isServing = false;
  /** The first caller is the next in turn. */
  readonly #waiting = new Map<string, Waiting[]>();
  #turns = 0;

  constructor(clock: Clock, shares: LoopShares = loopShares, cpuMs: () => number = cpuMsOfThread) {
    this.#clock = clock;
    this.#shares = shares;
    this.#cpuMs = cpuMs;
  }

  declareMetrics(metrics: Metrics): void {
    const help = 'Answers of 429 because a key, or all keys together, used too much of the event loop';
    const name = 'hostward_management_refused_by_loop_total';
    readSeries(metrics, { name, help, labels: {}, isCounter: true, read: () => this.#refused });
  }

  /** What the loop does from here to the end of its turn, or to the next call, it does for this caller. */
  begins(caller: string): void {
    const nowMs = this.#cpuMs();
    this.#count(nowMs);
    this.#turn = { caller, fromMs: nowMs };
    this.#endSliceLater();
    if (this.#endsTurn) return;
    this.#endsTurn = true;
    // Asked for inside a promise, this runs when no promise of the turn has anything left to do.
    nextTick(() => {
      this.#endsTurn = false;
      this.#count(this.#cpuMs());
      this.#turn = undefined;
    });
  }

  /**
   * Resolves when it is this caller's turn, which then has begun: in this turn of the loop while the slice lasts. begun: a number that grows
   * with each request; without it the request has not begun.
   */
  turn(caller: string, begun = Number.POSITIVE_INFINITY): Promise<void> {
    if (!this.#isServing) {
      this.#isServing = true;
      nextTick(() => void this.#serveWaiting());
    }
    return new Promise((resolve) => {
      const mine = this.#waiting.get(caller);
      const waiting = { begun, go: resolve };
      if (mine === undefined) this.#waiting.set(caller, [waiting]);
      else mine.splice(mine.findLastIndex((other) => other.begun <= begun) + 1, 0, waiting);
    });
  }

  async #serveWaiting(): Promise<void> {
    // begins() counts a whole turn only when it is called inside a promise.
    await undefined;
    for (const [caller, requests] of this.#waiting) {
      if (this.#sliceUsedMs >= sliceMs) await new Promise((resolve) => setImmediate(resolve));
      this.begins(caller);
      const next = this.#turns++ % Math.min(mostBegun, requests.length);
      for (const { go } of requests.splice(next, 1)) go();
      // By then no promise of this request has anything left to do, and its turn is counted.
      await new Promise<void>((resolve) => nextTick(resolve));
      this.#waiting.delete(caller);
      if (requests.length > 0) this.#waiting.set(caller, requests);
    }
    this.#isServing = false;
  }

  #endSliceLater(): void {
    if (this.#endsSlice) return;
    this.#endsSlice = true;
    setImmediate(() => {
      this.#endsSlice = false;
      this.#sliceUsedMs = 0;
    });
  }

  usedMs(caller: string): number {
    return sum(this.#usedBySecond(caller));
  }

  admit(caller: string): void {
    const used = this.#usedBySecond(caller);
    const mine = sum(used) / (windowSeconds * 1000);
    const { ofOne, altogether, small } = this.#shares;
    if (mine > ofOne) throw this.#tooMuch(`your access key has used more than ${percent(ofOne)}`, used, ofOne);
    if (mine <= small || sum(this.#usedBySecond()) / (windowSeconds * 1000) <= altogether) return;
    const what = `all access keys together have used more than ${percent(altogether)}, and yours more than ${percent(small)}`;
    throw this.#tooMuch(what, used, small);
  }

  #count(nowMs: number): void {
    if (this.#turn === undefined) return;
    const { caller, fromMs } = this.#turn;
    this.#sliceUsedMs += nowMs - fromMs;
    const second = this.#second();
    let times = this.#seconds.get(second);
    if (times === undefined) {
      times = new Map();
      this.#seconds.set(second, times);
      for (const old of this.#seconds.keys()) if (old <= second - windowSeconds) this.#seconds.delete(old);
    }
    times.set(caller, (times.get(caller) ?? 0) + nowMs - fromMs);
  }

  #second(): number {
    return Math.floor(this.#clock.now() / 1000);
  }

  /** Oldest first. */
  #usedBySecond(caller?: string): number[] {
    const last = this.#second();
    return Array.from({ length: windowSeconds }, (_, index) => {
      const times = this.#seconds.get(last - windowSeconds + 1 + index);
      return caller === undefined ? sum(times?.values() ?? []) : (times?.get(caller) ?? 0);
    });
  }

  #tooMuch(what: string, used: number[], share: number): StatusFault {
    this.#refused++;
    // The oldest seconds leave the window first.
    let waits = 1;
    while (waits < windowSeconds && sum(used.slice(waits)) > share * windowSeconds * 1000) waits++;
    const message = `${what} of the last ${windowSeconds} seconds of this server; send fewer or smaller requests, and try again in ${waits} seconds`;
    return new StatusFault(tooManyRequests(message, waits));
  }
}

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const one of numbers) total += one;
  return total;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
