// Asks the host for one record and changes it there. A change counts when it has come back through the stream of changes. In: the host,
// and what the stream has brought. Out: what is there, and the revision of a change, or undefined when somebody else was first.
import { StoreFault } from '../errors.ts';
import type { StoredRecord, WriteResult } from '../store.ts';
import type { Timeline } from '../timeline.ts';
import type { Arrivals } from './arrivals.ts';
import type { Intake, StoreSize } from './intake.ts';
import type { MetaRecord } from './meta-record.ts';
import type { OpenQuestions } from './open-questions.ts';
import type { HostRecord, HostRecords } from './records/host-records.ts';
import { isOfNewer, nameOf, recordData } from './records/record-format.ts';
import { mostTold } from './trust/graves.ts';
import { placeOf } from './trust/last-seen.ts';

export interface RecordWriterOptions {
  host: HostRecords;
  meta: MetaRecord;
  intake: Intake;
  arrivals: Arrivals;
  questions: OpenQuestions;
  /** The version that the stream has reached. */
  reached: () => number;
  timeline: () => Timeline;
  /** Tells all replicas, and those that start later, how far this one has read. */
  beat: () => Promise<void>;
}

export interface LiveRecord {
  record: StoredRecord | undefined;
  revision: number;
}

/** A read that finds a record gone which is in memory again, and a write without an expectation, try again after each change of another replica. */
export const mostAttempts = 20;

export class RecordWriter {
  readonly #parts: RecordWriterOptions;

  constructor(parts: RecordWriterOptions) {
    this.#parts = parts;
  }

  /**
   * The record as the host has it now or a little later. It is answered from memory as soon as the stream is as far as the host was, so
   * that it is true at the revision beside it: whoever watches from there misses nothing of it.
   */
  async live(key: string, options?: { letsGo: boolean }): Promise<LiveRecord> {
    const { host, arrivals } = this.#parts;
    const newest = () => this.#parts.timeline().newest(key);
    for (let attempt = 1; attempt <= mostAttempts; attempt++) {
      const before = newest();
      const found = await host.get(nameOf(key), options);
      if (found !== undefined) {
        await this.#taken(key, found);
        return this.#known(key);
      }
      if (before?.record !== undefined) await arrivals.wait(() => newest()?.revision !== before.revision);
      // One that is in memory was made again in the meantime, or memory has not heard of its end.
      if (newest()?.record === undefined) return this.#known(key);
    }
    throw new StoreFault('STORE_OVERLOADED', `Cannot read "${key}": others have changed it ${mostAttempts} times`);
  }

  #known(key: string): LiveRecord {
    const timeline = this.#parts.timeline();
    return { record: timeline.newest(key)?.record, revision: timeline.revision };
  }

  async #taken(key: string, found: HostRecord): Promise<void> {
    const { host, meta, intake, questions } = this.#parts;
    const read = intake.read(found, meta.now.offset);
    const record = read.kind === 'record' ? read.record : read.kind === 'unusable' ? read.guess : undefined;
    if (record?.key === key) {
      await this.#arrived(found.version);
      await questions.settled(found.name);
      // The stream knows what was there before, and may not have believed it.
      if (!intake.aside.has(found.name)) return;
    }
    const why = intake.aside.get(found.name) ?? (read.kind === 'unusable' ? read.why : 'it is another record');
    const says = isOfNewer(why) && {
      says: 'a newer version of the server has written this record, and this replica cannot read it, so nothing was changed; try again, or ask an operator to update all replicas',
    };
    const message = `Cannot read record "${found.name}" in ${host.place}: ${why}`;
    throw new StoreFault('STORE_RECORD_ASIDE', message, { ...says });
  }

  /** Undefined = somebody else has changed the record. */
  async send(
    key: string,
    known: StoredRecord | undefined,
    value: string | undefined,
  ): Promise<WriteResult | undefined> {
    const { host, meta, intake, reached } = this.#parts;
    const { offset } = meta.now;
    const name = nameOf(key);
    if (value === undefined) return known === undefined ? undefined : this.#remove(name, known);
    const after = reached();
    const data = meta.seals.applied(name, recordData(key, value, known, { offset, after }));
    const sent =
      known === undefined ? await host.create(name, data) : await host.replace(name, data, known.revision - offset);
    if (sent.kind !== 'written') return undefined;
    const written = { name, version: sent.version };
    intake.wrote(written);
    await this.#heard(written).finally(() => intake.heardOfOwn(written));
    const why = intake.aside.get(name);
    if (why !== undefined) throw new StoreFault('STORE_HOST_FAILED', `Cannot confirm record "${name}": ${why}`);
    const revision = offset + sent.version;
    // Who starts when this replica has ended would take the record for a copy that somebody has put back.
    if (known === undefined && this.#mayHaveBeenTaken(key, { after: offset + after, revision }))
      await this.#parts.beat();
    return { ok: true, revision, createRevision: known?.createRevision ?? revision };
  }

  /** What was not believed until its answer came is believed with the next beat: it was missing at the revisions so far. */
  async #heard(written: Pick<HostRecord, 'name' | 'version'>): Promise<void> {
    if (this.#parts.intake.isGuess(placeOf(written))) await this.#parts.beat();
    await this.#arrived(written.version);
  }

  /** True if the name was taken and free again between these two revisions, or if that is forgotten here or cannot be told by others. */
  #mayHaveBeenTaken(key: string, { after, revision }: { after: number; revision: number }): boolean {
    const timeline = this.#parts.timeline();
    if (timeline.compactedRevision > after || revision - after > mostTold) return true;
    let made = timeline.newest(key);
    while (made !== undefined && made.revision > revision) made = made.before;
    return made?.before !== undefined && made.before.revision > after;
  }

  async #remove(name: string, known: StoredRecord): Promise<WriteResult | undefined> {
    const { host, meta, arrivals, timeline } = this.#parts;
    // The host names the version of a removal in its stream alone, and its event may come, and be compacted, before the answer does.
    let revision: number | undefined;
    const stop = arrivals.each(() => {
      revision ??= removedAt(timeline(), known);
    });
    try {
      const removal = await host.remove(name, known.revision - meta.now.offset);
      if (removal.kind !== 'removed') return undefined;
      await arrivals.wait(() => revision !== undefined);
    } finally {
      stop();
    }
    return { ok: true, revision: revision ?? timeline().revision, createRevision: known.createRevision };
  }

  #arrived(version: number): Promise<void> {
    return this.#parts.arrivals.wait(() => this.#parts.reached() >= version);
  }
}

