// What a window knows: per key one packed item. Older news of a key never replace newer ones, which is also how the results of
// own writes stand until the watch has caught up.
import { type Key, type KubeObject, keyOf } from '../../object/meta/object.ts';
import {
  isSameContent,
  markOf,
  type PackedItem,
  type PayloadFields,
  packItem,
  unpackItem,
  versionOf,
} from './packed-item.ts';
import { compareVersions } from './resource-version.ts';
import type { Item } from './window.ts';

/** Own deletes that the watch has not confirmed; beyond this the oldest are forgotten, at worst a key flickers. */
const tombstoneLimit = 10_000;

/**
 * Items kept beside their texts, up to twice as many: enough for what is between a look and its answer. More of them cost more than
 * they save, as every one survives several collections of the young generation: with 128 nearly half of the collector's time.
 */
const freshLimit = 16;

interface Fresh<T> {
  packed: PackedItem;
  item: T;
}

export type Effect = 'set' | 'removed' | 'none';

export class Cache<T extends Item> {
  #project: (object: KubeObject) => T | undefined;
  readonly #payloadFields: PayloadFields;
  #entries = new Map<Key, PackedItem>();
  /** Key → resource version that an own delete has done away with. */
  #tombstones = new Map<Key, string>();
  /** Items as they were lately packed or unpacked: a pass looks at the same few several times, and its own writes again. */
  #fresh = new Map<Key, Fresh<T>>();
  /** Those before them. Dropping all at once would take from each running pass what it is about to ask for again. */
  #lessFresh = new Map<Key, Fresh<T>>();
  /** Keys that own writes have touched since the running list began. */
  #touched: Set<Key> | undefined;

  constructor(project: (object: KubeObject) => T | undefined, payloadFields: PayloadFields = []) {
    this.#project = project;
    this.#payloadFields = payloadFields;
  }

  get size(): number {
    return this.#entries.size;
  }

  keys(): IterableIterator<Key> {
    return this.#entries.keys();
  }

  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  get(key: Key): T | undefined {
    const packed = this.#entries.get(key);
    if (packed === undefined) return undefined;
    const fresh = this.#fresh.get(key) ?? this.#lessFresh.get(key);
    if (fresh !== undefined && fresh.packed === packed) return fresh.item;
    return this.#keepFresh(key, packed, unpackItem<T>(key, packed));
  }

  markOf(key: Key): string | undefined {
    const packed = this.#entries.get(key);
    return packed && markOf(packed);
  }

