// Builds the timeline again from the rows of the log. Up to the compacted revision only the newest row of a key counts; what
// a crash left behind there is named, so that it can be deleted after all.
import type { LogRow, SideValue } from './sqlite-messages.ts';
import type { LogReader } from './sqlite-thread.ts';
import { Timeline, type Version } from './timeline.ts';

export class LogReplay implements LogReader {
  readonly timeline = new Timeline();
  /** Revisions of rows that nothing needs. */
  readonly leftovers: number[] = [];
  readonly side: SideValue[] = [];
  #base = new Map<string, Version>();
  #compactedRevision = 0;
  #isBaseRestored = false;
  #monotonicTimeOf: (writtenAtMs: number) => number;
  #lastAtMs = Number.NEGATIVE_INFINITY;

  /** `monotonicTimeOf` turns the wall time of a row into the time of this process; it may be before its start. */
  constructor(monotonicTimeOf: (writtenAtMs: number) => number) {
    this.#monotonicTimeOf = monotonicTimeOf;
  }

  opened(compactedRevision: number): void {
    this.#compactedRevision = compactedRevision;
  }

  rows(rows: LogRow[]): void {
    for (const row of rows) {
      if (row[0] <= this.#compactedRevision) this.#takeBase(row);
      else this.#takeHistory(row);
    }
  }

  sideValues(values: SideValue[]): void {
    for (const value of values) this.side.push(value);
  }

  finish(): void {
    if (this.#isBaseRestored) return;
    this.#isBaseRestored = true;
    this.timeline.restore({ versions: this.#base.values(), compactedRevision: this.#compactedRevision });
    this.#base.clear();
  }

  #takeBase(row: LogRow): void {
    const version = this.#versionOf(row, undefined);
    const older = this.#base.get(version.key);
    if (older !== undefined) this.leftovers.push(older.revision);
    if (version.record !== undefined) {
      this.#base.set(version.key, version);
      return;
    }
    this.#base.delete(version.key);
    this.leftovers.push(version.revision);
  }

  #takeHistory(row: LogRow): void {
    this.finish();
    // This store numbers its own log without gaps: a hole is damage.
    const expected = this.timeline.revision + 1;
    if (row[0] !== expected) throw new Error(`Cannot replay revision ${row[0]}: expected ${expected}`);
    this.timeline.apply(this.#versionOf(row, this.timeline.newest(row[1])));
  }

  #versionOf([revision, key, value, createRevision, writtenAtMs]: LogRow, before: Version | undefined): Version {
    // The wall clock may have been set back between two rows; times along the log never decrease.
    this.#lastAtMs = Math.max(this.#lastAtMs, this.#monotonicTimeOf(writtenAtMs));
    const record = value === null ? undefined : { key, value, createRevision, revision };
    return { key, revision, record, before, atMs: this.#lastAtMs };
  }
}
