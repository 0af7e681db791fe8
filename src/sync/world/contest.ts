// Slows down repairs of an object that another client on the host keeps changing: after a few quick repairs, one write a
// second. With many such objects, as when an admission webhook changes every write, they share a total rate. The contest ends
// after a quiet minute. Writes for changes of the virtual side are never slowed.
import type { Clock } from '../../clock.ts';
import type { Key } from '../../object/meta/object.ts';

/** Repairs of one object within the window that are not delayed. */
const freeRepairs = 4;
const windowMs = 10_000;
const contestedIntervalMs = 1000;
/** All contested objects together are repaired 50 times a second, because a webhook of the host can contest every object. */
const shareMs = 20;
/** However many objects are contested, each is repaired again this soon after the other client has stopped. */
const longestIntervalMs = 60_000;
const quietMs = 60_000;
/** A contest is over when an object has let this many of its turns pass, if they take longer than a minute. */
const quietTurns = 2;

/** With more records, quiet ones are removed: a tenant can invent any number of names. */
const recordLimit = 1000;
/** The next sweep comes when the records have grown by this factor, so that one repair costs little when no record is quiet. */
const sweepGrowth = 2;

/** The name of a rival who writes under our own name: so does a webhook that changes our writes. */
const namelessRival = 'a second Hostward or a webhook';

/** The name where the answer to a write of ours lacked what we had written: nobody else can have written in between. */
export const admissionRival = 'an admission webhook or policy of the host';

interface Repairs {
  repairsMs: number[];
  contestedSinceMs: number | undefined;
  manager: string | undefined;
  lost: string | undefined;
}

export interface ContestView {
  key: Key;
  by: string;
  /** What the answer to the last repair lacked of it. */
  lost?: string;
  sinceMs: number;
}

export class Contest {
  readonly #clock: Clock;
  readonly #records = new Map<Key, Repairs>();
  #contestedCount = 0;
  #sweepAbove = recordLimit;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The time that a write which undoes a host-side change must wait; 0 for no wait. */
  delayBeforeRepair(key: Key): number {
    const record = this.#records.get(key);
    if (record === undefined) return 0;
    const now = this.#clock.now();
    if (this.#isQuiet(record, now)) {
      this.forget(key);
      return 0;
    }
    const last = record.repairsMs.at(-1) ?? Number.NEGATIVE_INFINITY;
    const recent = record.repairsMs.filter((atMs) => now - atMs < windowMs).length;
    if (record.contestedSinceMs === undefined && recent < freeRepairs) return 0;
    return Math.max(0, last + this.#intervalMs - now);
  }

  /** Records a repair that was sent, and what its answer lacked of it. Returns true when it makes the object contested. */
  noteRepair(key: Key, manager: string | undefined, lost?: string): boolean {
    const now = this.#clock.now();
    const record = this.#records.get(key) ?? { repairsMs: [], contestedSinceMs: undefined, manager, lost };
    record.repairsMs = [...record.repairsMs.filter((atMs) => now - atMs < windowMs), now];
    record.manager = manager ?? record.manager;
    record.lost = lost;
    this.#records.set(key, record);
    if (this.#records.size > this.#sweepAbove) this.#sweep(now);
    if (record.contestedSinceMs !== undefined || record.repairsMs.length <= freeRepairs) return false;
    record.contestedSinceMs = now;
    this.#contestedCount++;
    return true;
  }

  get #intervalMs(): number {
    return Math.min(Math.max(contestedIntervalMs, this.#contestedCount * shareMs), longestIntervalMs);
  }

  /** An object that waits for its turn is not quiet: its next repair may be undone again. */
  #isQuiet({ repairsMs }: Repairs, now: number): boolean {
    const last = repairsMs.at(-1) ?? Number.NEGATIVE_INFINITY;
    return now - last >= Math.max(quietMs, quietTurns * this.#intervalMs);
  }

  #sweep(now: number): void {
    for (const [key, record] of this.#records) if (this.#isQuiet(record, now)) this.forget(key);
    this.#sweepAbove = Math.max(recordLimit, sweepGrowth * this.#records.size);
  }

  contested(): ContestView[] {
    const now = this.#clock.now();
    const views: ContestView[] = [];
    for (const [key, record] of this.#records) {
      if (this.#isQuiet(record, now)) this.forget(key);
      else if (record.contestedSinceMs !== undefined) {
        const { lost, contestedSinceMs: sinceMs } = record;
        views.push({ key, by: rivalIn(record), ...(lost !== undefined && { lost }), sinceMs });
      }
    }
    return views;
  }

  /** Who contests one object; undefined for an object that nobody contests. It forgets nothing, so that anybody may ask. */
  rivalOf(key: Key): string | undefined {
    const record = this.#records.get(key);
    if (record?.contestedSinceMs === undefined || this.#isQuiet(record, this.#clock.now())) return undefined;
    return rivalIn(record);
  }

  /** Why its repairs wait, in a sentence. */
  reasonOf(key: Key): string {
    const lost = this.#records.get(key)?.lost;
    return lost === undefined ? 'another client on the host keeps changing the copy' : lostText(lost);
  }

  forget(key: Key): void {
    if (this.#records.get(key)?.contestedSinceMs !== undefined) this.#contestedCount--;
    this.#records.delete(key);
  }
}

function rivalIn({ manager, lost }: Repairs): string {
  return lost === undefined ? (manager ?? namelessRival) : admissionRival;
}

/** `sync/report` and doctor say the same. */
export function lostText(lost: string): string {
  return `the answer to our own write already lacks the ${lost}: ${admissionRival} changes what is written`;
}
