// Revisions, history, compare-and-swap and a watch hub, shaped like etcd so that SQLite, memory and later etcd stand behind
// one interface. In: keys and JSON text. Out: records with revisions. Must never know HTTP or what a Kubernetes object is.

export interface StoredRecord {
  key: string;
  /** JSON text; the store never looks inside. */
  value: string;
  createRevision: number;
  revision: number;
}

export interface StoreEvent {
  type: 'put' | 'delete';
  key: string;
  /** Revision of this change; one write is one revision. Revisions are unique and rise; there may be gaps between them. */
  revision: number;
  /** The new value; for a delete the last one. */
  value: string;
  /** The value before, undefined when the key was new. Selector watches need it. */
  previous: string | undefined;
  createRevision: number;
}

export type WriteResult =
  | { ok: true; revision: number; createRevision: number }
  /** The expectation did not hold; `current` is what is there now, in one round trip. */
  | { ok: false; current: StoredRecord | undefined; revision: number };

export type ListResult =
  | { kind: 'page'; records: StoredRecord[]; revision: number; hasMore: boolean; remaining: number }
  | { kind: 'compacted'; compactedRevision: number }
  | { kind: 'futureRevision'; currentRevision: number };

export interface StoreWatch {
  /**
   * In order, every revision once; ends after close(). A slow reader is cut off: `overflow`. A store whose log is not its own
   * may have missed changes: `lost`. After either the reader lists again.
   */
  events(): AsyncIterable<StoreEvent[]>;
  close(): void;
  readonly ended: 'open' | 'closed' | 'overflow' | 'lost';
}

export interface Store {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** `fresh`: as the log has it now, also where the log is not this store's own and the view of it may lag. */
  currentRevision(options?: { fresh?: boolean }): Promise<number>;
  get(key: string, options?: { fresh?: boolean }): Promise<{ record: StoredRecord | undefined; revision: number }>;
  /**
   * Keys in byte order. `atRevision` reads history; `afterKey` and `limit` page. `remaining` is exact up to a thousand and
   * an estimate beyond. Records are shared: nobody may change one.
   */
  list(prefix: string, options?: { atRevision?: number; afterKey?: string; limit?: number }): Promise<ListResult>;
  /**
   * `expect` 0 = must not exist, n = must be at revision n, undefined = whatever. `value` undefined deletes; to delete what
   * is not there is refused, `current` undefined. When this resolves with ok, the write is as durable as this store gets.
   */
  write(key: string, change: { expect: number | undefined; value: string | undefined }): Promise<WriteResult>;
  /** Everything after `afterRevision`, which may lie in the future. Events are shared: nobody may change one. */
  watch(prefix: string, afterRevision: number): Promise<StoreWatch | { kind: 'compacted'; compactedRevision: number }>;
  /** Forgets what is older; the revision itself can still be read. Stores also do so by themselves: history-limits.ts. */
  compact(upToRevision: number): Promise<void>;
  /**
   * Values beside the log, for what changes often and must move no version: no revision, no history, no watch, the last write
   * wins. The copy is the caller's own.
   */
  sideValues(prefix: string): Promise<Map<string, string>>;
  /** Undefined removes. All of them or, when this rejects, none. */
  writeSideValues(changes: ReadonlyMap<string, string | undefined>): Promise<void>;
}
