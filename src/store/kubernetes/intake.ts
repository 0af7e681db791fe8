// Takes in what the host shows: which record of the host is which of ours, which of them are left aside, which replicas are heard, and
// how much all of it is. In: records of the host, and what was known of their names. Out: versions of our records.
import type { Clock } from '../../clock.ts';
import type { StoredRecord } from '../store.ts';
import type { Timeline, Version } from '../timeline.ts';
import { LiveReplicas } from './live-replicas.ts';
import type { BeforeStart } from './meta-record.ts';
import type { HostRecord } from './records/host-records.ts';
import { isReplicaName, type ReadRecord, replicaName, type Sight } from './records/record-format.ts';
import {
  believes,
  type IsRevoked,
  LastSeen,
  lostWord,
  mostPutBack,
  placeOf,
  recordAt,
  seenSetBack,
} from './trust/last-seen.ts';
import { type Judge, RecordReader, type RecordReaderOptions, whyNot } from './trust/record-reader.ts';
import type { Seals } from './trust/seals.ts';
import { type AgeVerdict, type Predecessor, Succession } from './trust/succession.ts';

export type Taken = Pick<Version, 'key' | 'revision' | 'record' | 'doubt'>;

export interface StoreSize {
  records: number;
  /** Of values. */
  bytes: number;
}

export interface IntakeOptions extends RecordReaderOptions {
  /** Measures silence. */
  clock: Clock;
  seals: () => Seals;
}

export class Intake {
  readonly replicas: LiveReplicas;
  readonly succession: Succession;
  readonly #reader: RecordReader;
  readonly #seals: () => Seals;
  readonly #keys = new Map<string, string>();
  /** Of all values. */
  #bytes = 0;
  /** Records that another replica does not believe, by name, with their versions. */
  readonly #disowned = new Map<string, number>();
  /** Records that this process has just written. */
  readonly #own = new Set<string>();
  #isRevoked: IsRevoked = () => false;
  /** Of a command that brings records back: what this replica had said before. */
  #kept: { setBackIn: string | undefined } | undefined;
  /** The newest version in the last whole list, but for what a replica has written after the host was set back. */
  newest = 0;

  constructor(options: IntakeOptions) {
    const { clock, seals } = options;
    this.#seals = seals;
    this.replicas = new LiveReplicas(clock);
    this.succession = new Succession(clock);
    this.#reader = new RecordReader(options, { seals, succession: this.succession });
  }

