// Limits the history of a store by number, size and age. A reader that asks for older history gets `compacted` and lists again.
import type { Timeline } from './timeline.ts';

export interface HistoryLimits {
  maxRevisions: number;
  /** What the history adds to the present objects in memory and on disk: each value that was replaced, and its bookkeeping. */
  maxBytes: number;
  maxAgeMs: number;
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
export function dueBySize(timeline: Timeline, limits: HistoryLimits): number | undefined {
  const { count, bytes } = timeline.window;
  if (count <= limits.maxRevisions && bytes <= limits.maxBytes) return undefined;
  const kept = (limit: number) => Math.floor(limit * 0.9);
  return timeline.revisionThatLeaves({ count: kept(limits.maxRevisions), bytes: kept(limits.maxBytes) });
}

/** The newest revision that is too old to keep, or undefined. */
export function dueByAge(timeline: Timeline, limits: HistoryLimits, nowMs: number): number | undefined {
  return timeline.newestRevisionBefore(nowMs - limits.maxAgeMs);
}
