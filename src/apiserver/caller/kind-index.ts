// Indexes of a kind: which keys hold an object with a certain value in a certain field, so that a list of one owner reads what it
// returns and no more. In: a store and the kind's functions. Out: keys that may match at a revision; whoever reads them looks
// again. Built at the first question and kept by a watch.
import type { KubeObject } from '../../object/meta/object.ts';
import { compareKeys } from '../../store/key-order.ts';
import type { Store, StoreEvent, StoreWatch } from '../../store/store.ts';
import type { Kind } from '../kinds/kind.ts';
import { shownFromText, storagePrefix } from '../wire/stored-text.ts';

/** So many records are read between two turns of the loop. */
const pageRecords = 500;
/** Keys that lost a value are still found at older revisions; so many are remembered, and a page that is older scans. */
const maxDeparted = 10_000;

interface Departed {
  bucket: string;
  key: string;
  revision: number;
}

export class Indexes {
  #store: Store;
  #byKind = new Map<Kind, KindIndex>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Undefined = the index cannot tell: every object must be looked at. */
  async keys(kind: Kind, field: string, values: readonly string[], revision: number): Promise<string[] | undefined> {
    if (!Object.hasOwn(kind.indexes ?? {}, field)) return undefined;
    let index = this.#byKind.get(kind);
    if (index === undefined || index.isOver) {
      index = new KindIndex(this.#store, kind);
      this.#byKind.set(kind, index);
    }
    return index.keys(field, values, revision);
  }

  close(): void {
    for (const index of this.#byKind.values()) index.close();
    this.#byKind.clear();
  }
}

class KindIndex {
  #store: Store;
  #kind: Kind;
  #ready: Promise<void>;
  #watch: StoreWatch | undefined;
  /** `field value` → keys. */
  #buckets = new Map<string, Set<string>>();
  #bucketsByKey = new Map<string, readonly string[]>();
  #departed: Departed[] = [];
  /** Older revisions than this cannot be answered. */
  #knownSince = 0;
  #isClosed = false;

  constructor(store: Store, kind: Kind) {
    this.#store = store;
    this.#kind = kind;
    this.#ready = this.#build();
    // Told to those who ask; a failure must not end the process.
    this.#ready.catch(() => this.close());
  }

  get isOver(): boolean {
    return this.#isClosed || (this.#watch !== undefined && this.#watch.ended !== 'open');
  }

  close(): void {
    this.#isClosed = true;
    this.#watch?.close();
  }

  async keys(field: string, values: readonly string[], revision: number): Promise<string[] | undefined> {
    await this.#ready;
    // Everything up to `revision` lies in the watch's backlog already; a turn later it has been worked off.
    await new Promise((resolve) => setImmediate(resolve));
    if (this.isOver || revision < this.#knownSince) return undefined;
    const buckets = new Set(values.map((value) => bucketOf(field, value)));
    const found = new Set<string>();
    for (const bucket of buckets) for (const key of this.#buckets.get(bucket) ?? []) found.add(key);
    for (const left of this.#departed) if (left.revision > revision && buckets.has(left.bucket)) found.add(left.key);
    return [...found].sort(compareKeys);
  }

  async #build(): Promise<void> {
    const prefix = storagePrefix(this.#kind, '');
    const revision = await this.#store.currentRevision();
    const watch = await this.#store.watch(prefix, revision);
    if (!('events' in watch)) throw new Error('build an index: want a watch from now on, the store has forgotten now');
    this.#watch = watch;
    this.#knownSince = revision;
    let afterKey: string | undefined;
    for (;;) {
      const place = afterKey === undefined ? {} : { afterKey };
      const page = await this.#store.list(prefix, { atRevision: revision, limit: pageRecords, ...place });
      if (page.kind !== 'page')
        throw new Error(`build an index: want revision ${revision}, the store has forgotten it`);
      for (const { key, value } of page.records) this.#put(key, this.#bucketsOf(value), revision);
      afterKey = page.records.at(-1)?.key;
      if (!page.hasMore) break;
      await new Promise((resolve) => setImmediate(resolve));
    }
    void this.#follow(watch);
  }

  async #follow(watch: StoreWatch): Promise<void> {
    for await (const batch of watch.events()) for (const event of batch) this.#heard(event);
  }

  #heard({ type, key, value, revision }: StoreEvent): void {
    this.#put(key, type === 'put' ? this.#bucketsOf(value) : [], revision);
  }

  #put(key: string, buckets: readonly string[], revision: number): void {
    const before = this.#bucketsByKey.get(key) ?? [];
    for (const bucket of before) {
      if (buckets.includes(bucket)) continue;
      const keys = this.#buckets.get(bucket);
      keys?.delete(key);
      if (keys?.size === 0) this.#buckets.delete(bucket);
      this.#depart({ bucket, key, revision });
    }
    for (const bucket of buckets) {
      const keys = this.#buckets.get(bucket) ?? new Set<string>();
      this.#buckets.set(bucket, keys.add(key));
    }
    if (buckets.length === 0) this.#bucketsByKey.delete(key);
    else this.#bucketsByKey.set(key, buckets);
  }

  #depart(departed: Departed): void {
    this.#departed.push(departed);
    if (this.#departed.length <= maxDeparted) return;
    const forgotten = this.#departed.splice(0, maxDeparted / 2);
    this.#knownSince = Math.max(this.#knownSince, forgotten.at(-1)?.revision ?? 0);
  }

  #bucketsOf(text: string): string[] {
    const object: KubeObject = shownFromText(text, this.#kind, 0);
    const indexes = Object.entries(this.#kind.indexes ?? {});
    return indexes.flatMap(([field, valuesOf]) => [...valuesOf(object)].map((value) => bucketOf(field, value)));
  }
}

function bucketOf(field: string, value: string): string {
  return `${field} ${value}`;
}
