// Indexes a kind by field values, so that a list of one owner's objects reads only those objects. In: a store and the kind's
// index functions. Out: keys that may match at a revision; the caller must still check each object. The first use builds the
// index, and a store watch keeps it current.
import type { KubeObject } from '../../object/meta/object.ts';
import { pagesOf } from '../../store/follow/pages.ts';
import { compareKeys } from '../../store/key-order.ts';
import type { Store, StoreEvent, StoreWatch } from '../../store/store.ts';
import type { Kind } from '../kinds/kind.ts';
import { shownFromText, storagePrefix } from '../wire/stored-text.ts';
import { KeyBuckets } from './key-buckets.ts';

/** Records read before other requests get a turn. */
const pageRecords = 500;
/** Lists at older revisions need the keys that lost a value since; beyond this number old lists read every object. */
const maxDeparted = 10_000;

interface Departed {
  bucket: string;
  key: string;
  revision: number;
}

export class KindIndexes {
  #store: Store;
  #byKind = new Map<Kind, KindIndex>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Undefined = the index has no answer, and the caller must read every object. */
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
  /** See bucketOf(). */
  #buckets: KeyBuckets;
  #departed: Departed[] = [];
  /** Keys that changed while the index was being built: what a page says of them is old. */
  #changed: Set<string> | undefined = new Set();
  /** The index has no answer for older revisions. */
  #knownSince = 0;
  #isClosed = false;

  constructor(store: Store, kind: Kind) {
    this.#store = store;
    this.#kind = kind;
    this.#buckets = new KeyBuckets(storagePrefix(kind, ''));
    this.#ready = this.#build();
    // keys() reports the failure; an unhandled rejection would end the process.
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
    // What the watch has handed out in this turn is applied in the next one.
    await new Promise((resolve) => setImmediate(resolve));
    const isBehind = (this.#watch?.upTo ?? 0) < revision;
    if (this.isOver || isBehind || revision < this.#knownSince) return undefined;
    const buckets = new Set(values.map((value) => bucketOf(field, value)));
    const found = new Set<string>();
    for (const bucket of buckets) for (const key of this.#buckets.keysIn(bucket)) found.add(key);
    for (const departed of this.#departed)
      if (departed.revision > revision && buckets.has(departed.bucket)) found.add(departed.key);
    return [...found].sort(compareKeys);
  }

  async #build(): Promise<void> {
    const prefix = storagePrefix(this.#kind, '');
    const revision = await this.#store.currentRevision();
    const watch = await this.#store.watch(prefix, revision);
    if (!('events' in watch))
      throw new Error(`build an index: the store compacted revision ${revision} before the watch began`);
    this.#watch = watch;
    this.#knownSince = revision;
    // From the beginning: a reader who falls behind reads the history from the disk, and would not be up to date one turn later.
    void this.#follow(watch);
    for await (const records of pagesOf(this.#store, prefix, { revision, limit: pageRecords })) {
      for (const { key, value } of records)
        if (!this.#changed?.has(key)) this.#put(key, this.#bucketsOf(value), revision);
      await new Promise((resolve) => setImmediate(resolve));
    }
    // What these keys were found by before they changed is not known.
    if ((this.#changed?.size ?? 0) > 0) this.#knownSince = await this.#store.currentRevision();
    this.#changed = undefined;
  }

  /** An index that has lost its watch is over, and the next use builds another. */
  async #follow(watch: StoreWatch): Promise<void> {
    try {
      for await (const batch of watch.events()) for (const event of batch) this.#apply(event);
    } catch {
      // Until then every object is read, which says what is wrong with the store.
      this.close();
    }
  }

  #apply({ type, key, value, revision }: StoreEvent): void {
    this.#changed?.add(key);
    this.#put(key, type === 'put' ? this.#bucketsOf(value) : [], revision);
  }

  #put(key: string, buckets: readonly string[], revision: number): void {
    for (const bucket of this.#buckets.bucketsOf(key))
      if (!buckets.includes(bucket)) this.#depart({ bucket, key, revision });
    this.#buckets.put(key, buckets);
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
