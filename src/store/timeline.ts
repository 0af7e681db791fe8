// Holds every readable version of every key: the newest versions and the history window. Each version links to the version
// before it, and the log lists the window in revision order, so old reads, event replay and compaction only follow links.
// Must never wait, read a clock or notify watches.
import { compareKeys } from './key-order.ts';
import { SortedEntries } from './sorted-entries.ts';
import type { ListResult, ReadResult, StoredRecord, StoreEvent, UnreadableRevision, WriteResult } from './store.ts';

export interface Version {
  readonly key: string;
  readonly revision: number;
  /** Undefined when this version is a delete. Readers share the record and must not change it. */
  readonly record: StoredRecord | undefined;
  /** The version before this one, while it is still readable. */
  before: Version | undefined;
  /** Monotonic time of the write, for the age limit. */
  readonly atMs: number;
  readonly doubt?: StoreEvent['doubt'];
}

/** `upTo`: the reader goes on from here; nothing before it is left. */
export interface EventStep {
  events: readonly StoreEvent[];
  upTo: number;
}

export type WriteDecision = { kind: 'write'; version: Version } | { kind: 'refuse'; result: WriteResult };

interface TimelineEntry {
  key: string;
  newest: Version;
}

/** Up to this number `remaining` is exact; beyond, it counts present keys and ignores changes since the read revision. */
const exactRemainingLimit = 1000;

/**
 * A version without its value and key: two objects and their places in the lists. Without it a history of empty values would have
 * no size.
 */
const versionOverheadBytes = 256;

/** Minimum length of the emptied front before the array is cut, so that cutting stays rare. */
const logTrimLength = 1024;

/** Whether a write may follow the present record. */
export function fits(
  current: StoredRecord | undefined,
  { expect, value }: { expect: number | undefined; value: string | undefined },
): boolean {
  if (value === undefined && current === undefined) return false;
  return expect === undefined || expect === (current?.revision ?? 0);
}

/** Decides a write against the newest version of its key. Pure: the caller applies the returned version. */
export function decide(
  newest: Version | undefined,
  write: { key: string; expect: number | undefined; value: string | undefined },
  stamp: { revision: number; atMs: number },
): WriteDecision {
  const current = newest?.record;
  if (!fits(current, write)) {
    return { kind: 'refuse', result: { ok: false, current, revision: stamp.revision - 1 } };
  }
  const record =
    write.value === undefined
      ? undefined
      : {
          key: write.key,
          value: write.value,
          createRevision: current?.createRevision ?? stamp.revision,
          revision: stamp.revision,
        };
  return {
    kind: 'write',
    version: { key: write.key, revision: stamp.revision, record, before: newest, atMs: stamp.atMs },
  };
}

export function createRevisionOf(version: Version): number {
  return (version.record ?? version.before?.record)?.createRevision ?? version.revision;
}

export function eventOf(version: Version): StoreEvent {
  const previous = version.before?.record?.value;
  return {
    type: version.record === undefined ? 'delete' : 'put',
    key: version.key,
    revision: version.revision,
    value: version.record?.value ?? previous ?? '',
    previous,
    createRevision: createRevisionOf(version),
    ...(version.doubt !== undefined && { doubt: version.doubt }),
  };
}

export class Timeline {
  #entries = new Map<string, TimelineEntry>();
  #sorted = new SortedEntries<TimelineEntry>();
  /** The versions after the compacted revision, in revision order; valid from `#logStart` on. */
  #log: Version[] = [];
  #logStart = 0;
  #compacted = 0;
  #revision = 0;
  #historyBytes = 0;

  get revision(): number {
    return this.#revision;
  }

  /** The oldest readable revision. */
  get compactedRevision(): number {
    return this.#compacted;
  }

