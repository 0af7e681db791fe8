// A window is our view of one resource in one scope of one cluster: a reflector keeps it true, reads cost nothing, and
// listeners hear keys, never whole objects. This file is the seam; the reflector and the cache stand behind it.
import type { Key, KubeObject } from '../../object/meta/object.ts';

/** What a projection must keep of every object; whatever else sync needs is up to the projection. */
export interface Item {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
  /** A short word that can be read of every object at no cost; see `Window.markOf`. */
  mark?: string | undefined;
}

export type WindowState = 'idle' | 'listing' | 'watching' | 'retrying' | 'stopped';

export interface WindowChange {
  key: Key;
  /** `removed` on evidence of a watch event or of absence from a complete, consistent list. */
  kind: 'set' | 'removed';
  origin: 'list' | 'watch';
}

export interface WindowListener {
  changed?(change: WindowChange): void;
  /** A complete list has been swapped in; every `changed` of it has been delivered before. */
  listed?(list: { isFirst: boolean; count: number; removed: readonly Key[] }): void;
}

export interface Window<T extends Item> {
  start(): void;
  stop(): Promise<void>;
  readonly state: WindowState;
  /** True once the first complete, consistent list is in; never false again. */
  readonly hasSynced: boolean;
  /** Resolves when hasSynced turns true; rejects when the window is stopped before. */
  whenSynced(): Promise<void>;
  /** The newest version known, own writes included. Shared with others who ask, and frozen. */
  get(key: Key): T | undefined;
  /** The mark of an item, '' for none; undefined when there is no such item. Cheaper than the item by far. */
  markOf(key: Key): string | undefined;
  has(key: Key): boolean;
  readonly size: number;
  keys(): IterableIterator<Key>;
  /** Starts a list at once, unless it has to wait after a failure, and resolves when it has been swapped in. */
  relist(reason: string): Promise<void>;
  /** The result of an own write: the window shows it at once and ignores older news of that key. */
  remember(object: KubeObject): void;
  /** An own delete succeeded, or a GET found nothing: gone unless something newer than `resourceVersion` is known. */
  forget(key: Key, resourceVersion?: string): void;
  subscribe(listener: WindowListener): () => void;
  /** For status: what the last trouble was, if the window is in trouble now. */
  readonly trouble: { message: string; sinceMs: number } | undefined;
  /** Monotonic time of the last sign of life from the server. */
  readonly lastHeardMs: number;
}
