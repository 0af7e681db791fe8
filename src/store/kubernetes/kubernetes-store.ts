// Long because a change is followed here the whole way, from the write to the host to its return.
// A store whose log is a Kubernetes API server: every record is one record of the host, the host decides each write by its version,
// and its stream of changes numbers them. In: the host as a port, so that this file knows no HTTP. Out: the store, and why it must not
// be believed at the moment. Reads come from memory; a fresh one waits until its own beat has come back through the stream.
import type { Clock } from '../../clock.ts';
import { StoreFault } from '../errors.ts';
import { dueByAge, dueBySize } from '../history-limits.ts';
import { compareKeys } from '../key-order.ts';
import type { StoredRecord, WriteResult } from '../store.ts';
import { eventOf, type Version } from '../timeline.ts';
import { TimelineStore, type TimelineStoreOptions } from '../timeline-store.ts';
import { Arrivals } from './arrivals.ts';
import type { HostRecord, HostRecords } from './host-records.ts';
import { type LiveReplica, LiveReplicas } from './live-replicas.ts';
import { OwnRecord } from './own-record.ts';
import { Pulse } from './pulse.ts';
import { metaData, metaName, nameOf, readRecord, recordData, replicaName, type StoreMeta } from './record-format.ts';
import { RecordReader, type RecordReaderOptions } from './record-reader.ts';
import { openMeta } from './store-meta.ts';

export interface KubernetesStoreOptions extends TimelineStoreOptions, RecordReaderOptions {
  host: HostRecords;
  /** Names this process among those that share the store, also after a restart. */
  replica: string;
  /** A new epoch, for an empty store. */
  newEpoch: () => string;
  /** The epoch in which this replica last used the store. */
  knownEpoch?: string | undefined;
  /** Measures silence and waits; default `clock`. */
  hostClock?: Clock;
  /** What the store may hold; absent = what the host takes. Two replicas may each add what is under way at the other. */
  most?: StoreSize;
  /** What the other replicas and `status` read about this one. */
  about?: () => string;
  /** Heard once, when the host shows an older state than before. */
  wentBack?: (message: string) => void;
}

/** A write without an expectation tries again after each change of another replica. */
const mostAttempts = 20;
/** A replica that was away for more restores and migrations is told that it belongs to another store. */
const mostEpochs = 50;
/** A host that shows no list for so long is named as the reason why the start failed. */
const firstListMs = 15_000;

export interface StoreSize {
  records: number;
  /** Of values. */
  bytes: number;
}

export class KubernetesStore extends TimelineStore {
  readonly #options: KubernetesStoreOptions;
  readonly #host: HostRecords;
  readonly #arrivals: Arrivals;
  readonly #pulse: Pulse;
  readonly #replicas: LiveReplicas;
  readonly #reader: RecordReader;
  readonly #keys = new Map<string, string>();
  /** Of all values. */
  #bytes = 0;
  #meta: StoreMeta = { offset: 0, epoch: '', earlier: [] };
  #reached = 0;
  #side: [string, string][] = [];
  #hasListed = false;
  #hostTrouble: string | undefined;
  /** Ends only with a restart. */
  #wentBack: string | undefined;

  constructor(options: KubernetesStoreOptions) {
    super(options);
    this.#options = options;
    this.#host = options.host;
    this.#reader = new RecordReader(options);
    const clock = options.hostClock ?? options.clock;
    const { host, replica, about = () => '' } = options;
    const own = new OwnRecord({ host, replica, about, wentBack: (message) => this.#setBack(message) });
    this.#arrivals = new Arrivals(clock);
    this.#replicas = new LiveReplicas(clock);
    this.#pulse = new Pulse({
      clock,
      write: (beat) => own.write(beat),
      reached: (version) => this.#arrivals.wait(() => this.#reached >= version),
      isDeaf: () => this.#host.followAgain(),
    });
  }

