// The common part of all stores: keeps all readable data in memory on a timeline, and serves reads, watches and the age limit
// from there. Each store decides how a write becomes visible.
import type { Clock, Timer } from '../clock.ts';
import { StoreFault } from './errors.ts';
import { ageCheckIntervalMs, defaultHistoryLimits, type HistoryLimits } from './history-limits.ts';
import { compareKeys } from './key-order.ts';
import type { ListResult, Store, StoredRecord, StoreWatch, WriteResult } from './store.ts';
import { Timeline, type Version } from './timeline.ts';
import { WatchHub } from './watch-hub.ts';

export interface TimelineStoreOptions {
  clock: Clock;
  history?: Partial<HistoryLimits>;
}

export abstract class TimelineStore implements Store {
  protected readonly clock: Clock;
  protected readonly limits: HistoryLimits;
  protected readonly hub: WatchHub;
  protected timeline = new Timeline();
  protected state: 'new' | 'opening' | 'open' | 'stopping' | 'stopped' = 'new';
  #ageTimer: Timer | undefined;
  #side = new Map<string, string>();

  constructor(options: TimelineStoreOptions) {
    this.clock = options.clock;
    this.limits = { ...defaultHistoryLimits, ...options.history };
    this.hub = new WatchHub(() => this.timeline);
  }

  abstract start(): Promise<void>;
  abstract stop(): Promise<void>;
  abstract write(key: string, change: { expect: number | undefined; value: string | undefined }): Promise<WriteResult>;
  abstract compact(upToRevision: number): Promise<void>;
  abstract writeSideValues(changes: ReadonlyMap<string, string | undefined>): Promise<void>;
  /** Compacts the history to its limits. */
  protected abstract trim(): void;

  /** For metrics and for tests that search for leaks. */
  get watchCount(): number {
    return this.hub.watchCount;
  }

  async sideValues(prefix: string, options: { afterKey?: string; limit?: number } = {}): Promise<Map<string, string>> {
    this.mustBeOpen('read');
    const { afterKey, limit } = options;
    const found = [...this.#side].filter(
      ([key]) => key.startsWith(prefix) && (afterKey === undefined || compareKeys(key, afterKey) > 0),
    );
    return new Map(found.sort(([a], [b]) => compareKeys(a, b)).slice(0, limit));
  }

  protected setSideValues(changes: Iterable<readonly [string, string | undefined]>): void {
    for (const [key, value] of changes) {
      if (value === undefined) this.#side.delete(key);
      else this.#side.set(key, value);
    }
  }

  async currentRevision(_options?: { fresh?: boolean }): Promise<number> {
    return this.timeline.revision;
  }

  async get(
    key: string,
    _options?: { fresh?: boolean },
  ): Promise<{ record: StoredRecord | undefined; revision: number }> {
    this.mustBeOpen('read');
    return { record: this.timeline.newest(key)?.record, revision: this.timeline.revision };
  }

  async list(
    prefix: string,
    options: { atRevision?: number; afterKey?: string; limit?: number } = {},
  ): Promise<ListResult> {
    this.mustBeOpen('list');
    return this.timeline.list(prefix, options);
  }

  async watch(
    prefix: string,
    afterRevision: number,
  ): Promise<StoreWatch | { kind: 'compacted'; compactedRevision: number }> {
    this.mustBeOpen('watch');
    const { compactedRevision } = this.timeline;
    if (afterRevision < compactedRevision) return { kind: 'compacted', compactedRevision };
    return this.hub.subscribe(prefix, afterRevision);
  }

  /** For a store over an external log that missed changes: replaces all data, ends all watches, forgets older revisions. */
  protected restart(world: { versions: Iterable<Version>; revision: number }): void {
    this.timeline = new Timeline();
    this.timeline.restore({ versions: world.versions, compactedRevision: world.revision });
    this.hub.loseAll();
  }

  protected open(): void {
    this.state = 'open';
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
