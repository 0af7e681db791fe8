// What the store knows of each revision of its history: its time, the size of what it replaced, and which row goes with it. The
// values stay in the database.
import type { CountedHistory } from '../history-limits.ts';

interface Change {
  atMs: number;
  /** What the history keeps because of this change: the value that it replaced, and bookkeeping. */
  bytes: number;
  replaced: number;
  isDelete: boolean;
}

/** Bookkeeping in memory and on disk. Without it a history of empty values would have no size. */
const changeOverheadBytes = 256;
/** Minimum length of the emptied front before the array is cut, so that cutting stays rare. */
const trimLength = 1024;

export class HistoryWindow implements CountedHistory {
  #changes: (Change | undefined)[] = [];
  #start = 0;
  #compacted: number;
  #bytes = 0;

  constructor(compactedRevision: number) {
    this.#compacted = compactedRevision;
  }

  get compactedRevision(): number {
    return this.#compacted;
  }

  get window(): { count: number; bytes: number } {
    return { count: this.#changes.length - this.#start, bytes: this.#bytes };
  }

  /** Revisions must come without gaps, and times must never decrease. */
  add(change: { atMs: number; replacedBytes: number; replaced: number; isDelete: boolean }): void {
    const { atMs, replacedBytes, replaced, isDelete } = change;
    const bytes = changeOverheadBytes + replacedBytes;
    this.#changes.push({ atMs, bytes, replaced, isDelete });
    this.#bytes += bytes;
  }

  newestRevisionBefore(atMs: number): number | undefined {
    let low = this.#start;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#changes[middle] as Change).atMs >= atMs) high = middle;
      else low = middle + 1;
    }
    return low === this.#start ? undefined : this.#compacted + low - this.#start;
  }

  revisionThatLeaves(most: { count: number; bytes: number }): number {
    let at = this.#start;
    let bytes = this.#bytes;
    while (at < this.#changes.length && (this.#changes.length - at > most.count || bytes > most.bytes)) {
      bytes -= (this.#changes[at] as Change).bytes;
      at++;
    }
    return this.#compacted + at - this.#start;
  }

  /**
   * Forgets the changes up to a revision; returns the revisions of the rows that nobody can read any more. A delete comes behind the
   * value that it replaced: without the delete that value would be back.
   */
  compact(upToRevision: number): number[] {
    const gone: number[] = [];
    while (this.#compacted < upToRevision && this.#start < this.#changes.length) {
      const { bytes, replaced, isDelete } = this.#changes[this.#start] as Change;
      this.#changes[this.#start] = undefined;
      this.#start++;
      this.#compacted++;
      this.#bytes -= bytes;
      if (replaced > 0) gone.push(replaced);
      if (isDelete) gone.push(this.#compacted);
    }
    if (this.#start > trimLength && this.#start * 2 > this.#changes.length) {
      this.#changes = this.#changes.slice(this.#start);
      this.#start = 0;
    }
    return gone;
  }
}
