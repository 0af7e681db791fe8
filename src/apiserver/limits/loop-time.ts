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
import { RecentSums } from './recent-sums.ts';

export interface LoopShares {
  /** Of the window, for one key. */
  ofOne: number;
  /** For all keys of an owner. */
  ofOwner: number;
  /** For all; beyond it only owners with less than `small` go on. */
  altogether: number;
  small: number;
}

/** A quarter of a core serves hundreds of requests a second, and leaves three callers more than their share. An owner has many keys. */
export const loopShares: LoopShares = { ofOne: 0.25, ofOwner: 0.5, altogether: 0.75, small: 0.02 };

const windowSeconds = 10;

/** So long the loop works for callers before it looks at what has come in. */
const sliceMs = 20;
/**
 * The same while somebody is new. Node accepts one connection each time that it looks, so a new client waits for as many slices as there are
 * clients before it: 90 that came at once made it wait for half a second. Short slices all the time would cost callers a twentieth.
 */
const sliceForNewMs = 5;

/** Requests of one key that have begun and share its turns; a short request need not wait for one long list. */
const mostBegun = 4;

const notBegun = Number.POSITIVE_INFINITY;

interface Waiting {
  of: Holder;
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
  readonly #newcomers: () => number;
  /** Microseconds. */
  readonly #ofKeys = new RecentSums(windowSeconds);
  readonly #ofOwners = new RecentSums(windowSeconds);
  #turn: { of: Holder; begun: number; fromMs: number } | undefined;
  #servedLast: Holder | undefined;
  #endsTurn = false;
  #refused = 0;
  /** Of this slice, by all callers. */
  #sliceUsedMs = 0;
  #endsSlice = false;
  #isServing = false;
  /** By owner, and by key. The first owner is the next in turn, and the first of its keys. */
  readonly #waiting = new Map<string, Map<string, Waiting[]>>();
  #turns = 0;

  /** newcomers: how many clients have connected and not shown yet who they are. */
  constructor(
    clock: Clock,
    shares: LoopShares = loopShares,
    { cpuMs = cpuMsOfThread, newcomers = () => 0 }: { cpuMs?: () => number; newcomers?: () => number } = {},
  ) {
    this.#clock = clock;
    this.#shares = shares;
    this.#cpuMs = cpuMs;
    this.#newcomers = newcomers;
  }

  #isSliceOver(): boolean {
    return this.#sliceUsedMs >= (this.#newcomers() > 0 ? sliceForNewMs : sliceMs);
  }

  declareMetrics(metrics: Metrics): void {
    const help = 'Answers of 429 because a key, an owner, or all keys together used too much of the event loop';
    const name = 'hostward_management_refused_by_loop_total';
    readSeries(metrics, { name, help, labels: {}, isCounter: true, read: () => this.#refused });
  }

  /** What the loop does from here to the end of its turn, or to the next call, it does for this caller. */
  begins(of: Holder, begun = notBegun): void {
    const nowMs = this.#cpuMs();
    this.#count(nowMs);
    this.#turn = { of, begun, fromMs: nowMs };
    this.#servedLast = of;
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
   * Resolves when it is this caller's turn, which then has begun: in this turn of the loop while the slice lasts. Undefined: it has begun
   * already, because nobody else is here. begun: a number that grows with each request; without it the request has not begun.
   */
  turn(of: Holder, begun = notBegun): Promise<void> | undefined {
    if (this.#isFree(of, begun)) {
      this.begins(of, begun);
      return undefined;
    }
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
    if (this.#servedLast !== undefined) this.#letOthersPass(this.#servedLast);
    for (const [owner, keys] of this.#waiting) {
      const [key, requests] = [...keys][0] as [string, Waiting[]];
      if (this.#isSliceOver()) await new Promise((resolve) => setImmediate(resolve));
      const next = this.#turns++ % Math.min(mostBegun, requests.length);
      for (const { of, begun, go } of requests.splice(next, 1)) {
        this.begins(of, begun);
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

  /** Only one request may go on in a turn of the loop, or the work of two would count for one of them. */
  #isFree(of: Holder, begun: number): boolean {
    if (this.#isServing || this.#isSliceOver()) return false;
    const turn = this.#turn;
    if (turn === undefined) return true;
    // What has just come in goes on in the turn in which it came.
    return begun !== notBegun && turn.of.key === of.key && (turn.begun === begun || turn.begun === notBegun);
  }

  #letOthersPass({ owner, key }: Holder): void {
    const keys = this.#waiting.get(owner);
    if (keys === undefined) return;
    const requests = keys.get(key);
    if (requests !== undefined) {
      keys.delete(key);
      keys.set(key, requests);
    }
    this.#waiting.delete(owner);
    this.#waiting.set(owner, keys);
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
    return this.#ofKeys.of(this.#second(), of.key) / 1000;
  }

  admit({ key, owner }: Holder): void {
    const { ofOne, ofOwner, altogether, small } = this.#shares;
    const now = this.#second();
    if (shareOf(this.#ofKeys.of(now, key)) > ofOne)
      throw this.#tooMuch(
        `your access key has used more than ${percent(ofOne)}`,
        this.#ofKeys.bySecond(now, key),
        ofOne,
      );
    const share = shareOf(this.#ofOwners.of(now, owner));
    const bySecond = () => this.#ofOwners.bySecond(now, owner);
    if (share > ofOwner)
      throw this.#tooMuch(`the access keys of your owner have used more than ${percent(ofOwner)}`, bySecond(), ofOwner);
    if (share <= small || shareOf(this.#ofOwners.altogether(now)) <= altogether) return;
    const what = `all access keys together have used more than ${percent(altogether)}, and those of your owner more than ${percent(small)}`;
    throw this.#tooMuch(what, bySecond(), small);
  }

  /** The way in for a request: `admission` may refuse it too. A refusal waits for its turn, since one packet can earn thousands of them. */
  async enters(of: Holder, admission: () => void): Promise<void> {
    const isFree = this.#isFree(of, notBegun);
    this.begins(of);
    try {
      this.admit(of);
      admission();
    } finally {
      if (!isFree) await this.turn(of);
    }
    if (isFree) return;
    // While this request waited, others of its owner may have used the share.
    this.admit(of);
  }

  #count(nowMs: number): void {
    if (this.#turn === undefined) return;
    const { of, fromMs } = this.#turn;
    const usedMs = nowMs - fromMs;
    this.#sliceUsedMs += usedMs;
    const [second, micros] = [this.#second(), Math.round(usedMs * 1000)];
    this.#ofKeys.add(second, of.key, micros);
    this.#ofOwners.add(second, of.owner, micros);
  }

  #second(): number {
    return Math.floor(this.#clock.now() / 1000);
  }

  #tooMuch(what: string, used: number[], share: number): StatusFault {
    this.#refused++;
    // The oldest seconds leave the window first.
    let waits = 1;
    while (waits < windowSeconds && shareOf(sum(used.slice(waits))) > share) waits++;
    const message = `${what} of the last ${windowSeconds} seconds of this server; send fewer or smaller requests, and try again in ${waits} seconds`;
    return new StatusFault(tooManyRequests(message, waits));
  }
}

function sum(numbers: readonly number[]): number {
  let total = 0;
  for (const one of numbers) total += one;
  return total;
}

/** Of microseconds in the window. */
function shareOf(used: number): number {
  return used / (windowSeconds * 1e6);
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
