// Whether a sealed record follows what this replica knows of its name. A seal shows that a replica has written a record, not when: who
// has kept a copy can put an old version back, and so revive a key that was revoked. Every version says which one it replaced, and the
// first one how far its writer had read. In: what is known, and the versions in the record. Out: why the record is too old.
import { createHash } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { StoredRecord } from '../store.ts';
import type { Timeline, Version } from '../timeline.ts';
import type { HostRecord } from './host-records.ts';
import { nameOf, versionsIn } from './record-format.ts';

/**
 * A replica that writes a record has read the store in the last seconds, or it answers nothing. This is much longer, because a process
 * may be stopped while its request is under way.
 */
const writersLagMs = 120_000;
const sampleEveryMs = 2_000;
const samples = writersLagMs / sampleEveryMs;

/** In a heartbeat, which must stay small. */
export const mostTold = 1_000;
/** Two minutes at 170 deletions a second. */
const mostKept = 20_000;

export interface Predecessor {
  /** The newest version of the key in memory, which may be a delete. */
  newest: Version | undefined;
  offset: number;
  /** After changes were missed: the last version before. Undefined = every change was heard. */
  missedAfter?: number;
  /** The timeline has every version after this revision. */
  wholeAfter?: number;
  /** Asked when nothing is known of the name. `replaced`: the revision before. */
  isRevoked?: (replaced: number | undefined) => boolean;
}

