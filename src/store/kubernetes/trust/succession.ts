// Whether a sealed record follows what this replica knows of its name. A seal shows that a replica has written a record, not when: who
// has kept a copy can put an old version back, and so revive a key that was revoked. Every version says which one it replaced, and the
// first one how far its writer had read. In: what is known, and the versions in the record. Out: whether the record is too old.
import { createHash } from 'node:crypto';
import type { Clock } from '../../../clock.ts';
import type { StoredRecord } from '../../store.ts';
import type { Timeline, Version } from '../../timeline.ts';
import type { HostRecord } from '../records/host-records.ts';
import { nameOf, versionsIn } from '../records/record-format.ts';
import { Graves } from './graves.ts';

/**
 * A replica that writes a record has read the store in the last seconds, or it answers nothing. This is much longer, because a process
 * may be stopped while its request is under way.
 */
const writersLagMs = 120_000;
const sampleEveryMs = 2_000;
const samples = writersLagMs / sampleEveryMs;

/**
 * `perhapsOld`: its writer had read less than the last deletion of the name, as with a copy, or as with a name that was free a moment ago.
 * Who has followed the store since then knows which.
 */
export type AgeVerdict = 'old' | 'perhapsOld' | undefined;

export interface Predecessor {
  /** The newest version of the key in memory, which may be a delete. */
  newest: Version | undefined;
  offset: number;
  /** The host's version of the record that could not be judged. */
  guessed?: number | undefined;
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
  #inherited = { since: 0, isCertain: true };
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

  /** Not `isCertain`: who had read less was not late, but nobody could be told of so many deletions. */
  inherit(since: number, isCertain: boolean): void {
    this.#inherited = { since, isCertain };
  }

  /** Whoever writes a record now has read the store up to this version. */
  get since(): number {
    return Math.max(this.#inherited.since, this.#lateSince, this.graves.since);
  }

  /** Whoever had read less is too late. */
  get #lateSince(): number {
    const { since, isCertain } = this.#inherited;
    const ownSince = this.#beats.length < samples ? 0 : (this.#beats[0] ?? 0);
    return Math.max(isCertain ? since : 0, ownSince);
  }

  /** The record now has content that no replica believes. */
  spoiled(name: string, last: StoredRecord): void {
    this.#spoiled.set(name, digestOf(last.value));
  }

  /** The record is gone or good again. */
  settled(name: string): void {
    this.#spoiled.delete(name);
  }

  verdict(found: HostRecord, value: string, predecessor: Predecessor): AgeVerdict {
    const { name, version, data } = found;
    const { newest, offset, guessed, missedAfter, isRevoked = () => false } = predecessor;
    const known = newest?.record;
    // Another version of the same text is no older one: somebody may have put a label on the Secret.
    if (known?.value === value || this.#spoiled.get(name) === digestOf(value)) return undefined;
    const { after, created, replaced } = versionsIn(data);
    if (known !== undefined && replaced !== undefined) {
      const last = known.revision - offset;
      const follows = missedAfter === undefined ? replaced === last : replaced >= last;
      return follows ? undefined : 'old';
    }
    // A record that was changed once cannot be the first thing that is heard of its name.
    if (replaced !== undefined) {
      const since = created ?? version;
      const isHeardFirst = missedAfter === undefined || since <= missedAfter;
      // A replica has sealed a change of what could not be judged here, and so has believed it.
      const wasBelieved = guessed !== undefined && (replaced === guessed || since === guessed);
      if ((isHeardFirst && !wasBelieved) || this.graves.isGoneAfter(name, since)) return 'old';
      return isRevoked(replaced + offset) ? 'old' : undefined;
    }
    if (known !== undefined && missedAfter === undefined) return 'old';
    if (after !== undefined && wasThere(newest, { value, after: after + offset })) return 'old';
    const isGone = known === undefined ? isRevoked : () => false;
    // Where the timeline has all versions that its writer had not read, it has said everything.
    const { wholeAfter = Number.POSITIVE_INFINITY } = predecessor;
    const isWhole = after !== undefined && after >= this.since && after + offset >= wholeAfter;
    if (!isWhole) return this.verdictOfUnheard(found, { offset, isRevoked: isGone });
    return isGone(undefined) ? 'old' : undefined;
  }

  /** Of a name of which nothing is known but the deletions of the last minutes. */
  verdictOfUnheard(
    { name, data }: HostRecord,
    { offset, isRevoked = () => false }: Pick<Predecessor, 'offset' | 'isRevoked'>,
  ): AgeVerdict {
    const { after, created, replaced } = versionsIn(data);
    if (after === undefined || after < this.#lateSince) return 'old';
    if (created !== undefined && this.graves.isGoneAfter(name, created)) return 'old';
    if (isRevoked(replaced === undefined ? undefined : replaced + offset)) return 'old';
    const mayBeGone = created === undefined && this.graves.isGoneAfter(name, after);
    return after < this.since || mayBeGone ? 'perhapsOld' : undefined;
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

function digestOf(value: string): string {
  return createHash('sha256').update(value).digest('base64');
}
