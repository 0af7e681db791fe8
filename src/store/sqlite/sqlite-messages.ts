// The messages between the store and its database thread. The thread answers in the order of the requests, and the two share
// no memory.
import type { StoredRecord, StoreEvent, WriteResult } from '../store.ts';

/** `expect` and `value` as in Store.write(); null = undefined. */
export type LogWrite = [key: string, expect: number | null, value: string | null];

export interface LoggedWrite {
  result: WriteResult;
  /** The revision that this write replaced, a delete included; 0 = none, or the write was refused. */
  replaced: number;
  previous: string | null;
}

/** A revision that is still readable: its key, whether it is a delete, and the revision and size of what it replaced. */
export type WindowRow = [isDelete: boolean, replaced: number, replacedBytes: number, writtenAtMs: number];

export interface EventsRange {
  after: number;
  prefix: string;
  count: number;
  bytes: number;
}

export interface ListRange {
  prefix: string;
  revision: number;
  afterKey: string | undefined;
  limit: number | undefined;
  chars: number | undefined;
  isWalk: boolean;
}

/** Rows instead of records: with the names of their members, a page costs twice as much to send. */
export type ListedRow = [key: string, value: string, createRevision: number, revision: number];

export interface ListedRows {
  rows: ListedRow[];
  hasMore: boolean;
  remaining: number | undefined;
}

export type SideValue = [key: string, value: string | null];

export interface SqliteWorkerData {
  path: string;
  synchronous: 'FULL' | 'NORMAL';
  /** Of an older history the thread sends nothing at the start. */
  maxRevisions: number;
  lockTimeoutMs: number;
}

/** What a request asks for, and what the thread answers. */
export interface Requests {
  /** Decides and writes in one transaction. */
  commit: { ask: { writes: LogWrite[]; writtenAtMs: number }; answer: LoggedWrite[] };
  /** As they are now; null for what is absent. Long texts end the answer early, but not before the first key. */
  get: { ask: { keys: readonly string[] }; answer: { records: (StoredRecord | null)[]; revision: number } };
  list: { ask: ListRange; answer: ListedRows };
  read: { ask: { keys: readonly string[]; revision: number }; answer: (ListedRow | null)[] };
  events: { ask: EventsRange; answer: { events: StoreEvent[]; upTo: number } };
  /** The history at the start, in parts. */
  window: { ask: { after: number }; answer: WindowRow[] };
  /** Deletes unreadable old versions and records the compacted revision. */
  forget: { ask: { revisions: number[]; compactedRevision: number }; answer: undefined };
  /** Looks behind a key for rows that a crash has left; `next` is undefined at the end. */
  leftovers: { ask: { afterKey: string; compactedRevision: number }; answer: { revisions: number[]; next?: string } };
  sideValues: { ask: { prefix: string; afterKey: string | undefined; limit: number | undefined }; answer: SideValue[] };
  /** Writes values next to the log; null removes a value. */
  side: { ask: { values: SideValue[] }; answer: undefined };
  /** Copies the database as it is now into a new file. */
  copy: { ask: { path: string }; answer: undefined };
}

export type RequestKind = keyof Requests;

export type ToWorker =
  | { [K in RequestKind]: { kind: K; id: number; ask: Requests[K]['ask'] } }[RequestKind]
  | { kind: 'close' };

export type FromWorker =
  | { kind: 'opened'; revision: number; compactedRevision: number }
  | { kind: 'openFailed'; cause: OpenFailure; message: string }
  | { kind: 'answer'; id: number; answer: unknown }
  | { kind: 'failed'; id: number; cause: OpenFailure; message: string };

export type OpenFailure = 'locked' | 'corrupt' | 'other';
