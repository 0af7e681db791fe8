// The messages between the store and its database thread. The thread answers in the order of the requests, and the two share
// no memory.

/** Columns of the log: revision, key, value (null = deleted), create revision, wall time in milliseconds. */
export type LogRow = [revision: number, key: string, value: string | null, createRevision: number, writtenAtMs: number];

export type SideValue = [key: string, value: string | null];

export interface SqliteWorkerData {
  path: string;
  synchronous: 'FULL' | 'NORMAL';
  /** Of an older history the thread sends only what is newest. */
  maxHistoryBytes: number;
  lockTimeoutMs: number;
}

export type ToWorker =
  /** The next part of the log, at start: a log that an attack filled must not lie in memory twice. */
  | { kind: 'more' }
  | { kind: 'commit'; id: number; rows: LogRow[] }
  /** Deletes unreadable old versions and records the compacted revision. */
  | { kind: 'forget'; id: number; revisions: number[]; compactedRevision: number }
  /** Writes values beside the log; null removes a value. */
  | { kind: 'side'; id: number; values: SideValue[] }
  /** Copies the database as it is now into a new file. */
  | { kind: 'copy'; id: number; path: string }
  | { kind: 'close' };

export type FromWorker =
  /** Comes first; then for each `more` the next `rows` of the log in revision order or `sideValues`, and at last `ready`. */
  | { kind: 'opened'; compactedRevision: number }
  | { kind: 'rows'; rows: LogRow[] }
  | { kind: 'sideValues'; values: SideValue[] }
  | { kind: 'ready' }
  | { kind: 'openFailed'; cause: 'locked' | 'corrupt' | 'other'; message: string }
  | { kind: 'done'; id: number }
  | { kind: 'failed'; id: number; message: string };
