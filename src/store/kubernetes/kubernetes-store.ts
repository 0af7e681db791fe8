// Long because a change is followed here the whole way, from the write to the host to its return.
// A store whose log is a Kubernetes API server: every record is one record of the host, the host decides each write by its version,
// and its stream of changes numbers them. In: the host as a port, so that this file knows no HTTP. Out: the store, and why it must not
// be believed at the moment. Reads come from memory; a fresh one waits until its own beat has come back through the stream.
import { StoreFault } from '../errors.ts';
import { dueByAge, dueBySize } from '../history-limits.ts';
import type { WriteResult } from '../store.ts';
import { eventOf, fits, type Version } from '../timeline.ts';
import { TimelineStore } from '../timeline-store.ts';
import { Arrivals } from './arrivals.ts';
import { Emptying } from './emptying.ts';
import { Hearing } from './hearing.ts';
import { allIn, Intake, type StoreSize, type Taken } from './intake.ts';
import { type LiveReplicas, othersAnswerMs } from './live-replicas.ts';
import { type EpochOptions, MetaRecord } from './meta-record.ts';
import { OpenQuestions } from './open-questions.ts';
import { OwnRecord, sealRecordOf } from './own-record.ts';
import { Pulse, silenceMs } from './pulse.ts';
import { mostAttempts, RecordWriter, Room } from './record-writer.ts';
import type { HostRecord, HostRecords } from './records/host-records.ts';
import { metaName, type ReadReplica, type Sight } from './records/record-format.ts';
import type { KubernetesStoreOptions } from './store-options.ts';
import { seenSetBack } from './trust/last-seen.ts';
import type { Judge } from './trust/record-reader.ts';
import { Seals } from './trust/seals.ts';
import { firstOlderThanSeen } from './trust/succession.ts';

/** A host that shows no list for so long is named as the reason why the start failed. */
const firstListMs = 15_000;
/** One that began just after its host was set back hears of it by then; later it would see it by its own record. */
const youngBeats = 60;

export class KubernetesStore extends TimelineStore {
  readonly #options: KubernetesStoreOptions;
  readonly #host: HostRecords;
  readonly #room: Room;
  readonly #arrivals: Arrivals;
  readonly #questions: OpenQuestions;
  readonly #pulse: Pulse;
  readonly #hearing: Hearing;
  readonly #intake: Intake;
  readonly #meta: MetaRecord;
  readonly #emptying: Emptying;
  readonly #writer: RecordWriter;
  readonly #own: OwnRecord;
  #reached = 0;
  #hasListed = false;
  #hasStraySeals = false;
  /** Why it cannot be known which of the records are the newest. */
  #doubt: string | undefined;
  #hostTrouble: string | undefined;
  /** Ends only with a restart. */
  #wentBack: string | undefined;

