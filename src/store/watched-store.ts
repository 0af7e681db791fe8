// The common part of all stores: their states, their watches, and the limit of age.
import type { Clock, Timer } from '../clock.ts';
import { StoreFault } from './errors.ts';
import { ageCheckIntervalMs, defaultHistoryLimits, type HistoryLimits } from './history-limits.ts';
import type { Store, StoreWatch } from './store.ts';
import { type WatchedHistory, WatchHub } from './watch-hub.ts';

export interface StoreOptions {
  clock: Clock;
  history?: Partial<HistoryLimits>;
}

export abstract class WatchedStore {
  protected readonly clock: Clock;
  protected readonly limits: HistoryLimits;
  protected readonly hub: WatchHub;
  protected state: 'new' | 'opening' | 'open' | 'stopping' | 'stopped' = 'new';
  #ageTimer: Timer | undefined;

  constructor(options: StoreOptions) {
    this.clock = options.clock;
    this.limits = { ...defaultHistoryLimits, ...options.history };
    this.hub = new WatchHub(() => this.history);
  }

  protected abstract get history(): WatchedHistory;
  /** Compacts the history to its limits. */
  protected abstract trim(): void;

  /** For metrics and for tests that search for leaks. */
  get watchCount(): number {
    return this.hub.watchCount;
  }

  async currentRevision(_options?: { fresh?: boolean }): Promise<number> {
    return this.history.revision;
  }

  async watch(prefix: string, afterRevision: number): ReturnType<Store['watch']> {
    this.mustBeOpen('watch');
    const { compactedRevision } = this.history;
    if (afterRevision < compactedRevision) return { kind: 'compacted', compactedRevision };
    return this.hub.subscribe(prefix, afterRevision) satisfies StoreWatch;
  }

  protected open(): void {
    this.state = 'open';
    this.hub.recent.startAfter(this.history.revision);
    this.#scheduleAgeCheck();
  }

  /** Ends all watches and cancels the timer, so that no callback runs after the stop. */
  protected close(state: 'stopping' | 'stopped'): void {
    this.state = state;
    this.#ageTimer?.cancel();
    this.hub.closeAll();
  }

  protected mustBeOpen(verb: string): void {
    if (this.state !== 'open') throw new StoreFault('STORE_NOT_OPEN', `Cannot ${verb}: the store is ${this.state}`);
  }

  #scheduleAgeCheck(): void {
    this.#ageTimer = this.clock.after(ageCheckIntervalMs(this.limits), () => {
      this.trim();
      this.#scheduleAgeCheck();
    });
  }
}
