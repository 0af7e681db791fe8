// Long because a change is followed here the whole way, from the write to the host to its return.
// A store whose log is a Kubernetes API server: every record is one record of the host, the host decides each write by its version,
// and its stream of changes numbers them. In: the host as a port, so that this file knows no HTTP. Out: the store, and why it must not
// be believed at the moment. Reads come from memory; a fresh one waits until its own beat has come back through the stream.
import type { Clock } from '../../clock.ts';
import { StoreFault } from '../errors.ts';
import { dueByAge, dueBySize } from '../history-limits.ts';
import { compareKeys } from '../key-order.ts';
import type { StoredRecord, WriteResult } from '../store.ts';
import { eventOf, fits, type Version } from '../timeline.ts';
import { TimelineStore, type TimelineStoreOptions } from '../timeline-store.ts';
import { Arrivals } from './arrivals.ts';
import { Emptying } from './emptying.ts';
import type { HostRecord, HostRecords } from './host-records.ts';
import { LiveReplicas } from './live-replicas.ts';
import { type KnownStore, MetaRecord } from './meta-record.ts';
import { OwnRecord, sealRecordOf, wordsOf } from './own-record.ts';
import { Pulse } from './pulse.ts';
import { metaName, nameOf, recordData } from './record-format.ts';
import { RecordReader, type RecordReaderOptions } from './record-reader.ts';
import { Seals } from './seals.ts';
import { mustHaveRoom, type StoreSize } from './store-size.ts';
import { olderThanSeen, Succession } from './succession.ts';

export interface KubernetesStoreOptions extends TimelineStoreOptions, RecordReaderOptions {
  host: HostRecords;
  /** Names this process among those that share the store, also after a restart. */
  replica: string;
  /** A new epoch, for an empty store. */
  newEpoch: () => string;
  /** The store that this replica has used; absent = none. */
  known?: KnownStore | undefined;
  /** Measures silence and waits; default `clock`. */
  hostClock?: Clock;
  /** What the store may hold; absent = what the host takes. Two replicas may each add what is under way at the other. */
  most?: StoreSize;
  /** What the other replicas and `status` read about this one. */
  about?: () => string;
  /** Called once, when the host shows an older state than before. */
  wentBack?: (message: string) => void;
  /** Read at the start; a new store is sealed if there are keys then. Default: none. */
  seals?: () => Promise<Seals>;
  /** Opens it also when some records are sealed and the store is not. */
  mends?: boolean;
}

/** A write without an expectation tries again after each change of another replica. */
const mostAttempts = 20;
/** A host that shows no list for so long is named as the reason why the start failed. */
const firstListMs = 15_000;

export class KubernetesStore extends TimelineStore {
  readonly #options: KubernetesStoreOptions;
  readonly #host: HostRecords;
  readonly #arrivals: Arrivals;
  readonly #pulse: Pulse;
  readonly replicas: LiveReplicas;
  readonly #reader: RecordReader;
  readonly #succession: Succession;
  readonly #meta: MetaRecord;
  readonly #emptying: Emptying;
  readonly #keys = new Map<string, string>();
  /** Of all values. */
  #bytes = 0;
  #reached = 0;
  #side: [string, string][] = [];
  #hasListed = false;
  #hasStraySeals = false;
  #hostTrouble: string | undefined;
  /** Ends only with a restart. */
  #wentBack: string | undefined;

