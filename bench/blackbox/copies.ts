// What the host shows of this run, told by a watch, and how long after its change each copy came.
import type { WatchEvent } from './cluster.ts';
import { Histogram } from './histogram.ts';
import type { Load } from './load.ts';

interface Pending {
  version: number;
  dueMs: number;
  /** When the virtual watch reported the change; undefined while it has not. */
  eventMs: number | undefined;
}

/** The times of one phase of the run. */
export class Times {
  /** From the moment when a change was due. */
  readonly sinceDue = new Histogram();
  /** From the moment when a watch of the virtual side reported the change. */
  readonly sinceEvent = new Histogram();
}

export class Copies {
  /** Counted are writes that somebody made on the host to a copy of this run. */
  writes = 0;
  lastCopyMs = Number.NaN;
  firstCopyMs = Number.NaN;
  times = new Times();
  #load: Load;
  /** The version that the host shows, by the index of the object. */
  #shown = new Map<number, number>();
  #pending = new Map<number, Pending[]>();
  #pendingCount = 0;
  /** The revision that was seen last, by the name on the host: a list after an ended watch tells nothing new. */
  #revisions = new Map<string, string>();

  constructor(load: Load) {
    this.#load = load;
  }

  get shownCount(): number {
    return this.#shown.size;
  }

  get pendingCount(): number {
    return this.#pendingCount;
  }

  shows(index: number): boolean {
    return this.#shown.has(index);
  }

  /** A change is due now; its copy is waited for. */
  due(index: number, version: number, dueMs: number): void {
    const waiting = this.#pending.get(index) ?? [];
    waiting.push({ version, dueMs, eventMs: undefined });
    this.#pending.set(index, waiting);
    this.#pendingCount++;
  }

  /** The virtual side refused the change. */
  refused(index: number, version: number): void {
    this.#settle(index, (one) => one.version === version);
  }

  /** What never came by the end of a phase is no sample of the next one. */
  forgetPending(): number {
    const forgotten = this.#pendingCount;
    this.#pending.clear();
    this.#pendingCount = 0;
    return forgotten;
  }

  virtualEvent({ object, atMs, type }: WatchEvent): void {
    const mark = type === 'DELETED' ? undefined : this.#load.markOf(object);
    if (mark === undefined) return;
    for (const one of this.#pending.get(mark.index) ?? []) if (one.version <= mark.version) one.eventMs ??= atMs;
  }

  hostEvent({ type, object, atMs }: WatchEvent): void {
    const mark = this.#load.markOf(object);
    if (mark === undefined) return;
    const { name, resourceVersion = '' } = object.metadata;
    if (this.#revisions.get(name) === resourceVersion) return;
    this.#revisions.set(name, resourceVersion);
    if (type === 'DELETED') {
      this.#shown.delete(mark.index);
      return;
    }
    this.writes++;
    if (!this.#shown.has(mark.index)) {
      this.lastCopyMs = atMs;
      if (Number.isNaN(this.firstCopyMs)) this.firstCopyMs = atMs;
    }
    this.#shown.set(mark.index, mark.version);
    for (const { dueMs, eventMs = atMs } of this.#settle(mark.index, ({ version }) => version <= mark.version)) {
      this.times.sinceDue.record(atMs - dueMs);
      this.times.sinceEvent.record(atMs - eventMs);
    }
  }

  #settle(index: number, isSettled: (one: Pending) => boolean): Pending[] {
    const waiting = this.#pending.get(index) ?? [];
    const settled = waiting.filter(isSettled);
    const left = waiting.filter((one) => !isSettled(one));
    this.#pendingCount -= settled.length;
    if (left.length === 0) this.#pending.delete(index);
    else this.#pending.set(index, left);
    return settled;
  }
}