export class Succession {
  readonly graves = new Graves();
  readonly #clock: Clock;
  /** Versions of own beats that came back, oldest first. Time without a beat does not count: the changes of that time come later. */
  readonly #beats: number[] = [];
  /** Of the replicas before this one, until its own beats reach back so far. */
  #inherited = 0;
  #sampledMs = Number.NEGATIVE_INFINITY;
  /** Of values that were believed until somebody edited the record by hand: they may be put back. */
  readonly #spoiled = new Map<string, string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  beat(version: number): void {
    const nowMs = this.#clock.now();
    if (nowMs - this.#sampledMs < sampleEveryMs) return;
    this.#sampledMs = nowMs;
    this.#beats.push(version);
    if (this.#beats.length > samples) this.#beats.shift();
  }

  inherit(since: number): void {
    this.#inherited = since;
  }

  /** Whoever writes a record now has read the store up to this version. */
  get since(): number {
    const ownSince = this.#beats.length < samples ? 0 : (this.#beats[0] ?? 0);
    return Math.max(this.#inherited, ownSince, this.graves.since);
  }

  /** The record now has content that no replica believes. */
  spoiled(name: string, last: StoredRecord): void {
    this.#spoiled.set(name, digestOf(last.value));
  }

  /** The record is gone or good again. */
  settled(name: string): void {
    this.#spoiled.delete(name);
  }

  fault({ name, version, data }: HostRecord, value: string, predecessor: Predecessor): string | undefined {
    const { newest, offset, missedAfter, isRevoked = () => false } = predecessor;
    const known = newest?.record;
    // Another version of the same text is no older one: somebody may have put a label on the Secret.
    if (known?.value === value || this.#spoiled.get(name) === digestOf(value)) return undefined;
    const { after, created, replaced } = versionsIn(data);
    if (known !== undefined && replaced !== undefined) {
      const last = known.revision - offset;
      const follows = missedAfter === undefined ? replaced === last : replaced >= last;
      return follows ? undefined : tooOld;
    }
    // A record that was changed once cannot be the first thing that is heard of its name.
    if (replaced !== undefined) {
      const since = created ?? version;
      if (missedAfter === undefined || since <= missedAfter || this.graves.isGoneAfter(name, since)) return tooOld;
      return isRevoked(replaced + offset) ? tooOld : undefined;
    }
    if (known !== undefined && missedAfter === undefined) return tooOld;
    if (after === undefined || after < this.since) return tooOld;
    if (wasThere(newest, { value, after: after + offset })) return tooOld;
    // Where the timeline has all versions that its writer had not read, it has said everything.
    const isWhole = after + offset >= (predecessor.wholeAfter ?? Number.POSITIVE_INFINITY);
    if (!isWhole && this.graves.isGoneAfter(name, after)) return tooOld;
    return known === undefined && isRevoked(undefined) ? tooOld : undefined;
  }
}

/** A writer that lags a little has not read that the name was taken and free again; a copy says what was there before. */
function wasThere(newest: Version | undefined, { value, after }: { value: string; after: number }): boolean {
  if (newest === undefined || after >= newest.revision) return false;
  for (let version: Version | undefined = newest; version !== undefined; version = version.before)
    if (version.record?.value === value) return true;
  return false;
}

/**
 * Versions of a host only rise, so a whole list that holds an older one of a record than was seen, even of its end, shows an older host:
 * a replica whose own beats are all there has no other sign. Whoever puts a record back by hand gives it a new version.
 */
export function firstOlderThanSeen(
  records: readonly HostRecord[],
  { before, offset, putBack }: { before: Timeline; offset: number; putBack: ReadonlyMap<string, number> },
): string | undefined {
  for (const { name, version, data } of records) {
    // What another replica did not believe is given up later than it was written.
    if (putBack.get(name) === version) continue;
    const newest = before.newest(data['key'] ?? '');
    const seen = newest === undefined ? 0 : newest.revision - offset;
    if (seen > version && newest !== undefined && nameOf(newest.key) === name)
      return `it was set back: record "${name}" is at version ${version} there, and was seen at ${seen}`;
  }
  return undefined;
}

export const tooOld = 'it is an older version of this record, which somebody has put back by hand';

function digestOf(value: string): string {
  return createHash('sha256').update(value).digest('base64');
}

/**
 * Which records were deleted in the last minutes, and when: the writer of a copy had read less than the deletion. The timeline knows that
 * too, but only as far as this process has followed; who starts, or has missed changes, hears it from the heartbeats of others.
 */
export class Graves {
  /** By short name, oldest deletion first. */
  readonly #gone = new Map<string, number>();
  /** Older deletions are forgotten. */
  #since = 0;

  /** Who had read less than this cannot be judged any more. */
  get since(): number {
    return this.#since;
  }

  add(name: string, version: number): void {
    this.#add(shortOf(name), version);
  }

  /** From a heartbeat. */
  hear(told: readonly string[]): void {
    for (const place of told) {
      const [short = '', version = ''] = place.split('@');
      this.#add(short, Number.parseInt(version, 36));
    }
  }

  /** `read`: the version that the writer of the record had read, or that the record was made as. */
  isGoneAfter(name: string, read: number): boolean {
    return read < (this.#gone.get(shortOf(name)) ?? 0);
  }

  /** Of deletions up to this version nothing needs to be known. */
  forget(upTo: number): void {
    for (const [short, version] of this.#gone) if (version <= upTo) this.#gone.delete(short);
  }

  /** The newest ones. `since`: who had read less cannot be judged by them. */
  told(): { gone: readonly string[]; since: number } {
    const sorted = [...this.#gone].sort(([, a], [, b]) => b - a);
    const since = Math.max(this.#since, sorted[mostTold]?.[1] ?? 0);
    return { gone: sorted.slice(0, mostTold).map(([short, version]) => `${short}@${version.toString(36)}`), since };
  }

  #add(short: string, version: number): void {
    if (!Number.isSafeInteger(version) || version <= (this.#gone.get(short) ?? 0)) return;
    this.#gone.delete(short);
    this.#gone.set(short, version);
    if (this.#gone.size <= mostKept) return;
    const [oldest] = this.#gone;
    if (oldest === undefined) return;
    this.#gone.delete(oldest[0]);
    this.#since = Math.max(this.#since, oldest[1]);
  }
}

/** 80 bits of the key's hash. */
function shortOf(name: string): string {
  return name.slice(3, 19);
}