  constructor(options: KubernetesStoreOptions) {
    super(options);
    this.#options = options;
    this.#host = options.host;
    const clock = options.hostClock ?? options.clock;
    this.replicas = new LiveReplicas(clock);
    this.#succession = new Succession(clock);
    const { host, replica, about = () => '', newEpoch } = options;
    this.#meta = new MetaRecord(host, { newEpoch, seals: new Seals([]) });
    const seals = () => this.#meta.seals;
    this.#emptying = new Emptying({
      ...{ host, replica, clock, emptied: (message) => this.#setBack(message) },
      goOn: async () => {
        await this.#meta.makeAgain();
        host.listAgain();
      },
    });
    this.#reader = new RecordReader(options, { seals, succession: this.#succession });
    const own = new OwnRecord({
      ...{ host, replica, about, seals, mayMake: () => !this.#emptying.isHalted },
      wentBack: (message) => this.#setBack(message),
    });
    this.#arrivals = new Arrivals(clock);
    this.#pulse = new Pulse({
      clock,
      write: (beat) => own.write(beat),
      reached: async (version) => {
        await this.#arrivals.wait(() => this.#reached >= version);
        this.#succession.beat(version);
      },
      isDeaf: () => this.#host.followAgain(),
    });
  }

  async start(): Promise<void> {
    this.state = 'opening';
    const { known, seals } = this.#options;
    await this.#meta.open(known, (await seals?.()) ?? new Seals([]));
    this.#host.follow({
      listed: (records, version) => this.#listed(records, version),
      changed: ({ type, record }) => this.#changed(type, record),
      wentBack: (message) => this.#setBack(message),
      trouble: (message) => {
        this.#hostTrouble = message;
      },
    });
    await this.#firstList();
    if (this.#hasStraySeals && this.#options.mends !== true) throw this.#meta.strayed();
    await this.#pulse.beat();
    this.open();
    this.#pulse.start();
  }

  async stop(): Promise<void> {
    if (this.state === 'stopped') return;
    this.close('stopping');
    this.#emptying.stop();
    await this.#pulse.stop();
    await this.#host.stop();
    this.#arrivals.endAll(new StoreFault('STORE_NOT_OPEN', 'Cannot confirm: the store is stopping'));
    this.close('stopped');
  }

  /** Why nothing of this store may be believed; undefined while it knows all but the last seconds. */
  get trouble(): string | undefined {
    if (this.#wentBack !== undefined) return this.#wentBack;
    const silence = this.#pulse.trouble;
    if (silence === undefined) return undefined;
    return `the store in ${this.#host.place} is out of reach: ${this.#hostTrouble ?? silence}`;
  }

  get place(): string {
    return this.#host.place;
  }

  get epoch(): string {
    return this.#meta.now.epoch;
  }

  /** How far this replica may be behind the host. */
  get silentMs(): number {
    return this.#pulse.silentMs;
  }

  /** What a replica says of itself, as the host has it; also before the start. */
  replicaRecord(replica: string): Promise<string | undefined> {
    return wordsOf(this.#host, replica);
  }

  /** Names of records that nobody can read or believe, and why; the others are served. */
  get unusable(): ReadonlyMap<string, string> {
    return this.#reader.aside;
  }

  /** The name in the seals of its records; undefined = a record that somebody makes by hand is believed. */
  get sealedAs(): string | undefined {
    return this.#meta.now.store;
  }

  override async currentRevision(options: { fresh?: boolean } = {}): Promise<number> {
    if (options.fresh === true) await this.#fresh();
    return super.currentRevision();
  }

  override async get(key: string, options: { fresh?: boolean } = {}) {
    this.mustBeOpen('read');
    if (options.fresh !== true) return super.get(key);
    const record = await this.#live(key);
    return { record, revision: Math.max(this.timeline.revision, record?.revision ?? 0) };
  }

  async write(key: string, change: { expect: number | undefined; value: string | undefined }): Promise<WriteResult> {
    this.mustBeOpen('write');
    this.#mustBeWhole();
    // A process that was stopped for a while goes on in the middle of a write whose reason may be over.
    if (this.trouble !== undefined) throw new StoreFault('STORE_HOST_SILENT', `Cannot write: ${this.trouble}`);
    let known = this.timeline.newest(key)?.record;
    for (let attempt = 1; attempt <= mostAttempts; attempt++) {
      // Memory may be behind, so only the host refuses.
      if (!fits(known, change)) known = await this.#live(key);
      if (!fits(known, change)) return { ok: false, current: known, revision: this.timeline.revision };
      mustHaveRoom(this.size, { known, value: change.value }, this.#options.most);
      const written = await this.#send(key, known, change.value);
      if (written !== undefined) return written;
      known = await this.#live(key);
    }
    throw new StoreFault(
      'STORE_OVERLOADED',
      `Cannot write "${key}": others have changed it ${mostAttempts} times in the meantime`,
    );
  }

  async compact(upToRevision: number): Promise<void> {
    this.mustBeOpen('compact');
    this.timeline.compact(upToRevision);
  }

  /** The first page asks the host; later ones go on with its answer. */
  override async sideValues(prefix: string, options: { afterKey?: string; limit?: number } = {}) {
    this.mustBeOpen('read');
    const { afterKey, limit } = options;
    if (afterKey === undefined) this.#side = [...(await this.#host.sideValues())].sort(([a], [b]) => compareKeys(a, b));
    const isNext = (key: string) => afterKey === undefined || compareKeys(key, afterKey) > 0;
    return new Map(this.#side.filter(([key]) => key.startsWith(prefix) && isNext(key)).slice(0, limit));
  }

  async writeSideValues(changes: ReadonlyMap<string, string | undefined>): Promise<void> {
    this.mustBeOpen('write');
    await this.#host.writeSideValues(changes);
  }

  protected trim(): void {
    const due = dueBySize(this.timeline, this.limits) ?? dueByAge(this.timeline, this.limits, this.clock.now());
    if (due !== undefined) this.timeline.compact(due);
  }

  /** Waits until everything that was written before is in memory. */
  async #fresh(): Promise<void> {
    this.mustBeOpen('read');
    this.#mustBeWhole();
    await this.#pulse.beat();
  }

  get size(): StoreSize {
    return { records: this.#keys.size, bytes: this.#bytes };
  }

  /** From here on every revision is above `revision`, and means nothing to who knows an older epoch. For a store that nobody serves. */
  async beginEpoch(epoch: string, revision: number): Promise<void> {
    this.mustBeOpen('renumber');
    await this.#meta.beginEpoch(epoch, Math.max(this.#meta.now.offset, revision + 1 - this.#reached));
    await this.#arrivals.wait(() => this.epoch === epoch);
  }

  /** From here on what is written is sealed, and what has no seal is still believed. For a store that nobody serves. */
  beginSealing(): void {
    this.mustBeOpen('seal');
    this.#meta.beginSealing();
  }

  /** From here on only what is sealed is believed. */
  async endSealing(): Promise<void> {
    const { seals } = this.#meta;
    for (const replica of this.replicas.beats.keys()) await sealRecordOf(this.#host, { replica, seals });
    const store = await this.#meta.endSealing();
    await this.#arrivals.wait(() => this.#meta.now.store === store);
  }

  #setBack(message: string): void {
    if (this.#wentBack === undefined) this.#options.wentBack?.(message);
    this.#wentBack ??= message;
  }

  #mustBeWhole(): void {
    if (this.#wentBack !== undefined) throw new StoreFault('STORE_ROLLED_BACK', this.#wentBack);
  }

  async #firstList(): Promise<void> {
    const clock = this.#options.hostClock ?? this.#options.clock;
    const givenUpMs = clock.now() + firstListMs;
    while (!this.#hasListed) {
      await this.#arrivals.wait(() => this.#hasListed).catch(() => undefined);
      if (this.#hasListed || clock.now() < givenUpMs) continue;
      const why = this.#hostTrouble ?? 'its list of records has not arrived';
      throw new StoreFault('STORE_OPEN_FAILED', `Cannot open the store in ${this.#host.place}: ${why}`);
    }
  }

  /** The record as the host has it now. */
  async #live(key: string): Promise<StoredRecord | undefined> {
    const found = await this.#host.get(nameOf(key));
    if (found === undefined) return undefined;
    const read = this.#reader.read(found, this.#meta.now.offset);
    if (read.kind === 'record' && read.record.key === key) {
      await this.#arrivals.wait(() => this.#reached >= found.version);
      // The stream knows what was there before, and may not have believed it.
      if (!this.#reader.aside.has(found.name)) return read.record;
    }
    const why = this.#reader.aside.get(found.name) ?? (read.kind === 'unusable' ? read.why : 'it is another record');
    throw new StoreFault('STORE_CORRUPT', `Cannot read record "${found.name}" in ${this.#host.place}: ${why}`);
  }

  /** Undefined = somebody else has changed the record. */
  async #send(
    key: string,
    known: StoredRecord | undefined,
    value: string | undefined,
  ): Promise<WriteResult | undefined> {
    const { offset } = this.#meta.now;
    const name = nameOf(key);
    if (value === undefined) return known === undefined ? undefined : this.#sendRemoval(name, known);
    const data = this.#meta.seals.applied(name, recordData(key, value, known, { offset, after: this.#reached }));
    const sent =
      known === undefined
        ? await this.#host.create(name, data)
        : await this.#host.replace(name, data, known.revision - offset);
    if (sent.kind !== 'written') return undefined;
    await this.#arrivals.wait(() => this.#reached >= sent.version);
    const why = this.#reader.aside.get(name);
    if (why !== undefined) throw new StoreFault('STORE_HOST_FAILED', `Cannot confirm record "${name}": ${why}`);
    const revision = offset + sent.version;
    return { ok: true, revision, createRevision: known?.createRevision ?? revision };
  }

  async #sendRemoval(name: string, known: StoredRecord): Promise<WriteResult | undefined> {
    const removal = await this.#host.remove(name, known.revision - this.#meta.now.offset);
    if (removal.kind !== 'removed') return undefined;
    // The host names the version of a removal in its stream alone.
    let revision = 0;
    await this.#arrivals.wait(() => {
      // Somebody may have made the record again before the answer came: the removal is the first version behind the known one.
      let gone = this.timeline.newest(known.key);
      while (gone?.before !== undefined && gone.before.revision > known.revision) gone = gone.before;
      revision = gone?.revision ?? this.timeline.revision;
      return gone === undefined || gone.revision > known.revision;
    });
    return { ok: true, revision, createRevision: known.createRevision };
  }

  /** Changes that were missed cannot be delivered in order, so all watches end and their readers list again. */
  #listed(records: readonly HostRecord[], version: number): void {
    const [before, { offset: former }, missedAfter] = [this.timeline, this.#meta.now, this.#reached];
    const meta = records.find(({ name }) => name === metaName);
    if (meta === undefined && this.#hasListed) {
      this.#emptying.storeDeleted();
      return;
    }
    if (meta !== undefined) this.#meta.take(this.#reader.read(meta, 0));
    this.replicas.clear();
    this.#keys.clear();
    this.#bytes = 0;
    const [atMs, versions] = [this.clock.now(), [] as Version[]];
    for (const found of records) {
      const newest = before.newest(found.data['key'] ?? '');
      const known = this.#hasListed ? { newest, offset: former, missedAfter } : undefined;
      const older = known && olderThanSeen(found, known);
      if (older !== undefined) this.#setBack(older);
      const read = this.#reader.read(found, this.#meta.now.offset, known);
      if (read.kind === 'replica') this.replicas.hear(read);
      this.#reader.note(found.name, read, newest?.record);
      if (read.kind !== 'record') continue;
      const { record } = read;
      this.#keys.set(found.name, record.key);
      this.#bytes += record.value.length;
      versions.push({ key: record.key, revision: record.revision, record, before: undefined, atMs });
    }
    this.#hasStraySeals = !this.#meta.seals.isSealed && records.some(({ data }) => data['seal'] !== undefined);
    this.#reader.keepOnly(new Set(records.map(({ name }) => name)));
    this.restart({ versions, revision: this.#meta.now.offset + version });
    this.#reached = version;
    this.#hasListed = true;
    this.#emptying.settled();
    this.#arrivals.look();
  }

  #changed(type: 'put' | 'delete', found: HostRecord): void {
    // A stream that was opened again may repeat changes.
    if (found.version <= this.#reached) return;
    if (found.name === metaName && type === 'delete') this.#emptying.storeDeleted();
    if (this.#emptying.isHalted) return;
    this.#reached = found.version;
    const { offset } = this.#meta.now;
    const newest = this.timeline.newest(found.data['key'] ?? '');
    const read = type === 'delete' ? undefined : this.#reader.read(found, offset, { newest, offset });
    if (found.name === metaName && read !== undefined && this.#meta.isNews(read)) this.#host.listAgain();
    if (read?.kind === 'replica') this.replicas.hear(read);
    const key = read?.kind === 'record' ? read.record.key : this.#keys.get(found.name);
    this.#reader.note(found.name, read, key === undefined ? undefined : this.timeline.newest(key)?.record);
    const record = read?.kind === 'record' ? read.record : undefined;
    const revision = offset + found.version;
    if (key === undefined || (record === undefined && this.timeline.newest(key)?.record === undefined))
      this.timeline.reach(revision);
    else this.#apply(found.name, { key, revision, record });
    this.#arrivals.look();
  }

  /** A record that nobody can read any more counts as deleted: it must not let anybody in. */
  #apply(name: string, { key, revision, record }: Pick<Version, 'key' | 'revision' | 'record'>): void {
    if (record === undefined) this.#keys.delete(name);
    else this.#keys.set(name, key);
    const before = this.timeline.newest(key);
    this.#bytes += (record?.value.length ?? 0) - (before?.record?.value.length ?? 0);
    const version: Version = { key, revision, record, before, atMs: this.clock.now() };
    this.timeline.apply(version);
    this.hub.publish(eventOf(version));
    this.trim();
  }
}
