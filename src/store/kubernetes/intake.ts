// Takes in what the host shows: which record of the host is which of ours, which of them are left aside, which replicas are heard, and
// how much all of it is. In: records of the host, and what was known of their names. Out: versions of our records.
import type { Clock } from '../../clock.ts';
import type { Timeline, Version } from '../timeline.ts';
import type { HostRecord } from './host-records.ts';
import { type IsRevoked, LastSeen, mostPutBack, placeOf, seenSetBack, type Told } from './last-seen.ts';
import { LiveReplicas } from './live-replicas.ts';
import type { KnownStore } from './meta-record.ts';
import { isReplicaName, type ReadRecord, replicaName, type Sight } from './record-format.ts';
import { type Judge, RecordReader, type RecordReaderOptions } from './record-reader.ts';
import type { Seals } from './seals.ts';
import { Succession } from './succession.ts';

export type Taken = Pick<Version, 'key' | 'revision' | 'record' | 'doubt'>;

export interface StoreSize {
  records: number;
  /** Of values. */
  bytes: number;
}

/** As the options of the store have it. */
export interface AtStart {
  epoch: string;
  replica: string;
  known?: KnownStore | undefined;
  trusts?: boolean;
  isRevoked?: IsRevoked;
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
    return (found, { value }) => {
      const newest = before.newest(found.data['key'] ?? '');
      return this.succession.fault(found, value, { newest, offset, missedAfter });
    };
  }

  /** Of the first list: nothing is known but what the replicas have said. `doubt`: why nobody can judge. */
  judgeAtStart(
    records: readonly HostRecord[],
    { epoch, replica, known, trusts = false, isRevoked = () => false }: AtStart,
  ): { judge: Judge; doubt: string | undefined } {
    if (trusts) return { judge: () => undefined, doubt: undefined };
    // Who has its record there, and has said so.
    const mustKnow = known?.epoch === epoch && this.#seals().isSealed ? { replica, told: known.told ?? 0 } : undefined;
    const told = records.flatMap((found) => {
      // To read them all would check and parse each record twice.
      if (!isReplicaName(found.name)) return [];
      const read = this.#reader.read(found, 0);
      return read.kind === 'replica' ? [{ ...read, version: found.version }] : [];
    });
    const lastSeen = new LastSeen(told, { epoch, isRevoked });
    this.succession.inherit(lastSeen.since);
    // Who has said nothing there believes the others; who has knows better.
    const ofOthers = lastSeen.isSetBack ? seenSetBack : undefined;
    const lost = mustKnow === undefined ? ofOthers : lostWord(mustKnow, told);
    return {
      judge: (found, record) => lastSeen.fault(found, record),
      doubt: lastSeen.isIncomplete ? manyPutBack : lost,
    };
  }

  /** Why nobody can judge the records of the first list. */
  get doubt(): string | undefined {
    return this.putBack.size > mostPutBack ? manyPutBack : undefined;
  }

  /** For replicas that start later. */
  sight(known: Pick<Sight, 'epoch' | 'reached' | 'isSetBack'>): Sight {
    const putBack = [...this.putBack].map(([name, version]) => placeOf({ name, version }));
    const { since } = this.succession;
    return { ...known, since, putBack: putBack.length > mostPutBack ? 'tooMany' : putBack };
  }

  /** A whole list, in place of everything that was there. `before`: what was known until then. */
  takeAll(
    records: readonly HostRecord[],
    { offset, before, judge }: { offset: number; before: Timeline; judge: Judge },
  ): Taken[] {
    this.replicas.clear();
    this.#keys.clear();
    this.#bytes = 0;
    this.newest = 0;
    const taken: Taken[] = [];
    for (const found of records) {
      const read = this.#reader.read(found, offset, judge);
      if (read.kind !== 'replica' || read.sight?.isSetBack !== true) this.newest = Math.max(this.newest, found.version);
      if (read.kind === 'replica') this.replicas.hear(read);
      this.#reader.note(found.name, read, before.newest(found.data['key'] ?? '')?.record);
      if (read.kind !== 'record') continue;
      const { record } = read;
      this.#keys.set(found.name, record.key);
      this.#bytes += record.value.length;
      taken.push({ key: record.key, revision: record.revision, record });
    }
    this.#reader.keepOnly(new Set(records.map(({ name }) => name)));
    return taken;
  }

  /** One change. Undefined when it changes none of our records. A record that nobody can believe any more counts as deleted. */
  take(
    found: HostRecord,
    read: ReadRecord | undefined,
    { offset, timeline }: { offset: number; timeline: Timeline },
  ): Taken | undefined {
    if (read?.kind === 'replica') this.replicas.hear(read, { isBeating: true });
    const record = read?.kind === 'record' ? read.record : undefined;
    const key = record?.key ?? this.#keys.get(found.name);
    const known = key === undefined ? undefined : timeline.newest(key)?.record;
    const wasAside = this.aside.has(found.name);
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
    return this.#reader.read(found, offset, (_, { value }) => this.succession.fault(found, value, { newest, offset }));
  }
}

const manyPutBack = `more than ${mostPutBack} records were put back by hand, as by a backup program`;

function lostWord(
  { replica, told }: { replica: string; told: number },
  words: readonly (Told & { replica: string })[],
): string | undefined {
  const own = words.find((one) => one.replica === replica);
  if (own === undefined) return `record "${replicaName(replica)}", the last word of this replica, is gone or edited`;
  if (own.sight === undefined || own.sight.reached >= told) return undefined;
  return `it was set back: this replica had read up to version ${told}, and its record there says ${own.sight.reached}`;
}