  get size(): StoreSize {
    return { records: this.#keys.size, bytes: this.#bytes };
  }

  /** Names of records that nobody can read or believe, and why. */
  get aside(): ReadonlyMap<string, string> {
    return this.#reader.aside;
  }

  /** The records that somebody has set back to an older state, with their versions. */
  get putBack(): ReadonlyMap<string, number> {
    return this.#reader.putBack;
  }

  /** Takes nothing in. */
  read(found: HostRecord, offset: number): ReadRecord {
    return this.#reader.read(found, offset);
  }

  /** Of a list after changes were missed. */
  judgeAfterLoss({ before, offset, missedAfter }: { before: Timeline; offset: number; missedAfter: number }): Judge {
    return (found, record, guessed) => {
      const newest = before.newest(found.data['key'] ?? '');
      return this.#verdict(found, record, { newest, offset, guessed, missedAfter });
    };
  }

  /** Of the first list: nothing is known but what the replicas have said. `doubt`: why nobody can judge. */
  judgeAtStart(
    records: readonly HostRecord[],
    { epoch, replica, known, trusts = false, isRevoked = () => false }: BeforeStart & { epoch: string },
  ): { judge: Judge; doubt: string | undefined } {
    if (trusts) {
      const own = records.find(({ name }) => name === replicaName(replica));
      const read = own && this.#reader.read(own, 0);
      const { sight } = read?.kind === 'replica' ? read : {};
      this.#kept = { setBackIn: sight?.isSetBack === true ? sight.epoch : undefined };
      return { judge: () => undefined, doubt: undefined };
    }
    this.#isRevoked = isRevoked;
    const told = records.flatMap((found) => {
      // To read them all would check and parse each record twice.
      if (!isReplicaName(found.name)) return [];
      const read = this.#reader.read(found, 0);
      return read.kind === 'replica' ? [{ ...read, version: found.version }] : [];
    });
    const lastSeen = new LastSeen(told, epoch);
    this.succession.inherit(lastSeen.since, lastSeen.isSinceCertain);
    this.succession.graves.hear(lastSeen.gone);
    // Who has its record there, and has said so.
    const mustKnow = known?.epoch === epoch && this.#seals().isSealed ? { replica, told: known.told ?? 0 } : undefined;
    // Who has said nothing there believes the others; who has knows better.
    const ofOthers = lastSeen.isSetBack ? seenSetBack : undefined;
    const lost = mustKnow === undefined ? ofOthers : lostWord(mustKnow, told);
    return {
      judge: (found, record) => lastSeen.verdict(found, record, { succession: this.succession, isRevoked }),
      doubt: lastSeen.isIncomplete ? manyPutBack : lost,
    };
  }

  /** Why nobody can judge the records of the first list. */
  get doubt(): string | undefined {
    return this.putBack.size > mostPutBack ? manyPutBack : undefined;
  }

  /** For replicas that start later. */
  sight(
    { epoch, wasSetBack: isSetBack }: { epoch: string; wasSetBack: boolean },
    known: Pick<Sight, 'reached' | 'isNew'>,
  ): Sight {
    const places = [...this.putBack].map(([name, version]) => placeOf({ name, version }));
    const guesses = places.filter((place) => this.isGuess(place));
    const putBack = places.filter((place) => !this.isGuess(place));
    const { since, graves } = this.succession;
    graves.forget(since);
    const { gone, since: judges } = graves.told();
    const kept = this.#kept && { writtenUpTo: this.newest, ...(this.#kept.setBackIn === epoch && { isSetBack: true }) };
    const told = { isSetBack, gone, since: Math.max(since, judges), ...kept };
    if (places.length > mostPutBack) return { ...known, ...told, epoch, putBack: 'tooMany', guesses: [] };
    return { ...known, ...told, epoch, putBack, guesses };
  }

  /** What another replica knows that lives: its records that were put back are given up here too, one with each change that is no record's. */
  heed({ gone, putBack }: Sight): void {
    this.succession.graves.hear(gone);
    if (putBack === 'tooMany') return;
    for (const place of putBack) {
      const { name, version } = recordAt(place);
      if (this.#keys.has(name)) this.#disowned.set(name, version);
      if (this.isGuess(place)) this.#reader.note(name, { kind: 'unusable', why: whyNot.old, putBackAt: version });
    }
  }

  /** True if this record, at this version, could not be judged. */
  isGuess(place: string): boolean {
    const { name, version } = recordAt(place);
    return this.guesses.has(name) && this.putBack.get(name) === version;
  }

  /** What this process has written is no older version, whatever was heard of the name. */
  wrote(found: Pick<HostRecord, 'name' | 'version'>): void {
    this.#own.add(placeOf(found));
  }

  /** The write has come back. Where no beat has, the record is still to be believed. */
  heardOfOwn(found: Pick<HostRecord, 'name' | 'version'>): void {
    if (!this.isGuess(placeOf(found))) this.#own.delete(placeOf(found));
  }

  /** Records that could not be judged, by name. */
  get guesses(): ReadonlyMap<string, StoredRecord> {
    return this.#reader.guesses;
  }

  /** What could not be judged here, and another replica that lives has believed, or this process has written. */
  believed(sight: Sight | undefined): Taken[] {
    return [...this.guesses].flatMap(([name, record]) => {
      const found = { name, version: this.putBack.get(name) ?? 0 };
      const isBelieved = sight !== undefined && !sight.isSetBack && believes(sight, found);
      if (!isBelieved && !this.#own.delete(placeOf(found))) return [];
      this.#reader.note(name, { kind: 'record', record });
      this.#keys.set(name, record.key);
      this.#bytes += record.value.length;
      return [{ key: record.key, revision: record.revision, record }];
    });
  }

  /** Gives up one of the records that another replica does not believe, at a version that changes no record. Undefined = none is left. */
  #giveUp(at: number, { offset, timeline }: { offset: number; timeline: Timeline }): Taken | undefined {
    for (const [name, version] of this.#disowned) {
      this.#disowned.delete(name);
      const record = timeline.newest(this.#keys.get(name) ?? '')?.record;
      if (record === undefined || record.revision !== version + offset) continue;
      const old: ReadRecord = { kind: 'unusable', why: whyNot.old, putBackAt: version };
      return this.take({ name, version: at, data: {} }, old, { offset, timeline });
    }
    return undefined;
  }

  /** Gives up all of them at once, of which no watch hears: for a store that nobody reads yet. What is left. */
  giveUpAll(at: number, { offset, timeline }: { offset: number; timeline: Timeline }): Taken[] {
    const keys = new Set<string>();
    while (this.hasDisowned) {
      const given = this.#giveUp(at, { offset, timeline });
      if (given !== undefined) keys.add(given.key);
    }
    return allIn(timeline).filter(({ key }) => !keys.has(key));
  }

  get hasDisowned(): boolean {
    return this.#disowned.size > 0;
  }

  /** A whole list, in place of everything that was there. `before`: what was known until then. */
  takeAll(
    records: readonly HostRecord[],
    { offset, before, judge }: { offset: number; before: Timeline; judge: Judge },
  ): Taken[] {
    this.replicas.clear();
    this.#bytes = 0;
    this.newest = 0;
    const taken: Taken[] = [];
    // Some of them were deleted while changes were missed, nobody knows when: who had read their last known version may have read that too.
    const there = new Set(records.map(({ name }) => name));
    for (const [name, key] of this.#keys)
      if (!there.has(name)) this.succession.graves.add(name, (before.newest(key)?.revision ?? offset) - offset);
    this.#keys.clear();
    for (const found of records) {
      const read = this.#reader.read(found, offset, judge);
      const { isSetBack = false, writtenUpTo = found.version } = (read.kind === 'replica' && read.sight) || {};
      if (!isSetBack) this.newest = Math.max(this.newest, writtenUpTo);
      if (read.kind === 'replica') this.replicas.hear(read);
      this.#reader.note(found.name, read, before.newest(found.data['key'] ?? '')?.record);
      if (read.kind !== 'record') continue;
      const { record } = read;
      this.#keys.set(found.name, record.key);
      this.#bytes += record.value.length;
      taken.push({ key: record.key, revision: record.revision, record });
    }
    this.#reader.keepOnly(there);
    return taken;
  }

  /** One change. Undefined when it changes none of our records. A record that nobody can believe any more counts as deleted. */
  take(
    found: HostRecord,
    read: ReadRecord | undefined,
    { offset, timeline }: { offset: number; timeline: Timeline },
  ): Taken | undefined {
    if (read?.kind === 'replica') {
      this.replicas.hear(read, { isBeating: true });
      return this.#giveUp(found.version, { offset, timeline });
    }
    const record = read?.kind === 'record' ? read.record : undefined;
    const key = record?.key ?? this.#keys.get(found.name);
    const known = key === undefined ? undefined : timeline.newest(key)?.record;
    const wasAside = this.aside.has(found.name);
    if (read === undefined || (read.kind === 'unusable' && known !== undefined))
      this.succession.graves.add(found.name, found.version);
    this.#reader.note(found.name, read, known);
    if (key === undefined || (record === undefined && known === undefined)) return undefined;
    if (record === undefined) this.#keys.delete(found.name);
    else this.#keys.set(found.name, key);
    this.#bytes += (record?.value.length ?? 0) - (known?.value.length ?? 0);
    const taken: Taken = { key, revision: offset + found.version, record };
    if (read?.kind === 'unusable') return { ...taken, doubt: 'begins' };
    return wasAside && record !== undefined ? { ...taken, doubt: 'ends' } : taken;
  }

  /** As read(), and judged by everything that was heard of the name. */
  readNext(found: HostRecord, offset: number, timeline: Timeline): ReadRecord {
    const newest = timeline.newest(found.data['key'] ?? '');
    return this.#reader.read(found, offset, (_, record, guessed) =>
      this.#verdict(found, record, { newest, offset, guessed, wholeAfter: timeline.compactedRevision }),
    );
  }

  #verdict(found: HostRecord, record: StoredRecord, known: Predecessor): AgeVerdict {
    if (this.#own.has(placeOf(found))) return undefined;
    const isRevoked = (replaced: number | undefined) => this.#isRevoked(record, replaced);
    return this.succession.verdict(found, record.value, { ...known, isRevoked });
  }
}

/** What stands in a store now. */
export function allIn(timeline: Timeline): Taken[] {
  const list = timeline.list('', {});
  const records = list.kind === 'page' ? list.records : [];
  return records.map((record) => ({ key: record.key, revision: record.revision, record }));
}

const manyPutBack = `more than ${mostPutBack} records were put back by hand, as by a backup program`;