  constructor(options: KubernetesStoreOptions) {
    super(options);
    this.#options = options;
    this.#host = options.host;
    this.#room = new Room(options.room ?? {});
    const clock = options.hostClock ?? options.clock;
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
    this.#intake = new Intake({ ...options, clock, seals });
    this.#own = new OwnRecord({
      ...{
        host,
        replica,
        about,
        seals,
        sight: () => this.#intake.sight(this, { reached: this.#reached, isNew: this.#pulse.count <= 1 }),
        lastBeat: () => this.replicas.beats.get(replica) ?? 0,
        mayMake: () => !this.#emptying.isHalted,
      },
      wentBack: (message) => this.#setBack(message),
    });
    this.#arrivals = new Arrivals(clock, () => this.#hostTrouble);
    this.#questions = new OpenQuestions({ clock, replica, arrivals: this.#arrivals, intake: this.#intake });
    this.#writer = new RecordWriter({
      ...{ host, meta: this.#meta, intake: this.#intake, arrivals: this.#arrivals, questions: this.#questions },
      ...{ reached: () => this.#reached, timeline: () => this.timeline },
      beat: () => this.#pulse.beat(),
    });
    this.#pulse = new Pulse({
      clock,
      write: (beat) => this.#own.write(beat),
      reached: async (version) => {
        await this.#arrivals.wait(() => this.#reached >= version);
        this.#intake.succession.beat(version);
      },
      isDeaf: () => this.#host.followAgain(),
    });
    const isOpen = () => this.state === 'open';
    this.#hearing = new Hearing({ pulse: this.#pulse, place: () => this.place, isOpen });
  }

  async start(): Promise<void> {
    this.state = 'opening';
    const { known, seals, recovers = false, hasSeenLater } = this.#options;
    await this.#meta.open(known, (await seals?.()) ?? new Seals([]), { recovers });
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
    if (this.#doubt !== undefined) throw this.#meta.notKnown(this.#doubt);
    // Before the first beat: the heartbeats that are there say when the store was copied.
    if (await hasSeenLater?.({ epoch: this.epoch, list: async (prefix) => this.timeline.list(prefix, {}) }))
      throw this.#meta.notKnown('the cluster was set back');
    const listed = this.#reached;
    await this.#pulse.beat();
    await this.#hearOthers(listed);
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
    const doubt = this.#wentBack ?? this.#meta.trouble;
    if (doubt !== undefined) return doubt;
    const silence = this.#pulse.trouble;
    if (silence === undefined) return undefined;
    return `the store in ${this.#host.place} is out of reach: ${this.#hostTrouble ?? silence}`;
  }

  /** Only a command brings it back. */
  get wasSetBack(): boolean {
    return this.#wentBack !== undefined;
  }

  get place(): string {
    return this.#host.place;
  }

  get epoch(): string {
    return this.#meta.now.epoch;
  }

  get formerEpochs(): readonly string[] {
    return this.#meta.now.earlier;
  }

  /** How far this replica had read when it said so last. */
  get told(): number {
    return this.#own.told;
  }

  /** The longest time for which this replica may be behind the host. */
  get silentMs(): number {
    return this.#pulse.silentMs;
  }

  /** Names of records that nobody can read or believe, and why; the others are served. */
  get unusable(): ReadonlyMap<string, string> {
    return this.#intake.aside;
  }

  get replicas(): LiveReplicas {
    return this.#intake.replicas;
  }

  /** The name in the seals of its records; undefined = a record that somebody makes by hand is believed. */
  get sealedAs(): string | undefined {
    return this.#meta.now.store;
  }

  override async currentRevision(options: { fresh?: boolean } = {}): Promise<number> {
    if (options.fresh === true) {
      this.mustBeOpen('read');
      this.#mustBeWhole();
      // Everything that was written before is in memory when it has come back.
      await this.#hearing.read(() => this.#pulse.beat());
    }
    return super.currentRevision();
  }

  override async get(key: string, options: { fresh?: boolean } = {}) {
    this.mustBeOpen('read');
    if (options.fresh !== true) return this.#questions.before(() => super.get(key));
    return this.#hearing.read(() => this.#writer.live(key));
  }

  override list(...asked: Parameters<TimelineStore['list']>) {
    return this.#questions.before(() => super.list(...asked));
  }

  override read(...asked: Parameters<TimelineStore['read']>) {
    return this.#questions.before(() => super.read(...asked));
  }

  async write(key: string, change: { expect: number | undefined; value: string | undefined }): Promise<WriteResult> {
    this.mustBeOpen('write');
    this.#mustBeWhole();
    return this.#hearing.write(() => this.#write(key, change));
  }

  async #write(key: string, change: { expect: number | undefined; value: string | undefined }): Promise<WriteResult> {
    let known = this.timeline.newest(key)?.record;
    for (let attempt = 1; attempt <= mostAttempts; attempt++) {
      // Memory may be behind, so only the host refuses.
      if (!fits(known, change)) known = (await this.#writer.live(key)).record;
      if (!fits(known, change)) return { ok: false, current: known, revision: this.timeline.revision };
      const giveBack = this.#room.take(this.size, { key, known, value: change.value });
      const written = await this.#writer.send(key, known, change.value).finally(giveBack);
      if (written !== undefined) return written;
      known = (await this.#writer.live(key, { letsGo: true })).record;
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
  override async sideValues(...asked: Parameters<TimelineStore['sideValues']>) {
    this.mustBeOpen('read');
    if (asked[1]?.afterKey === undefined) this.side = await this.#hearing.read(() => this.#host.sideValues());
    return super.sideValues(...asked);
  }

  async writeSideValues(changes: ReadonlyMap<string, string | undefined>): Promise<void> {
    this.mustBeOpen('write');
    await this.#hearing.write(() => this.#host.writeSideValues(changes));
  }

  protected trim(): void {
    const due = dueBySize(this.timeline, this.limits) ?? dueByAge(this.timeline, this.limits, this.clock.now());
    if (due !== undefined) this.timeline.compact(due);
  }

  get size(): StoreSize {
    return this.#intake.size;
  }

  /** When the last replica wrote before the start: what was revoked later may be missing in a store that was set back. */
  get writtenUpTo(): number {
    return this.#meta.now.recoversFrom ?? this.#meta.now.offset + this.#intake.newest;
  }

  /** From here on every revision is above `revision`, and means nothing to who knows an older epoch. For a store that nobody serves. */
  async beginEpoch(epoch: string, revision: number, options: EpochOptions = {}): Promise<void> {
    this.mustBeOpen('renumber');
    await this.#meta.beginEpoch(epoch, Math.max(this.#meta.now.offset, revision + 1 - this.#reached), options);
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
    if (this.#wentBack !== undefined) return;
    this.#wentBack = message;
    this.#options.wentBack?.(message);
    // Others that begin now read it.
    void this.#pulse.beat().catch(() => undefined);
  }

  #mustBeWhole(): void {
    const why = this.#wentBack ?? this.#meta.trouble;
    if (why !== undefined) throw new StoreFault('STORE_ROLLED_BACK', why);
  }

  async #firstList(): Promise<void> {
    if (await this.#arrivals.within(firstListMs, () => this.#hasListed)) return;
    const why = this.#hostTrouble ?? 'its list of records has not arrived';
    throw new StoreFault('STORE_OPEN_FAILED', `Cannot open the store in ${this.#host.place}: ${why}`);
  }

  /** What was deleted or put back since their last beats is in their next ones, and is not served here until then. */
  async #hearOthers(listed: number): Promise<void> {
    await this.#arrivals.within(othersAnswerMs, () => this.replicas.haveRead(listed));
    // A replica that has beaten nothing for longer serves nobody, so nobody is left who could know.
    if (!(await this.#arrivals.within(silenceMs, () => this.#intake.guesses.size === 0))) await this.#pulse.beat();
    if (!this.#intake.hasDisowned) return;
    const [{ offset }, at] = [this.#meta.now, this.#reached];
    this.restart({ found: this.#intake.giveUpAll(at, { offset, timeline: this.timeline }), revision: offset + at });
  }

  /** Changes that were missed cannot be delivered in order, so all watches end and their readers list again. */
  #listed(records: readonly HostRecord[], version: number): void {
    const meta = records.find(({ name }) => name === metaName);
    if (meta === undefined && this.#hasListed) {
      this.#emptying.storeDeleted();
      return;
    }
    const afterLoss = this.#hasListed ? this.#judgeAfterLoss(records) : undefined;
    if (meta !== undefined) this.#meta.take(this.#intake.read(meta, 0));
    const { judge, doubt } = afterLoss ?? this.#intake.judgeAtStart(records, { ...this.#options, epoch: this.epoch });
    const { offset } = this.#meta.now;
    const found = this.#intake.takeAll(records, { offset, before: this.timeline, judge });
    if (!this.#hasListed) this.#doubt = doubt ?? this.#intake.doubt;
    this.#hasStraySeals = !this.#meta.seals.isSealed && records.some(({ data }) => data['seal'] !== undefined);
    this.restart({ found, revision: offset + version });
    this.#reached = version;
    this.#hasListed = true;
    this.#emptying.settled();
    this.#askOthers();
    this.#arrivals.look();
  }

  #judgeAfterLoss(records: readonly HostRecord[]): { judge: Judge; doubt?: undefined } {
    const { offset } = this.#meta.now;
    const memory = { before: this.timeline, offset, missedAfter: this.#reached, putBack: this.#intake.putBack };
    const older = firstOlderThanSeen(records, memory);
    if (older !== undefined) this.#setBack(older);
    return { judge: this.#intake.judgeAfterLoss(memory) };
  }

  #changed(type: 'put' | 'delete', found: HostRecord): void {
    // A stream that was opened again may repeat changes.
    if (found.version <= this.#reached) return;
    if (found.name === metaName && type === 'delete') this.#emptying.storeDeleted();
    if (this.#emptying.isHalted) return;
    this.#reached = found.version;
    const [{ offset }, timeline] = [this.#meta.now, this.timeline];
    const read = type === 'delete' ? undefined : this.#intake.readNext(found, offset, timeline);
    if (read?.kind === 'replica') this.#heardOf(read);
    if (found.name === metaName && read !== undefined && this.#meta.hear(read)) this.#host.listAgain();
    const taken = this.#intake.take(found, read, { offset, timeline });
    if (taken === undefined) timeline.reach(offset + found.version);
    else {
      const version: Version = { ...taken, before: timeline.newest(taken.key), atMs: this.clock.now() };
      timeline.apply(version);
      this.hub.publish(eventOf(version));
    }
    if (read?.kind === 'unusable' && read.guess !== undefined) this.#askOthers();
    if (read?.kind === 'replica') this.#believe(this.#intake.believed(this.#sightOfOther(read)));
    this.#arrivals.look();
    if (taken !== undefined) this.trim(); // Behind the look: a removal that is waited for must be seen first.
  }

  /** Undefined of an own beat, and of one in another epoch. */
  #sightOfOther({ replica, sight }: ReadReplica): Sight | undefined {
    return replica !== this.#options.replica && sight?.epoch === this.epoch ? sight : undefined;
  }

  /** Whoever believes what could not be judged here says so in its next beat, and beats at once when it hears this one. */
  #askOthers(): void {
    if (this.#intake.guesses.size === 0 || this.state !== 'open') return;
    this.#questions.asked();
    void this.#pulse.beat().catch(() => undefined);
  }

  /** No watch has heard of these records when they were written, so all watches end and their readers list again. */
  #believe(taken: readonly Taken[]): void {
    if (taken.length === 0) return;
    this.restart({ found: [...allIn(this.timeline), ...taken], revision: this.timeline.revision });
    this.#arrivals.look();
  }

  #heardOf({ replica, sight }: ReadReplica): void {
    const ours = this.#sightOfOther({ replica, sight });
    if (ours !== undefined) this.#intake.heed(ours);
    if (ours?.isSetBack && this.#pulse.count < youngBeats) this.#setBack(seenSetBack);
    // A replica that starts asks whether anybody is here: the sooner it hears of us, the sooner it serves.
    const isUnsure = sight?.guesses.some((place) => !this.#intake.isGuess(place)) === true;
    const asks =
      replica !== this.#options.replica && (sight?.isNew === true || isUnsure || !this.replicas.has(replica));
    if ((asks || this.#intake.hasDisowned) && this.state === 'open') void this.#pulse.beat().catch(() => undefined);
  }
}
