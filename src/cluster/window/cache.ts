// The contents of a window: one packed item per key. An older version never replaces a newer one, so the result of an own
// write stays until the watch has caught up.
import { type Key, type KubeObject, keyOf } from '../../object/meta/object.ts';
import { hasHead, isSameContent, markOf, type PackedItem, packItem, unpackItem, versionOf } from './packed-item.ts';
import { Outlines } from './text/outline.ts';
import { compareVersions } from './text/resource-version.ts';
import type { Item } from './window.ts';

/** Limit for own deletes that the watch has not confirmed. A forgotten one can make its key reappear for a moment. */
const tombstoneLimit = 10_000;

/**
 * Unpacked items kept in addition to their texts, in two generations: enough for the objects that running passes use. More cost more than
 * they save, because each item survives several collections: with 128, nearly half of the collector's time went to them.
 */
const freshLimit = 16;

interface UnpackedItem<T> {
  packed: PackedItem;
  item: T;
}

export type Effect = 'set' | 'removed' | 'none';

export class Cache<T extends Item> {
  #project: (object: KubeObject) => T | undefined;
  readonly #outlines = new Outlines();
  #entries = new Map<Key, PackedItem>();
  /** Key → the resource version that an own delete removed. */
  #tombstones = new Map<Key, string>();
  /** Recently packed or unpacked items: a pass reads the same few objects several times. */
  #fresh = new Map<Key, UnpackedItem<T>>();
  /** The generation before `#fresh`. Without it, a full generation would drop items that a running pass needs next. */
  #lessFresh = new Map<Key, UnpackedItem<T>>();
  /** Keys of own writes since the running list began. */
  #touched: Set<Key> | undefined;
  /** Hears every removal, because a list that began earlier still has the object. */
  removed: (key: Key) => void = () => {};

  constructor(project: (object: KubeObject) => T | undefined) {
    this.#project = project;
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

  /** Callers share the item, so it is frozen. A deep freeze would cost as much as the parsing. */
  #keepFresh(key: Key, packed: PackedItem, item: T): T {
    Object.freeze(item);
    if (this.#fresh.size >= freshLimit) {
      this.#lessFresh = this.#fresh;
      this.#fresh = new Map();
    }
    this.#fresh.set(key, { packed, item });
    return item;
  }

  /** Stores an object from the watch or from an own write. */
  set(object: KubeObject): Effect {
    const key = keyOfObject(object);
    const rv = object.metadata.resourceVersion ?? '';
    const known = this.#entries.get(key);
    // This test comes first, because half of all events repeat own writes.
    if (known !== undefined && compareVersions(rv, versionOf(known)) <= 0) return 'none';
    const gone = this.#tombstones.get(key);
    if (gone !== undefined) {
      if (compareVersions(rv, gone) <= 0) return 'none';
      this.#tombstones.delete(key);
    }
    const item = this.#project(object);
    if (item === undefined) return this.#entries.delete(key) ? 'removed' : 'none';
    const packed = packItem(item, this.#outlines, known);
    this.#entries.set(key, packed);
    this.#keepFresh(key, packed, item);
    return known !== undefined && isSameContent(known, packed) ? 'none' : 'set';
  }

  /** Handles a DELETED event. The event carries the version of the deletion. */
  remove(object: KubeObject): Effect {
    const key = keyOfObject(object);
    this.removed(key);
    const rv = object.metadata.resourceVersion ?? '';
    const gone = this.#tombstones.get(key);
    // An event older than our delete belongs to an earlier object, and the event for our delete still follows.
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
    this.removed(key);
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

  /** Whether an own removal is remembered that no such version outlives. */
  hasForgotten(key: Key, resourceVersion: string): boolean {
    const gone = this.#tombstones.get(key);
    return gone !== undefined && compareVersions(resourceVersion, gone) <= 0;
  }

  /** Begins to collect a complete list while the current contents stay visible. */
  gather(): Gathering<T> {
    this.#touched = new Set();
    return new Gathering(this.#project, this.#outlines, this.#entries);
  }

  giveUpGathering(): void {
    this.#touched = undefined;
  }

  /**
   * Replaces the contents with the list and returns the old contents. Own writes that finished during the list may be newer
   * than the list, and stay. With `isAuthoritative` (the server has gone back in time) the list wins over them too.
   */
  swap(gathered: Gathering<T>, options: { isAuthoritative: boolean }): ReadonlyMap<Key, PackedItem> {
    const before = this.#entries;
    const after = gathered.entries;
    for (const key of options.isAuthoritative ? [] : (this.#touched ?? []))
      this.#keepNewer(key, before, after, gathered.rv);
    // A list that began after an own delete already reflects it; later deletes are in #touched and were kept above.
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

  /** Whether the remembered object is the one that the head names. */
  isRemembered(key: Key, head: { uid: string; resourceVersion: string }): boolean {
    const packed = this.#entries.get(key);
    return packed !== undefined && hasHead(packed, head);
  }

  /** Notes the time on the item if a list has shown that it is what the server has. */
  prove(key: Key, head: { uid: string; resourceVersion: string }, atMs: number): boolean {
    const packed = this.#entries.get(key);
    if (packed === undefined || !hasHead(packed, head)) return false;
    packed.provenMs = atMs;
    return true;
  }

  provenMs(key: Key): number | undefined {
    return this.#entries.get(key)?.provenMs;
  }

  versionOf(key: Key): string | undefined {
    const packed = this.#entries.get(key);
    return packed && versionOf(packed);
  }

  packed(key: Key): PackedItem | undefined {
    return this.#entries.get(key);
  }
}

/** The buffer of a running list: no reader sees an incomplete list. */
export class Gathering<T extends Item> {
  readonly entries = new Map<Key, PackedItem>();
  rv = '';
  readonly #project: (object: KubeObject) => T | undefined;
  readonly #outlines: Outlines;
  readonly #known: ReadonlyMap<Key, PackedItem>;

  constructor(project: (object: KubeObject) => T | undefined, outlines: Outlines, known: ReadonlyMap<Key, PackedItem>) {
    this.#project = project;
    this.#outlines = outlines;
    this.#known = known;
  }

  add(object: KubeObject): void {
    const item = this.#project(object);
    if (item === undefined) return;
    const key = keyOf(item.namespace, item.name);
    this.entries.set(key, packItem(item, this.#outlines, this.#known.get(key)));
  }
}

export function keyOfObject(object: KubeObject): Key {
  return keyOf(object.metadata.namespace ?? '', object.metadata.name ?? '');
}