  /** Size of the present history window. */
  get window(): { count: number; bytes: number } {
    return { count: this.#log.length - this.#logStart, bytes: this.#historyBytes };
  }

  /** The newest version of a key, which may be a delete. */
  newest(key: string): Version | undefined {
    return this.#entries.get(key)?.newest;
  }

  apply(version: Version): void {
    if (version.revision <= this.#revision) {
      throw new Error(`Cannot apply revision ${version.revision}: wanted more than ${this.#revision}`);
    }
    this.#revision = version.revision;
    this.#put(version);
    this.#log.push(version);
    this.#historyBytes += historyBytesOf(version);
  }

  /** An external log has reached this revision, and no key has changed. */
  reach(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
  }

  /** Loads the versions at the compacted revision after a restart. Must run before the first apply(). */
  restore(base: { versions: Iterable<Version>; compactedRevision: number }): void {
    for (const version of base.versions) this.#put(version);
    this.#compacted = base.compactedRevision;
    this.#revision = base.compactedRevision;
  }

  list(prefix: string, options: { atRevision?: number; afterKey?: string; limit?: number }): ListResult {
    const atRevision = options.atRevision ?? this.#revision;
    const unreadable = this.#unreadable(atRevision);
    if (unreadable !== undefined) return unreadable;
    const limit = options.limit === undefined || options.limit <= 0 ? Number.POSITIVE_INFINITY : options.limit;
    const records: StoredRecord[] = [];
    let hasMore = false;
    this.#sorted.walk(startOf(prefix, options.afterKey), (entry) => {
      if (!entry.key.startsWith(prefix)) return false;
      const record = recordAt(entry.newest, atRevision);
      if (record === undefined) return true;
      if (records.length === limit) {
        hasMore = true;
        return false;
      }
      records.push(record);
      return true;
    });
    const last = records.at(-1);
    const remaining = hasMore && last !== undefined ? this.#remaining(prefix, last.key, atRevision) : 0;
    return { kind: 'page', records, revision: atRevision, hasMore, remaining };
  }

  read(keys: readonly string[], atRevision: number): ReadResult {
    const unreadable = this.#unreadable(atRevision);
    if (unreadable !== undefined) return unreadable;
    return { kind: 'read', records: keys.map((key) => recordAt(this.newest(key), atRevision)) };
  }

  #unreadable(atRevision: number): UnreadableRevision | undefined {
    if (atRevision > this.#revision) return { kind: 'futureRevision', currentRevision: this.#revision };
    if (atRevision < this.#compacted) return { kind: 'compacted', compactedRevision: this.#compacted };
    return undefined;
  }

  /** The next changes of a prefix in revision order. The caller must make sure that `revision` is not compacted. */
  eventsAfter(revision: number, prefix: string, most: { count: number; bytes: number }): EventStep {
    const events: StoreEvent[] = [];
    let bytes = 0;
    for (let at = this.#firstAfter((version) => version.revision > revision); at < this.#log.length; at++) {
      const version = this.#log[at] as Version;
      if (!version.key.startsWith(prefix)) continue;
      bytes += sizeOf(version) + sizeOf(version.before);
      if (events.length > 0 && (events.length === most.count || bytes > most.bytes))
        return { events, upTo: (events.at(-1) as StoreEvent).revision };
      events.push(eventOf(version));
    }
    return { events, upTo: Math.max(revision, this.#revision) };
  }

  /** The newest revision in the window written before `atMs`. Relies on times that never decrease along the log. */
  newestRevisionBefore(atMs: number): number | undefined {
    const first = this.#firstAfter((version) => version.atMs >= atMs);
    return first === this.#logStart ? undefined : (this.#log[first - 1] as Version).revision;
  }

  /** The oldest revision to compact to so that no more than this stays in the window. */
  revisionThatLeaves(most: { count: number; bytes: number }): number {
    let at = this.#logStart;
    let bytes = this.#historyBytes;
    while (at < this.#log.length && (this.#log.length - at > most.count || bytes > most.bytes)) {
      bytes -= historyBytesOf(this.#log[at] as Version);
      at++;
    }
    return at === this.#logStart ? this.#compacted : (this.#log[at - 1] as Version).revision;
  }

  /** Binary search: index of the first matching version; all later versions must match too. */
  #firstAfter(holds: (version: Version) => boolean): number {
    let low = this.#logStart;
    let high = this.#log.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (holds(this.#log[middle] as Version)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Drops versions that are readable only below `upToRevision`; returns their revisions. */
  compact(upToRevision: number): number[] {
    const target = Math.min(upToRevision, this.#revision);
    const gone: number[] = [];
    for (;;) {
      const version = this.#log[this.#logStart];
      if (version === undefined || version.revision > target) break;
      this.#logStart++;
      this.#historyBytes -= historyBytesOf(version);
      if (version.before !== undefined) gone.push(version.before.revision);
      version.before = undefined;
      if (version.record === undefined && this.#entries.get(version.key)?.newest === version) {
        this.#entries.delete(version.key);
        this.#sorted.remove(version.key);
        gone.push(version.revision);
      }
    }
    this.#compacted = Math.max(this.#compacted, target);
    if (this.#logStart > logTrimLength && this.#logStart * 2 > this.#log.length) {
      this.#log = this.#log.slice(this.#logStart);
      this.#logStart = 0;
    }
    return gone;
  }

  #put(version: Version): void {
    const entry = this.#entries.get(version.key);
    if (entry !== undefined) {
      entry.newest = version;
      return;
    }
    const created = { key: version.key, newest: version };
    this.#entries.set(version.key, created);
    this.#sorted.insert(created);
  }

  #remaining(prefix: string, lastKey: string, atRevision: number): number {
    const keys = this.#sorted.countAfter(lastKey, prefix);
    if (keys > exactRemainingLimit) return keys;
    let count = 0;
    this.#sorted.walk({ key: lastKey, exclusive: true }, (entry) => {
      if (!entry.key.startsWith(prefix)) return false;
      if (recordAt(entry.newest, atRevision) !== undefined) count++;
      return true;
    });
    return count;
  }
}

/** Characters beyond U+00FF take two bytes each in memory and up to three on disk. */
function sizeOf(version: Version | undefined): number {
  return version?.record === undefined ? 0 : Buffer.byteLength(version.record.value) + version.key.length;
}

/** The newest value is no history: what a change adds is the value that it replaced. */
function historyBytesOf(version: Version): number {
  return versionOverheadBytes + sizeOf(version.before);
}

function startOf(prefix: string, afterKey: string | undefined): { key: string; exclusive: boolean } {
  if (afterKey === undefined || compareKeys(afterKey, prefix) < 0) return { key: prefix, exclusive: false };
  return { key: afterKey, exclusive: true };
}

function recordAt(newest: Version | undefined, revision: number): StoredRecord | undefined {
  let version = newest;
  while (version !== undefined && version.revision > revision) version = version.before;
  return version?.record;
}