/** Undefined while the record is there. Asked after each change, so that the newest one is the removal when it comes. */
function removedAt(timeline: Timeline, known: StoredRecord): number | undefined {
  const gone = timeline.newest(known.key);
  // A list that came in between shows what was made since, and not the removal, which was before that.
  if (gone === undefined) return timeline.revision;
  if (gone.revision <= known.revision) return undefined;
  return gone.record === undefined ? gone.revision : gone.record.createRevision - 1;
}

export interface RoomOptions {
  /** Absent = what the host takes. */
  most?: StoreSize | undefined;
  /** False for what an operator or the program itself writes, which must not fail because of what clients have made. Default: all are. */
  isLimited?: ((key: string) => boolean) | undefined;
}

/** More than `most.bytes`, for changes of what exists: a key that is disabled has a longer record, and a full store must not keep it alive. */
const roomForChanges = 0.1;

/** What exists may be changed and must be removable, so only what makes the store larger is refused. */
export class Room {
  readonly #options: RoomOptions;
  /** What is on its way to the host and back. */
  readonly #underWay: StoreSize = { records: 0, bytes: 0 };

  constructor(options: RoomOptions) {
    this.#options = options;
  }

  /** The caller gives the room back with the function that is returned. */
  take(
    there: StoreSize,
    { key, known, value }: { key: string; known: StoredRecord | undefined; value: string | undefined },
  ): () => void {
    const { most, isLimited } = this.#options;
    if (value === undefined) return () => undefined;
    const growth = { records: known === undefined ? 1 : 0, bytes: value.length - (known?.value.length ?? 0) };
    if (most !== undefined && isLimited?.(key) !== false) this.#mustFit(there, growth, most);
    const bytes = Math.max(0, growth.bytes);
    this.#add(growth.records, bytes);
    return () => this.#add(-growth.records, -bytes);
  }

  #mustFit(there: StoreSize, growth: StoreSize, most: StoreSize): void {
    const records = there.records + this.#underWay.records;
    const bytes = there.bytes + this.#underWay.bytes;
    const why = growth.records > 0 && records >= most.records ? `${records} records of ${most.records}` : undefined;
    const mostBytes = growth.records > 0 ? most.bytes : most.bytes * (1 + roomForChanges);
    const tooLong =
      growth.bytes > 0 && bytes + growth.bytes > mostBytes ? `${bytes} bytes of ${most.bytes}` : undefined;
    const full = why ?? tooLong;
    if (full !== undefined) throw new StoreFault('STORE_FULL', `the store has ${full}`);
  }

  #add(records: number, bytes: number): void {
    this.#underWay.records += records;
    this.#underWay.bytes += bytes;
  }
}
