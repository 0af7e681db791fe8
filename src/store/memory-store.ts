// The store that forgets everything at the end: for tests, benches and the demo. Every verb is done when it returns; the
// promises are there because the interface has them.
import type { Clock, Timer } from '../clock.ts';
import { StoreFault } from './errors.ts';
import { ageCheckIntervalMs, defaultHistoryLimits, dueByAge, dueBySize, type HistoryLimits } from './history-limits.ts';
import type { ListResult, Store, StoredRecord, StoreWatch, WriteResult } from './store.ts';
import { createRevisionOf, decide, eventOf, Timeline } from './timeline.ts';
import { WatchHub } from './watch-hub.ts';

export interface MemoryStoreOptions {
  clock: Clock;
  history?: Partial<HistoryLimits>;
  /** How many changes may wait for one reader of a watch before it is cut off. */
  watchBacklog?: number;
}

export class MemoryStore implements Store {
  #clock: Clock;
  #limits: HistoryLimits;
  #timeline = new Timeline();
  #hub: WatchHub;
  #state: 'new' | 'open' | 'stopped' = 'new';
  #ageTimer: Timer | undefined;

  constructor(options: MemoryStoreOptions) {
    this.#clock = options.clock;
    this.#limits = { ...defaultHistoryLimits, ...options.history };
    this.#hub = new WatchHub(options.watchBacklog === undefined ? {} : { backlogLimit: options.watchBacklog });
  }

  async start(): Promise<void> {
    this.#state = 'open';
    this.#scheduleAgeCheck();
  }

  async stop(): Promise<void> {
    this.#state = 'stopped';
    this.#ageTimer?.cancel();
    this.#hub.closeAll();
  }

  /** For metrics and for tests that look for leaks. */
  get watchCount(): number {
    return this.#hub.watchCount;
  }

  async currentRevision(): Promise<number> {
    return this.#timeline.revision;
  }

  async get(key: string): Promise<{ record: StoredRecord | undefined; revision: number }> {
    this.#mustBeOpen('read');
    return { record: this.#timeline.newest(key)?.record, revision: this.#timeline.revision };
  }

  async list(
    prefix: string,
    options: { atRevision?: number; afterKey?: string; limit?: number } = {},
  ): Promise<ListResult> {
    this.#mustBeOpen('list');
    return this.#timeline.list(prefix, options);
  }

  async write(key: string, change: { expect: number | undefined; value: string | undefined }): Promise<WriteResult> {
    this.#mustBeOpen('write');
    const stamp = { revision: this.#timeline.revision + 1, atMs: this.#clock.now() };
    const verdict = decide(this.#timeline.newest(key), { key, ...change }, stamp);
    if (verdict.kind === 'refuse') return verdict.result;
    this.#timeline.apply(verdict.version);
    this.#hub.publish(eventOf(verdict.version));
    const due = dueBySize(this.#timeline, this.#limits);
    if (due !== undefined) this.#timeline.compact(due);
    return { ok: true, revision: stamp.revision, createRevision: createRevisionOf(verdict.version) };
  }

  async watch(
    prefix: string,
    afterRevision: number,
  ): Promise<StoreWatch | { kind: 'compacted'; compactedRevision: number }> {
    this.#mustBeOpen('watch');
    const { compactedRevision } = this.#timeline;
    if (afterRevision < compactedRevision) return { kind: 'compacted', compactedRevision };
    const watch = this.#hub.subscribe(prefix, afterRevision);
    watch.replay(this.#timeline.eventsAfter(afterRevision, prefix));
    return watch;
  }

  async compact(upToRevision: number): Promise<void> {
    this.#mustBeOpen('compact');
    this.#timeline.compact(upToRevision);
  }

  #scheduleAgeCheck(): void {
    this.#ageTimer = this.#clock.after(ageCheckIntervalMs(this.#limits), () => {
      const due = dueByAge(this.#timeline, this.#limits, this.#clock.now());
      if (due !== undefined) this.#timeline.compact(due);
      this.#scheduleAgeCheck();
    });
  }

  #mustBeOpen(verb: string): void {
    if (this.#state !== 'open') throw new StoreFault('STORE_NOT_OPEN', `Cannot ${verb}: the store is ${this.#state}`);
  }
}
