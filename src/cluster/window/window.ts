// A window is our copy of one resource in one scope of one cluster. In: list and watch answers, and the results of our own
// writes. Out: cheap reads, and notices that name keys, never whole objects. Must never know what the objects are for.
import type { Key, KubeObject } from '../../object/meta/object.ts';

/** The fields that a projection must keep of every object. A projection may keep more. */
export interface Item {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
  /** A short text that can be read without unpacking the item; see `Window.markOf`. */
  mark?: string | undefined;
}

/** Without a second look, a list may lack this many objects that are known, however many there are. */
export const believedDeletes = 50;
/** Without a second look, a list may also lack no larger share of all objects than this. */
export const believedShare = 0.2;

/** Whether a list may lack so many of all objects without a second look: an empty answer is more often a broken server than an empty cluster. */
export function mayLack(missing: number, all: number): boolean {
  return missing <= believedDeletes && missing <= all * believedShare;
}

export type Found = 'found' | 'absent' | 'unknown';

export type WindowState = 'idle' | 'listing' | 'watching' | 'retrying' | 'stopped';

export interface WindowChange {
  key: Key;
  /** `removed` only after a DELETED event, or when a complete, consistent list lacks the object. */
  kind: 'set' | 'removed';
  origin: 'list' | 'watch';
}

export interface WindowListener {
  changed?(change: WindowChange): void;
  /** A complete list has replaced the contents; every `changed` notice of the list came before this call. */
  listed?(list: { isFirst: boolean; count: number; removed: readonly Key[] }): void;
  /** The window was compared with what the server has; `provenMs` is up to date. */
  proven?(): void;
}

export interface Window<T extends Item> {
  start(): void;
  stop(): Promise<void>;
  readonly state: WindowState;
  /** True after the first complete, consistent list; never false again. */
  readonly hasSynced: boolean;
  /** Resolves when hasSynced becomes true; rejects when the window is stopped earlier. */
  whenSynced(): Promise<void>;
  /** The newest known version, own writes included. All callers share the item, so it is frozen. */
  get(key: Key): T | undefined;
  /** The mark of an item, '' when the item has no mark, undefined without an item. Far cheaper than `get`. */
  markOf(key: Key): string | undefined;
  has(key: Key): boolean;
  /** The resource version of the remembered object. */
  versionOf(key: Key): string | undefined;
  /** Monotonic time at which the server last had exactly the remembered object; undefined if it changed since. */
  provenMs(key: Key): number | undefined;
  /** Asks the server for one object, by its name and not by a list. `unknown`: the server did not say. */
  find(key: Key): Promise<Found>;
  readonly size: number;
  keys(): IterableIterator<Key>;
  /** Starts a list at once, or after the backoff of a failure. Resolves when the list has replaced the contents. */
  relist(reason: string): Promise<void>;
  /**
   * Stores the answer to an own read or write: the window shows the object at once and ignores older events of that key. `seen`: the version that it
   * showed before the request. False when the answer is older than what the server has shown: it is late, or the server was set back.
   */
  remember(object: KubeObject, seen?: string): boolean;
  /** After an own delete or a 404: removes the object, unless a version newer than `resourceVersion` is known. */
  forget(key: Key, resourceVersion?: string): void;
  subscribe(listener: WindowListener): () => void;
  /** For status: the current failure, if the window cannot list or watch now. */
  readonly trouble: WindowTrouble | undefined;
  /** Monotonic time of the last sign of life from the server. */
  readonly lastHeardMs: number;
  /** The last whole proof, and how many changes the watch has missed. */
  readonly proof: ProofState;
}

export interface WindowTrouble {
  message: string;
  sinceMs: number;
  /** The server answers, so it can be reached. */
  isAnswered: boolean;
  /** It does not let us read this resource. */
  isForbidden?: boolean;
  /** It does not know this resource. */
  isUnserved?: boolean;
  /** Since when reads fail, also for other reasons than this one. */
  unservedMs: number;
}

export interface ProofState {
  provenAtMs: number | undefined;
  missed: number;
}
