// The brake for objects that somebody on the host keeps changing: after a few quick repairs we write once a second, say who
// it is, and stop saying so after a quiet minute. Changes of the virtual side never come here.
import type { Clock } from '../../clock.ts';
import type { Key } from '../../object/meta/object.ts';

/** Repairs of one object within the window before the brake takes hold. */
const freeRepairs = 4;
const windowMs = 10_000;
const contestedIntervalMs = 1000;
const quietMs = 60_000;

/** Beyond it, records that have been quiet long enough are swept out: names are a tenant's to invent. */
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

  /** Asked before a write that undoes a host-side change: how long it has to wait, 0 for now. */
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

  /** The write was sent. True when the object has just become contested. */
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
