// The store interface: revisions, history, compare-and-swap and watches, modelled on etcd, so that memory, SQLite and later
// etcd are interchangeable. In: keys and JSON text. Out: records with revisions. Must never know HTTP or Kubernetes objects.

export interface StoredRecord {
  key: string;
  /** JSON text; the store must not parse it. */
  value: string;
  createRevision: number;
  revision: number;
}

export interface StoreEvent {
  type: 'put' | 'delete';
  key: string;
  /** Every write has its own revision. Revisions are unique and increase, with possible gaps. */
  revision: number;
  /** The new value; for a delete the last value. */
  value: string;
  /** The value before the change, or undefined for a new key. Watches with a selector need the value. */
  previous: string | undefined;
  createRevision: number;
  /** Of an external log: the record is there and not believed, so it counts as deleted; or it is believed again. */
  doubt?: 'begins' | 'ends';
}

export type WriteResult =
  | { ok: true; revision: number; createRevision: number }
  /** The expectation failed; `current` is the present record, which saves the caller a read. */
  | { ok: false; current: StoredRecord | undefined; revision: number };

export type UnreadableRevision =
  | { kind: 'compacted'; compactedRevision: number }
  | { kind: 'futureRevision'; currentRevision: number };

export type ListResult =
  | { kind: 'page'; records: StoredRecord[]; revision: number; hasMore: boolean; remaining: number | undefined }
  | UnreadableRevision;

/** What was found at the first of the keys, in their order. */
export type ReadResult = { kind: 'read'; records: (StoredRecord | undefined)[] } | UnreadableRevision;

export interface StoreWatch {
  /**
   * Every revision once, in order; ends after close(). The store ends the watch of a slow reader with `overflow`, and all
   * watches with `lost` when it may have missed changes of an external log. After either the reader must list again.
   */
  events(): AsyncIterable<StoreEvent[]>;
  close(): void;
  /**
   * Every change that concerns the watch, up to this revision, has been handed out. The newest revision of the store is ahead of it
   * while the watch reads the past: a reader that got the newest revision then would lose what lies between.
   */
  readonly upTo: number;
  readonly ended: 'open' | 'closed' | 'overflow' | 'lost';
}

export interface PageOptions {
  atRevision?: number;
  afterKey?: string;
  limit?: number;
  /** Characters of texts that the caller holds anyway; a page may end behind so many. By default few, for readers of long lists. */
  chars?: number | undefined;
  /** The caller reads one page after the other to the end, and asks for no `remaining`: to count a million records takes most of a second. */
  isWalk?: boolean;
}

export interface Store {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** `fresh`: reads the log itself, because a store over an external log may lag behind the log. */
  currentRevision(options?: { fresh?: boolean }): Promise<number>;
  get(key: string, options?: { fresh?: boolean }): Promise<{ record: StoredRecord | undefined; revision: number }>;
  /**
   * Keys in byte order. `atRevision` reads history; `afterKey` and `limit` page. `remaining` is exact up to a thousand, and
   * beyond an estimate, or undefined where none is at hand. A page of long texts may end before `limit`. Readers share the records and must not change them.
   */
  list(prefix: string, options?: PageOptions): Promise<ListResult>;
  /** The records of these keys at a revision. Long texts may end the answer early, but not before the first key: ask again for the rest. */
  read(keys: readonly string[], atRevision: number): Promise<ReadResult>;
  /**
   * `expect` 0 = must not exist, n = must be at revision n, undefined = any. `value` undefined deletes; deleting a missing
   * key is refused with `current` undefined. After `ok` the write is as durable as this store can make it.
   */
  write(key: string, change: { expect: number | undefined; value: string | undefined }): Promise<WriteResult>;
  /** Every change after `afterRevision`, which may be in the future. Readers share the events and must not change them. */
  watch(prefix: string, afterRevision: number): Promise<StoreWatch | { kind: 'compacted'; compactedRevision: number }>;
  /** Forgets older revisions; the revision itself stays readable. Stores also compact by themselves: see history-limits.ts. */
  compact(upToRevision: number): Promise<void>;
  /**
   * Values next to the log, for frequent changes that must not raise the revision: no revision, no history, no watch, the last
   * write wins. In byte order of the keys; a page shorter than `limit` is the last one. The caller owns the returned copy.
   */
  sideValues(prefix: string, options?: { afterKey?: string; limit?: number }): Promise<Map<string, string>>;
  /** Undefined removes a value. All changes succeed or fail together. */
  writeSideValues(changes: ReadonlyMap<string, string | undefined>): Promise<void>;
}
