// Knows the last use of each key. The newest value is in memory; the store gets it from time to time, outside the versioned
// object, so that a use never changes a resourceVersion. The first use of a key is stored before the request is answered.
import type { Clock, Timer } from '../../../clock.ts';

export interface ActivityStore {
  /** Milliseconds since the epoch by uid of the key. Rejects when the values are not kept. */
  write(uses: ReadonlyMap<string, number>): Promise<void>;
}

/** Uses reach the store after this long at the latest, or after a tenth of the ttl. */
const longestFlushMs = 60_000;
const shortestFlushMs = 1_000;

/** `ttl` in seconds, 0 = no end. */
export function flushWindowMs(ttl: number): number {
  if (ttl === 0) return longestFlushMs;
  return Math.min(longestFlushMs, Math.max(shortestFlushMs, (ttl * 1000) / 10));
}

interface Use {
  lastMs: number;
  windowMs: number;
  /** When the value is to reach the store; undefined while the store has it. */
  dueMs: number | undefined;
}

export class Activity {
  readonly #clock: Clock;
  readonly #store: ActivityStore;
  readonly #onFailure: (error: unknown) => void;
  readonly #uses = new Map<string, Use>();
  /** Values from before a crash, which may be one window old. */
  readonly #uncertain = new Set<string>();
  readonly #waiting = new Set<string>();
  #timer: Timer | undefined;

  constructor(clock: Clock, store: ActivityStore, onFailure: (error: unknown) => void) {
    this.#clock = clock;
    this.#store = store;
    this.#onFailure = onFailure;
  }

  /** The values of the store at start. After a crash they may be one flush window old. */
  load(uid: string, storedMs: number, afterCrash: boolean): void {
    this.#uses.set(uid, { lastMs: storedMs, windowMs: longestFlushMs, dueMs: undefined });
    if (afterCrash) this.#uncertain.add(uid);
  }

  forget(uid: string): void {
    this.#uses.delete(uid);
    this.#uncertain.delete(uid);
    this.#waiting.delete(uid);
  }

  /** Notes a request with a good key, even one that is refused later. Resolves when it may be answered. `nowMs`: the time of a use
   * that another machine saw. */
  async used(uid: string, ttl: number, nowMs: number = this.#clock.wallTime().getTime()): Promise<void> {
    const use = this.#uses.get(uid);
    this.#uncertain.delete(uid);
    if (use === undefined) {
      this.#uses.set(uid, { lastMs: nowMs, windowMs: flushWindowMs(ttl), dueMs: this.#clock.now() });
      this.#waiting.add(uid);
      await this.#flush([uid]);
      return;
    }
    // A clock that was set back must not bring an expiry nearer.
    if (nowMs <= use.lastMs) return;
    use.lastMs = nowMs;
    use.windowMs = flushWindowMs(ttl);
    if (use.dueMs !== undefined) return;
    use.dueMs = this.#clock.now() + use.windowMs;
    this.#waiting.add(uid);
    this.#schedule();
  }

  /** The last use for status; a read right after a use shows it. */
  lastMs(uid: string): number | undefined {
    return this.#uses.get(uid)?.lastMs;
  }

  /** The last use for expiry. After a crash one flush window is added, because the last use may have been lost. */
  forExpiryMs(uid: string, ttl: number): number | undefined {
    const lastMs = this.lastMs(uid);
    return lastMs === undefined || !this.#uncertain.has(uid) ? lastMs : lastMs + flushWindowMs(ttl);
  }

  /** At a stop: everything that is not stored yet. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#flush([...this.#waiting]);
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#waiting.size === 0) return;
    this.#timer = this.#clock.after(shortestFlushMs, () => {
      this.#timer = undefined;
      const nowMs = this.#clock.now();
      const due = [...this.#waiting].filter((uid) => (this.#uses.get(uid)?.dueMs ?? 0) <= nowMs);
      void this.#flush(due)
        .catch(this.#onFailure)
        .then(() => this.#schedule());
    });
  }

  async #flush(uids: readonly string[]): Promise<void> {
    const values = new Map<string, number>();
    for (const uid of uids) {
      const use = this.#uses.get(uid);
      if (use !== undefined) values.set(uid, use.lastMs);
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
    const use = this.#uses.get(uid);
    if (use === undefined) return;
    // Used again while the value was being written: the next one has its own window.
    if (use.lastMs > lastMs) {
      use.dueMs = this.#clock.now() + use.windowMs;
      this.#schedule();
      return;
    }
    use.dueMs = undefined;
    this.#waiting.delete(uid);
  }
}
