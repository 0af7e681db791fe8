// Limits the history of a store by number, size and age. A reader that asks for older history gets `compacted` and lists again.

export interface HistoryLimits {
  maxRevisions: number;
  /** What the history adds to the present objects: each value that was replaced, and its bookkeeping. */
  maxBytes: number;
  maxAgeMs: number;
}

/** A history that knows how long it is. */
export interface CountedHistory {
  readonly window: { count: number; bytes: number };
  /** The newest revision that was written before this monotonic time. */
  newestRevisionBefore(atMs: number): number | undefined;
  /** The oldest revision to compact to so that no more than this stays. */
  revisionThatLeaves(most: { count: number; bytes: number }): number;
}

/**
 * Clients are built for kube-apiserver's compaction interval of five minutes. The count covers five minutes at 160 changes a
 * second and ten seconds of the fastest writer; the size keeps large objects from filling the memory.
 */
export const defaultHistoryLimits: HistoryLimits = {
  maxRevisions: 50_000,
  maxBytes: 256 * 1024 * 1024,
  maxAgeMs: 5 * 60_000,
};

/** Number of age checks within maxAgeMs. */
const ageChecksPerSpan = 10;

export function ageCheckIntervalMs(limits: HistoryLimits): number {
  return limits.maxAgeMs / ageChecksPerSpan;
}

/** The revision to compact to after a write, or undefined. Leaves nine tenths of a limit, so that few writes pay for it. */
export function dueBySize(history: CountedHistory, limits: HistoryLimits): number | undefined {
  const { count, bytes } = history.window;
  if (count <= limits.maxRevisions && bytes <= limits.maxBytes) return undefined;
  const kept = (limit: number) => Math.floor(limit * 0.9);
  return history.revisionThatLeaves({ count: kept(limits.maxRevisions), bytes: kept(limits.maxBytes) });
}

/** The newest revision that is too old to keep, or undefined. */
export function dueByAge(history: CountedHistory, limits: HistoryLimits, nowMs: number): number | undefined {
  return history.newestRevisionBefore(nowMs - limits.maxAgeMs);
}