  /** Shared by all who ask for it, so nobody may change it. To freeze what is in it as well costs as much as the parsing. */
  #keepFresh(key: Key, packed: PackedItem, item: T): T {
    Object.freeze(item);
    if (this.#fresh.size >= freshLimit) {
      this.#lessFresh = this.#fresh;
      this.#fresh = new Map();
    }
    this.#fresh.set(key, { packed, item });
    return item;
  }

  /** News of the watch, or the result of an own write. */
  set(object: KubeObject): Effect {
    const key = keyOfObject(object);
    const rv = object.metadata.resourceVersion ?? '';
    const known = this.#entries.get(key);
    // Before anything else: half of all events are the echoes of own writes.
    if (known !== undefined && compareVersions(rv, versionOf(known)) <= 0) return 'none';
    const gone = this.#tombstones.get(key);
    if (gone !== undefined) {
      if (compareVersions(rv, gone) <= 0) return 'none';
      this.#tombstones.delete(key);
    }
    const item = this.#project(object);
    if (item === undefined) return this.#entries.delete(key) ? 'removed' : 'none';
    const packed = packItem(item, this.#payloadFields, known);
    this.#entries.set(key, packed);
    this.#keepFresh(key, packed, item);
    return known !== undefined && isSameContent(known, packed) ? 'none' : 'set';
  }

  /** A DELETED event; its version is that of the deletion. */
  remove(object: KubeObject): Effect {
    const key = keyOfObject(object);
    const rv = object.metadata.resourceVersion ?? '';
    const gone = this.#tombstones.get(key);
    // An older delete was of an object before; the own one is still to come.
    if (gone !== undefined && compareVersions(rv, gone) > 0) this.#tombstones.delete(key);
    const known = this.#entries.get(key);
    if (known === undefined || compareVersions(rv, versionOf(known)) < 0) return 'none';
    this.#entries.delete(key);
    return 'removed';
  }

  remember(object: KubeObject): void {
    this.set(object);
    this.#touched?.add(keyOfObject(object));
  }

  forget(key: Key, resourceVersion: string | undefined): void {
    const known = this.#entries.get(key);
    if (known !== undefined && resourceVersion !== undefined && compareVersions(versionOf(known), resourceVersion) > 0)
      return;
    const gone = resourceVersion ?? (known === undefined ? undefined : versionOf(known));
    if (known !== undefined) this.#entries.delete(key);
    if (gone === undefined) return;
    this.#touched?.add(key);
    this.#tombstones.delete(key);
    this.#tombstones.set(key, gone);
    if (this.#tombstones.size > tombstoneLimit) {
      for (const oldest of this.#tombstones.keys()) {
        this.#tombstones.delete(oldest);
        break;
      }
    }
  }

  /** Begins to gather a complete list beside what is known. */
  gather(): Gathering<T> {
    this.#touched = new Set();
    return new Gathering(this.#project, this.#payloadFields, this.#entries);
  }

  giveUpGathering(): void {
    this.#touched = undefined;
  }

  /**
   * Puts the list in place of what was known and gives back what was there before. Own writes finished while it was
   * gathered may be newer than it; unless `isAuthoritative` (the server has gone back in time), they stand.
   */
  swap(gathered: Gathering<T>, options: { isAuthoritative: boolean }): ReadonlyMap<Key, PackedItem> {
    const before = this.#entries;
    const after = gathered.entries;
    for (const key of options.isAuthoritative ? [] : (this.#touched ?? []))
      this.#keepNewer(key, before, after, gathered.rv);
    // A list that began after an own delete shows it; what came in between stands in #touched and was kept above.
    for (const key of [...this.#tombstones.keys()]) {
      if (options.isAuthoritative || this.#touched?.has(key) !== true) this.#tombstones.delete(key);
    }
    this.#entries = after;
    this.#touched = undefined;
    return before;
  }

  #keepNewer(key: Key, before: Map<Key, PackedItem>, after: Map<Key, PackedItem>, listRv: string): void {
    const own = before.get(key);
    const listed = after.get(key);
    if (own !== undefined && compareVersions(versionOf(own), listed === undefined ? listRv : versionOf(listed)) > 0) {
      after.set(key, own);
    }
    const gone = this.#tombstones.get(key);
    if (
      own === undefined &&
      gone !== undefined &&
      listed !== undefined &&
      compareVersions(versionOf(listed), gone) <= 0
    ) {
      after.delete(key);
    }
  }

  versionOf(key: Key): string | undefined {
    const packed = this.#entries.get(key);
    return packed && versionOf(packed);
  }

  packed(key: Key): PackedItem | undefined {
    return this.#entries.get(key);
  }
}

/** The side buffer of a list: nobody sees it before it is complete. */
export class Gathering<T extends Item> {
  readonly entries = new Map<Key, PackedItem>();
  rv = '';
  readonly #project: (object: KubeObject) => T | undefined;
  readonly #payloadFields: PayloadFields;
  readonly #known: ReadonlyMap<Key, PackedItem>;

  constructor(
    project: (object: KubeObject) => T | undefined,
    payloadFields: PayloadFields,
    known: ReadonlyMap<Key, PackedItem>,
  ) {
    this.#project = project;
    this.#payloadFields = payloadFields;
    this.#known = known;
  }

  add(object: KubeObject): void {
    const item = this.#project(object);
    if (item === undefined) return;
    const key = keyOf(item.namespace, item.name);
    this.entries.set(key, packItem(item, this.#payloadFields, this.#known.get(key)));
  }
}

export function keyOfObject(object: KubeObject): Key {
  return keyOf(object.metadata.namespace ?? '', object.metadata.name ?? '');
}
