// Counts how long each access key, and each owner with all keys, has used the event loop lately. The loop is one for all, so who uses
// more of it than its share is refused before the others wait. What many requests want at once is done one after the other, the owners
// in turn and their keys in turn, and a slice at a time, so that new requests are heard between two slices. Of one key's requests the
// oldest few go on together: hundreds of half-read lists would fill the memory. In: the beginning of each piece of work for a caller.
// Out: a promise for its turn, and 429 with Retry-After.
import { nextTick, threadCpuUsage } from 'node:process';
import type { Clock } from '../../clock.ts';
import { type Metrics, readSeries } from '../../metrics.ts';
import { tooManyRequests } from '../../object/meta/status.ts';
import { StatusFault } from '../request/status-fault.ts';
import type { Holder } from './caller-limits.ts';

export interface LoopShares {
  /** Of the window, for one key. */
  ofOne: number;
  /** For all keys of an owner. */
  ofOwner: number;
  /** For all; beyond it only owners with less than `small` go on. */
  altogether: number;
  small: number;
}

/** Turns alone: nobody is refused. */
export const wholeLoop: LoopShares = { ofOne: 1, ofOwner: 1, altogether: 1, small: 1 };

/** A quarter of a core serves hundreds of requests a second, and leaves three callers more than their share. An owner has many keys. */
export const loopShares: LoopShares = { ofOne: 0.25, ofOwner: 0.5, altogether: 0.75, small: 0.02 };

const windowSeconds = 10;

/** So long the loop works for callers before it looks at what has come in. A probe waits for two or three slices. */
const sliceMs = 20;

/** Requests of one key that have begun and share its turns; a short request need not wait for one long list. */
const mostBegun = 4;

interface Waiting {
  of: Holder;
  begun: number;
  go: () => void;
}

/** Milliseconds of one second. */
interface Used {
  keys: Map<string, number>;
  owners: Map<string, number>;
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
  /** Of the window. */
  readonly #seconds = new Map<number, Used>();
  #turn: { of: Holder; fromMs: number } | undefined;
  #endsTurn = false;
  #refused = 0;
  /** Of this slice, by all callers. */
  #sliceUsedMs = 0;
  #endsSlice = false;
  #isServing = false;
  /** By owner, and by key. The first owner is the next in turn, and the first of its keys. */
  readonly #waiting = new Map<string, Map<string, Waiting[]>>();
  #turns = 0;

  constructor(clock: Clock, shares: LoopShares = loopShares, cpuMs: () => number = cpuMsOfThread) {
    this.#clock = clock;
    this.#shares = shares;
    this.#cpuMs = cpuMs;
  }

  declareMetrics(metrics: Metrics): void {
    const help = 'Answers of 429 because a key, an owner, or all keys together used too much of the event loop';
    const name = 'hostward_management_refused_by_loop_total';
    readSeries(metrics, { name, help, labels: {}, isCounter: true, read: () => this.#refused });
  }

  /** What the loop does from here to the end of its turn, or to the next call, it does for this caller. */
  begins(of: Holder): void {
    const nowMs = this.#cpuMs();
    this.#count(nowMs);
    this.#turn = { of, fromMs: nowMs };
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
  turn(of: Holder, begun = Number.POSITIVE_INFINITY): Promise<void> {
    if (!this.#isServing) {
      this.#isServing = true;
      nextTick(() => void this.#serveWaiting());
    }
    return new Promise((resolve) => {
      const keys = this.#waiting.get(of.owner) ?? new Map<string, Waiting[]>();
      const mine = keys.get(of.key) ?? [];
      mine.splice(mine.findLastIndex((other) => other.begun <= begun) + 1, 0, { of, begun, go: resolve });
      if (mine.length === 1) keys.set(of.key, mine);
      if (keys.size === 1) this.#waiting.set(of.owner, keys);
    });
  }

  async #serveWaiting(): Promise<void> {
    // begins() counts a whole turn only when it is called inside a promise.
    await undefined;
    for (const [owner, keys] of this.#waiting) {
      const [key, requests] = [...keys][0] as [string, Waiting[]];
      if (this.#sliceUsedMs >= sliceMs) await new Promise((resolve) => setImmediate(resolve));
      const next = this.#turns++ % Math.min(mostBegun, requests.length);
      for (const { of, go } of requests.splice(next, 1)) {
        this.begins(of);
        go();
      }
      // By then no promise of this request has anything left to do, and its turn is counted.
      await new Promise<void>((resolve) => nextTick(resolve));
      keys.delete(key);
      if (requests.length > 0) keys.set(key, requests);
      this.#waiting.delete(owner);
      if (keys.size > 0) this.#waiting.set(owner, keys);
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

  usedMs(of: Holder): number {
    return sum(this.#usedBySecond(({ keys }) => keys.get(of.key) ?? 0));
  }

  admit(of: Holder): void {
    const { ofOne, ofOwner, altogether, small } = this.#shares;
    const ofKey = this.#usedBySecond(({ keys }) => keys.get(of.key) ?? 0);
    if (shareOf(ofKey) > ofOne)
      throw this.#tooMuch(`your access key has used more than ${percent(ofOne)}`, ofKey, ofOne);
    const ofAll = this.#usedBySecond(({ owners }) => owners.get(of.owner) ?? 0);
    if (shareOf(ofAll) > ofOwner)
      throw this.#tooMuch(`the access keys of your owner have used more than ${percent(ofOwner)}`, ofAll, ofOwner);
    if (shareOf(ofAll) <= small || shareOf(this.#usedBySecond(({ owners }) => sum(owners.values()))) <= altogether)
      return;
    const what = `all access keys together have used more than ${percent(altogether)}, and those of your owner more than ${percent(small)}`;
    throw this.#tooMuch(what, ofAll, small);
  }

  #count(nowMs: number): void {
    if (this.#turn === undefined) return;
    const { of, fromMs } = this.#turn;
    this.#sliceUsedMs += nowMs - fromMs;
    const second = this.#second();
    let used = this.#seconds.get(second);
    if (used === undefined) {
      used = { keys: new Map(), owners: new Map() };
      this.#seconds.set(second, used);
      for (const old of this.#seconds.keys()) if (old <= second - windowSeconds) this.#seconds.delete(old);
    }
    used.keys.set(of.key, (used.keys.get(of.key) ?? 0) + nowMs - fromMs);
    used.owners.set(of.owner, (used.owners.get(of.owner) ?? 0) + nowMs - fromMs);
  }

  #second(): number {
    return Math.floor(this.#clock.now() / 1000);
  }

  /** Oldest first. */
  #usedBySecond(ms: (used: Used) => number): number[] {
    const last = this.#second();
    return Array.from({ length: windowSeconds }, (_, index) => {
      const used = this.#seconds.get(last - windowSeconds + 1 + index);
      return used === undefined ? 0 : ms(used);
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

function shareOf(used: readonly number[]): number {
  return sum(used) / (windowSeconds * 1000);
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
