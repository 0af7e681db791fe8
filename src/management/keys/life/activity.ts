// Knows the last use of each key. The newest value is in memory; the store gets it from time to time, outside the versioned
// object, so that a use never changes a resourceVersion. The first use of a key is stored before the request is answered.
import type { Clock, Timer } from '../../../clock.ts';
import { UidTimes } from '../../../store/packed/uid-times.ts';

export interface ActivityStore {
  /** Milliseconds since the epoch by uid of the key. Rejects when the values are not kept. */
  write(uses: ReadonlyMap<string, number>): Promise<void>;
}

/** Uses reach the store after this long at the latest, or after a tenth of the ttl. Another replica shows them when it has read them: within a minute. */
const longestFlushMs = 40_000;
const shortestFlushMs = 1_000;

/** `ttl` in seconds, 0 = no end. */
export function flushWindowMs(ttl: number): number {
  if (ttl === 0) return longestFlushMs;
  return Math.min(longestFlushMs, Math.max(shortestFlushMs, (ttl * 1000) / 10));
}

/** A use that the store does not have yet. */
interface Waiting {
  windowMs: number;
  /** When the value is to reach the store. */
  dueMs: number;
}

export class Activity {
  readonly #clock: Clock;
  readonly #store: ActivityStore;
  readonly #onFailure: (error: unknown) => void;
  /** A million keys have as many last uses. */
  readonly #uses = new UidTimes();
  /** Last uses read after a crash: the newest of them may not have been stored, so they may be one window too old. */
  readonly #uncertain = new UidTimes();
  readonly #waiting = new Map<string, Waiting>();
  #timer: Timer | undefined;

  constructor(clock: Clock, store: ActivityStore, onFailure: (error: unknown) => void) {
    this.#clock = clock;
    this.#store = store;
    this.#onFailure = onFailure;
  }

  /** The values of the store at start. After a crash they may be one flush window old. */
  load(uid: string, storedMs: number, afterCrash: boolean): void {
    this.#uses.set(uid, storedMs);
    if (afterCrash) this.#uncertain.set(uid, storedMs);
  }

  /** Another replica has seen a use, and has stored it. */
  heard(uid: string, lastMs: number): void {
    this.#uses.set(uid, Math.max(this.#uses.get(uid) ?? lastMs, lastMs));
  }

  /** Whether there was something to forget. */
  forget(uid: string): boolean {
    const wasUsed = this.#uses.get(uid) !== undefined;
    this.#uses.delete(uid);
    this.#uncertain.delete(uid);
    this.#waiting.delete(uid);
    return wasUsed;
  }

  /** Notes a request with a good key, even one that is refused later. Resolves when it may be answered. `nowMs`: the time of a use
   * that another machine saw. */
  async used(uid: string, ttl: number, nowMs: number = this.#clock.wallTime().getTime()): Promise<void> {
    const lastMs = this.#uses.get(uid);
    this.#uncertain.delete(uid);
    const windowMs = flushWindowMs(ttl);
    if (lastMs === undefined) {
      this.#uses.set(uid, nowMs);
      this.#waiting.set(uid, { windowMs, dueMs: this.#clock.now() });
      await this.#flush([uid]);
      return;
    }
    // A clock that was set back must not bring an expiry nearer.
    if (nowMs <= lastMs) return;
    this.#uses.set(uid, nowMs);
    const dueMs = this.#waiting.get(uid)?.dueMs ?? this.#clock.now() + windowMs;
    this.#waiting.set(uid, { windowMs, dueMs });
    this.#schedule();
  }

  /** The last use for status; a read right after a use shows it. */
  lastMs(uid: string): number | undefined {
    return this.#uses.get(uid);
  }

  /** The last use for expiry. After a crash one flush window is added, because the last use may have been lost. */
  forExpiryMs(uid: string, ttl: number): number | undefined {
    const lastMs = this.lastMs(uid);
    return lastMs === undefined || this.#uncertain.get(uid) === undefined ? lastMs : lastMs + flushWindowMs(ttl);
  }

  /** At a stop: everything that is not stored yet. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#flush([...this.#waiting.keys()]);
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#waiting.size === 0) return;
    this.#timer = this.#clock.after(shortestFlushMs, () => {
      this.#timer = undefined;
      void this.#flush(this.#due())
        .catch(this.#onFailure)
        .then(() => this.#schedule());
    });
  }

  /**
   * A store in a cluster keeps the uses of many keys in one object. So when an ordinary key is due, all that wait go with it: keys that were
   * first used at different times would each need a write of their own in every minute.
   */
  #due(): string[] {
    const nowMs = this.#clock.now();
    const due = [...this.#waiting].filter(([, { dueMs }]) => dueMs <= nowMs);
    const isOrdinary = due.some(([, { windowMs }]) => windowMs === longestFlushMs);
    return (isOrdinary ? [...this.#waiting] : due).map(([uid]) => uid);
  }

  async #flush(uids: readonly string[]): Promise<void> {
    const values = new Map<string, number>();
    for (const uid of uids) {
      const lastMs = this.#uses.get(uid);
      if (lastMs !== undefined) values.set(uid, lastMs);
    }
    if (values.size === 0) return;
    try {
      await this.#store.write(values);
    } catch (error) {
      // Still waiting, so that the next round tries again.
      this.#schedule();
      throw error;
    }
    for (const [uid, lastMs] of values) this.#stored(uid, lastMs);
  }

  #stored(uid: string, lastMs: number): void {
    const waiting = this.#waiting.get(uid);
    if (waiting === undefined) return;
    if (this.#uses.get(uid) === lastMs) {
      this.#waiting.delete(uid);
      return;
    }
    // Used again while the value was being written: the next one has its own window.
    waiting.dueMs = this.#clock.now() + waiting.windowMs;
    this.#schedule();
  }
}
