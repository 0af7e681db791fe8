// Slows down repairs of an object that another client on the host keeps changing: after a few quick repairs, one write a
// second. The contest ends after a quiet minute. Writes for changes of the virtual side are never slowed.
import type { Clock } from '../../clock.ts';
import type { Key } from '../../object/meta/object.ts';

/** Repairs of one object within the window that are not delayed. */
const freeRepairs = 4;
const windowMs = 10_000;
const contestedIntervalMs = 1000;
const quietMs = 60_000;

/** With more records, quiet ones are removed: a tenant can invent any number of names. */
const recordLimit = 1000;

interface Repairs {
  repairsMs: number[];
  contestedSinceMs: number | undefined;
  manager: string | undefined;
}

export interface ContestView {
  key: Key;
  manager: string | undefined;
  sinceMs: number;
}

export class Contest {
  readonly #clock: Clock;
  readonly #records = new Map<Key, Repairs>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The time that a write which undoes a host-side change must wait; 0 for no wait. */
  delayBeforeRepair(key: Key): number {
    const record = this.#records.get(key);
    if (record === undefined) return 0;
    const now = this.#clock.now();
    const last = record.repairsMs.at(-1) ?? Number.NEGATIVE_INFINITY;
    if (now - last >= quietMs) {
      this.#records.delete(key);
      return 0;
    }
    const recent = record.repairsMs.filter((atMs) => now - atMs < windowMs).length;
    if (record.contestedSinceMs === undefined && recent < freeRepairs) return 0;
    return Math.max(0, last + contestedIntervalMs - now);
  }

  /** Records a repair that was sent. Returns true when it makes the object contested. */
  noteRepair(key: Key, manager: string | undefined): boolean {
    const now = this.#clock.now();
    const record = this.#records.get(key) ?? { repairsMs: [], contestedSinceMs: undefined, manager };
    record.repairsMs = [...record.repairsMs.filter((atMs) => now - atMs < windowMs), now];
    record.manager = manager ?? record.manager;
    this.#records.set(key, record);
    if (this.#records.size > recordLimit) this.#sweep(now);
    if (record.contestedSinceMs !== undefined || record.repairsMs.length <= freeRepairs) return false;
    record.contestedSinceMs = now;
    return true;
  }

  #sweep(now: number): void {
    for (const [key, { repairsMs }] of this.#records) {
      if (now - (repairsMs.at(-1) ?? Number.NEGATIVE_INFINITY) >= quietMs) this.#records.delete(key);
    }
  }

  contested(): ContestView[] {
    const now = this.#clock.now();
    const views: ContestView[] = [];
    for (const [key, record] of this.#records) {
      const lastMs = record.repairsMs.at(-1) ?? Number.NEGATIVE_INFINITY;
      if (now - lastMs >= quietMs) this.#records.delete(key);
      else if (record.contestedSinceMs !== undefined) {
        views.push({ key, manager: record.manager, sinceMs: record.contestedSinceMs });
      }
    }
    return views;
  }

  forget(key: Key): void {
    this.#records.delete(key);
  }
}
