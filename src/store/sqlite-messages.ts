// What the store and its database thread say to each other. The store asks, the thread answers in the order of the
// questions; nothing is shared.

/** Columns of the log: revision, key, value (null = deleted), create revision, wall time in milliseconds. */
export type LogRow = [revision: number, key: string, value: string | null, createRevision: number, writtenAtMs: number];

export type SideValue = [key: string, value: string | null];

export interface SqliteWorkerData {
  path: string;
  synchronous: 'FULL' | 'NORMAL';
  lockTimeoutMs: number;
}

export type ToWorker =
  | { kind: 'commit'; id: number; rows: LogRow[] }
  /** Old versions that no reader can ask for any more, and how far the history is gone. */
  | { kind: 'forget'; id: number; revisions: number[]; compactedRevision: number }
  /** Values beside the log; null = removed. */
  | { kind: 'side'; id: number; values: SideValue[] }
  | { kind: 'close' };

export type FromWorker =
  /** First; then the log from its beginning, in revision order, in pieces; then `ready`. */
  | { kind: 'opened'; compactedRevision: number }
  | { kind: 'rows'; rows: LogRow[] }
  | { kind: 'sideValues'; values: SideValue[] }
  | { kind: 'ready' }
  | { kind: 'openFailed'; cause: 'locked' | 'corrupt' | 'other'; message: string }
  | { kind: 'done'; id: number }
  | { kind: 'failed'; id: number; message: string };