  async start(): Promise<void> {
    this.state = 'opening';
    this.#meta = await openMeta(this.#host, { newEpoch: this.#options.newEpoch, known: this.#options.knownEpoch });
    this.#host.follow({
      listed: (records, version) => this.#listed(records, version),
      changed: ({ type, record }) => this.#changed(type, record),
      wentBack: (message) => this.#setBack(message),
      trouble: (message) => {
        this.#hostTrouble = message;
      },
    });
    await this.#firstList();
    await this.#pulse.beat();
    this.open();
    this.#pulse.start();
  }

  async stop(): Promise<void> {
    if (this.state === 'stopped') return;
    this.close('stopping');
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
    return this.#meta.epoch;
  }

  /** How far this replica may be behind the host. */
  get silentMs(): number {
    return this.#pulse.silentMs;
  }

  /** Names and words of the replicas that were heard in the last seconds, this one too. */
  get liveReplicas(): LiveReplica[] {
    return this.#replicas.live;
  }

  /** What a replica says of itself, as the host has it; also before the start. */
  async replicaRecord(replica: string): Promise<string | undefined> {
    const found = await this.#host.get(replicaName(replica));
    const read = found && readRecord(found, 0);
    return read?.kind === 'replica' ? read.about : undefined;
  }

  /** Names of records that nobody can read; the others are served. */
  get unusable(): readonly string[] {
    return this.#reader.aside;
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
    this.#mustBeHeard();
    let known = this.timeline.newest(key)?.record;
    for (let attempt = 1; attempt <= mostAttempts; attempt++) {
      // Memory may be behind, so only the host refuses.
      if (!fits(known, change)) known = await this.#live(key);
      if (!fits(known, change)) return this.#refused(known);
      this.#mustHaveRoom(known, change.value);
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

  /** What exists may be changed and must be removable, so only what makes the store larger is refused. */
  #mustHaveRoom(known: StoredRecord | undefined, value: string | undefined): void {
    const { most } = this.#options;
    if (most === undefined || value === undefined) return;
    const { records, bytes } = this.size;
    const adds = value.length - (known?.value.length ?? 0);
    const why = known === undefined && records >= most.records ? `${records} records of ${most.records}` : undefined;
    const tooLong = adds > 0 && bytes + adds > most.bytes ? `${bytes} bytes of ${most.bytes}` : undefined;
    const full = why ?? tooLong;
    if (full !== undefined) throw new StoreFault('STORE_FULL', `the store has ${full}`);
  }

  /** From here on every revision is above `revision`, and means nothing to who knows an older epoch. For a store that nobody serves. */
  async beginEpoch(epoch: string, revision: number): Promise<void> {
    this.mustBeOpen('renumber');
    const { offset, epoch: last, earlier } = this.#meta;
    const above = Math.max(offset, revision + 1 - this.#reached);
    const meta = { offset: above, epoch, earlier: [...earlier, last].slice(-mostEpochs) };
    const written = await this.#host.replace(metaName, metaData(meta), undefined);
    if (written.kind !== 'written')
      throw new StoreFault('STORE_WRITE_FAILED', `Cannot begin an epoch: ${written.kind}`);
    await this.#arrivals.wait(() => this.#meta.epoch === epoch);
  }

  #setBack(message: string): void {
    if (this.#wentBack === undefined) this.#options.wentBack?.(message);
    this.#wentBack ??= message;
  }

  #mustBeWhole(): void {
    if (this.#wentBack !== undefined) throw new StoreFault('STORE_ROLLED_BACK', this.#wentBack);
  }

  /** A process that was stopped for a while goes on in the middle of a write whose reason may be over. */
  #mustBeHeard(): void {
    const { trouble } = this;
    if (trouble !== undefined) throw new StoreFault('STORE_HOST_SILENT', `Cannot write: ${trouble}`);
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
    const read = this.#reader.read(found, this.#meta.offset);
    if (read.kind === 'record' && read.record.key === key) {
      await this.#arrivals.wait(() => this.#reached >= found.version);
      return read.record;
    }
    const why = read.kind === 'unusable' ? read.why : 'it is another record';
    throw new StoreFault('STORE_CORRUPT', `Cannot read record "${found.name}" in ${this.#host.place}: ${why}`);
  }

  #refused(current: StoredRecord | undefined): WriteResult {
    return { ok: false, current, revision: this.timeline.revision };
  }

  /** Undefined = somebody else has changed the record. */
  async #send(
    key: string,
    known: StoredRecord | undefined,
    value: string | undefined,
  ): Promise<WriteResult | undefined> {
    const { offset } = this.#meta;
    const name = nameOf(key);
    if (value === undefined) return known === undefined ? undefined : this.#sendRemoval(name, known);
    const data = recordData(key, value, known, offset);
    const sent =
      known === undefined
        ? await this.#host.create(name, data)
        : await this.#host.replace(name, data, known.revision - offset);
    if (sent.kind !== 'written') return undefined;
    await this.#arrivals.wait(() => this.#reached >= sent.version);
    const revision = offset + sent.version;
    return { ok: true, revision, createRevision: known?.createRevision ?? revision };
  }

  async #sendRemoval(name: string, known: StoredRecord): Promise<WriteResult | undefined> {
    const removal = await this.#host.remove(name, known.revision - this.#meta.offset);
    if (removal.kind !== 'removed') return undefined;
    // The host names the version of a removal in its stream alone.
    let revision = 0;
    await this.#arrivals.wait(() => {
      // Somebody may have made the record anew before the answer came: the removal is the first version behind the known one.
      let gone = this.timeline.newest(known.key);
      while (gone?.before !== undefined && gone.before.revision > known.revision) gone = gone.before;
      revision = gone?.revision ?? this.timeline.revision;
      return gone === undefined || gone.revision > known.revision;
    });
    return { ok: true, revision, createRevision: known.createRevision };
  }

  /** What was missed cannot be told in order, so all watches end and read anew. */
  #listed(records: readonly HostRecord[], version: number): void {
    const meta = records.find(({ name }) => name === metaName);
    const readMeta = meta === undefined ? undefined : readRecord(meta, 0);
    if (readMeta?.kind === 'meta') this.#meta = readMeta.meta;
    this.#replicas.clear();
    this.#keys.clear();
    this.#bytes = 0;
    const atMs = this.clock.now();
    const versions: Version[] = [];
    for (const found of records) {
      const read = this.#reader.read(found, this.#meta.offset);
      if (read.kind === 'replica') this.#replicas.hear(read);
      this.#reader.note(found.name, read);
      if (read.kind !== 'record') continue;
      const { record } = read;
      this.#keys.set(found.name, record.key);
      this.#bytes += record.value.length;
      versions.push({ key: record.key, revision: record.revision, record, before: undefined, atMs });
    }
    this.#reader.keepOnly(new Set(records.map(({ name }) => name)));
    this.restart({ versions, revision: this.#meta.offset + version });
    this.#reached = version;
    this.#hasListed = true;
    this.#arrivals.look();
  }

  #changed(type: 'put' | 'delete', found: HostRecord): void {
    // A stream that was opened anew may repeat changes.
    if (found.version <= this.#reached) return;
    this.#reached = found.version;
    const read = type === 'delete' ? undefined : this.#reader.read(found, this.#meta.offset);
    if (found.name === metaName) this.#metaChanged(read?.kind === 'meta' ? read.meta : undefined);
    if (read?.kind === 'replica') this.#replicas.hear(read);
    this.#reader.note(found.name, read);
    const key = read?.kind === 'record' ? read.record.key : this.#keys.get(found.name);
    const record = read?.kind === 'record' ? read.record : undefined;
    const revision = this.#meta.offset + found.version;
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

  /** Another offset numbers everything anew. A meta record that somebody has deleted comes back from memory. */
  #metaChanged(meta: StoreMeta | undefined): void {
    if (meta === undefined) void this.#host.create(metaName, metaData(this.#meta)).catch(() => undefined);
    else if (meta.epoch !== this.#meta.epoch || meta.offset !== this.#meta.offset) this.#host.listAgain();
  }
}

function fits(
  known: StoredRecord | undefined,
  { expect, value }: { expect: number | undefined; value: string | undefined },
): boolean {
  if (value === undefined && known === undefined) return false;
  return expect === undefined || expect === (known?.revision ?? 0);
}
