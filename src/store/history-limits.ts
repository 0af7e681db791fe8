// How much of the past a store keeps: bounded by number, size and age. A reader that asks for more is told `compacted` and
// lists again.
import type { Timeline } from './timeline.ts';

export interface HistoryLimits {
  maxRevisions: number;
  /** Sum of the lengths of the values. */
  maxChars: number;
  maxAgeMs: number;
}

/**
 * Five minutes is the compaction interval of kube-apiserver, and clients are built for it. The count covers that at 160
 * changes a second and at least ten seconds of the fastest writer; the size keeps large objects from filling the memory.
 */
export const defaultHistoryLimits: HistoryLimits = {
  maxRevisions: 50_000,
  maxChars: 256 * 1024 * 1024,
  maxAgeMs: 5 * 60_000,
};

/** The age is looked at this often within maxAgeMs. */
const ageChecksPerSpan = 10;

export function ageCheckIntervalMs(limits: HistoryLimits): number {
  return limits.maxAgeMs / ageChecksPerSpan;
}

/** The revision to compact to after a write, or undefined. Trims a tenth at a time, so that most writes trim nothing. */
export function dueBySize(timeline: Timeline, limits: HistoryLimits): number | undefined {
  const { count, chars } = timeline.window;
  if (count <= limits.maxRevisions && chars <= limits.maxChars) return undefined;
  const tenth = Math.max(1, Math.floor(count / 10));
  return timeline.revisionAfterOldest(Math.max(tenth, count - limits.maxRevisions));
}

/** The newest revision that is too old to keep, or undefined. */
export function dueByAge(timeline: Timeline, limits: HistoryLimits, nowMs: number): number | undefined {
  return timeline.newestRevisionBefore(nowMs - limits.maxAgeMs);
}
