// Rebuilds the timeline from the rows of the log. Up to the compacted revision only the newest row of each key counts; older
// rows remain there after a crash, and `leftovers` lists them for deletion.

import { Timeline, type Version } from '../timeline.ts';
import type { LogRow, SideValue } from './sqlite-messages.ts';
import type { LogReader } from './sqlite-thread.ts';

export class LogReplay implements LogReader {
  readonly timeline = new Timeline();
  /** Revisions of unneeded rows. */
  readonly leftovers: number[] = [];
  readonly side: SideValue[] = [];
  #base = new Map<string, Version>();
  #compactedRevision = 0;
  #isBaseRestored = false;
  #monotonicTimeOf: (writtenAtMs: number) => number;
  #lastAtMs = Number.NEGATIVE_INFINITY;

  /** `monotonicTimeOf` converts the wall time of a row to this process's monotonic time, which is negative for old rows. */
  constructor(monotonicTimeOf: (writtenAtMs: number) => number) {
    this.#monotonicTimeOf = monotonicTimeOf;
  }

  opened(compactedRevision: number): void {
    this.#compactedRevision = compactedRevision;
  }

  rows(rows: LogRow[]): void {
    for (const row of rows) {
      if (row[0] <= this.#compactedRevision) this.#addBaseRow(row);
      else this.#addHistoryRow(row);
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

  #addBaseRow(row: LogRow): void {
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

  #addHistoryRow(row: LogRow): void {
    this.finish();
    // This store numbers its log without gaps, so a gap means damage.
    const expected = this.timeline.revision + 1;
    if (row[0] !== expected) throw new Error(`Cannot replay revision ${row[0]}: wanted ${expected}`);
    this.timeline.apply(this.#versionOf(row, this.timeline.newest(row[1])));
  }

  #versionOf([revision, key, value, createRevision, writtenAtMs]: LogRow, before: Version | undefined): Version {
    // The wall clock may jump back between two rows, but the timeline requires that times never decrease.
    this.#lastAtMs = Math.max(this.#lastAtMs, this.#monotonicTimeOf(writtenAtMs));
    const record = value === null ? undefined : { key, value, createRevision, revision };
    return { key, revision, record, before, atMs: this.#lastAtMs };
  }
}
