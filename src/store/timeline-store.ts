// The common part of the stores that keep all readable data in memory, on a timeline, and serve reads and watches from there. Each
// of them decides how a write becomes visible.
import { compareKeys } from './key-order.ts';
import type { ListResult, ReadResult, Store, StoredRecord, WriteResult } from './store.ts';
import { Timeline, type Version } from './timeline.ts';
import { type StoreOptions, WatchedStore } from './watched-store.ts';

export type TimelineStoreOptions = StoreOptions;

export abstract class TimelineStore extends WatchedStore implements Store {
  protected timeline = new Timeline();
  protected side = new Map<string, string>();

  abstract start(): Promise<void>;
  abstract stop(): Promise<void>;
  abstract write(key: string, change: { expect: number | undefined; value: string | undefined }): Promise<WriteResult>;
  abstract compact(upToRevision: number): Promise<void>;
  abstract writeSideValues(changes: ReadonlyMap<string, string | undefined>): Promise<void>;

  protected get history(): Timeline {
    return this.timeline;
  }

  async sideValues(
    prefix: string,
    { afterKey, limit }: { afterKey?: string; limit?: number } = {},
  ): Promise<Map<string, string>> {
    this.mustBeOpen('read');
    const found = [...this.side].filter(
      ([key]) => key.startsWith(prefix) && (afterKey === undefined || compareKeys(key, afterKey) > 0),
    );
    return new Map(found.sort(([a], [b]) => compareKeys(a, b)).slice(0, limit));
  }

  protected setSideValues(changes: Iterable<readonly [string, string | undefined]>): void {
    for (const [key, value] of changes) {
      if (value === undefined) this.side.delete(key);
      else this.side.set(key, value);
    }
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

  async read(keys: readonly string[], atRevision: number): Promise<ReadResult> {
    this.mustBeOpen('read');
    return this.timeline.read(keys, atRevision);
  }

  /** For a store over an external log that missed changes: replaces all data, ends all watches, forgets older revisions. */
  protected restart(world: { found: readonly Omit<Version, 'before' | 'atMs'>[]; revision: number }): void {
    const versions = world.found.map((one): Version => ({ ...one, before: undefined, atMs: this.clock.now() }));
    this.timeline = new Timeline();
    this.timeline.restore({ versions, compactedRevision: world.revision });
    this.hub.loseAll();
  }
}
