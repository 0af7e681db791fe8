// Keeps the host cluster in step with the virtual cluster: listens to the windows, queues the keys that changed, and runs one
// pass for each. In: windows onto both clusters, two writers and the rules. Out: writes, events, metrics and the state behind
// `hostward status`. It must never know HTTP, a file, or how a window follows its cluster.
import type { Timer } from '../../clock.ts';
import type { Key } from '../../object/meta/object.ts';
import { WorkQueue } from '../../queue/work-queue.ts';
import type { ReferencePorts } from '../references/count/joint-ports.ts';
import type { Companion } from '../world/companion.ts';
import { Contest } from '../world/contest.ts';
import { Ledger } from '../world/ledger.ts';
import { MassDelete } from '../world/mass-delete.ts';
import { OwnerDoubt } from '../world/owner-doubt.ts';
import { Proven } from '../world/proven.ts';
import { failedByServer } from '../world/server-fault.ts';
import type { Circumstances } from '../world/sources.ts';
import { World } from '../world/world.ts';
import { WriteLog } from '../world/write-log.ts';
import { companionOf, wakeAcross } from './companion-of.ts';
import { listWrites } from './dry-run.ts';
import { createEventRecorder, type EventNote, type EventRecorder } from './event-recorder.ts';
import { createSyncMetrics, type SyncMetrics } from './metrics.ts';
import { OwnerFollower, waitsForOwner } from './owner-follower.ts';
import { type ReconcilePorts, reconcile } from './reconcile.ts';
import { createReconcilePorts } from './reconcile-ports.ts';
import { type RecordOutcomeOptions, recordOutcome } from './record-outcome.ts';
import { createReferencePorts } from './reference-ports.ts';
import type { SyncRules, SyncWorld } from './rules.ts';
import type { SyncOptions } from './sync-options.ts';
import { allWindows, WindowListener } from './window-listener.ts';

/** Keys processed at once; the writer limits the number of requests by itself. */
const concurrency = 48;
/** Pause between two looks at refused and waiting objects: some changes cause no event. */
const auditMs = 10 * 60_000;

export class Sync {
  readonly world: SyncWorld;
  readonly ledger = new Ledger();
  readonly contest: Contest;
  readonly massDelete: MassDelete;
  readonly proven: Proven;
  readonly metrics: SyncMetrics;
  readonly queue: WorkQueue;
  readonly options: SyncOptions;
  readonly #events: EventRecorder;
  readonly #ports: ReconcilePorts;
  readonly #referencePorts: ReferencePorts;
  readonly #recordOptions: RecordOutcomeOptions;
  readonly #writes: WriteLog;
  readonly #ownerDoubt: OwnerDoubt;
  readonly #owner: OwnerFollower;
  readonly #ready = Promise.withResolvers<void>();
  #phase: 'new' | 'syncing' | 'running' | 'stopped' = 'new';
  readonly #listener: WindowListener;
  #forgetCompanion: () => void = () => {};
  #audit: Timer | undefined;
  #generation = 0;

  constructor(options: SyncOptions) {
    const { clock, random, log } = options;
    this.options = options;
    this.world = new World(options.windows, options.rules);
    if (options.awaitsOther) this.world.names.other = 'awaited';
    this.contest = new Contest(clock);
    this.metrics = createSyncMetrics(options.metrics, options.rules.translation.kind.kind);
    this.queue = new WorkQueue({
      name: options.rules.translation.kind.resource.resource,
      clock,
      random,
      log,
      metrics: options.metrics,
      // A namespace with many changes must not delay other namespaces.
      laneOf: (key) => key.slice(0, key.indexOf('/')),
    });
    this.#events = createEventRecorder({
      writer: options.virtualWriter,
      kind: options.rules.translation.kind,
      clock,
      log,
      onOutcome: (outcome) => this.metrics.events.inc({ outcome }),
    });
    this.#writes = new WriteLog({ log, clock });
    const shared = {
      ledger: this.ledger,
      contest: this.contest,
      metrics: this.metrics,
      clock,
      log,
      generation: () => this.#generation,
      enqueue: (key: Key) => this.enqueue(key),
      tell: (note: EventNote) => this.#tell(note),
      writes: this.#writes,
      doubtOwner: () => this.#ownerDoubt.raise(),
    };
    const { hostWriter } = options;
    this.#owner = new OwnerFollower({
      ...shared,
      world: this.world,
      queue: this.queue,
      references: options.references,
    });
    this.#ownerDoubt = new OwnerDoubt({ world: this.world, hostWriter, clock, settled: () => this.#owner.settled() });
    this.proven = new Proven({ ...shared, world: this.world });
    this.massDelete = new MassDelete({ ...options, world: this.world, enqueue: shared.enqueue });
    const { world, massDelete, queue } = this;
    const aside = <T>(key: Key, wait: Promise<T>) => queue.aside(key, wait);
    this.#ports = createReconcilePorts({ ...options, ...shared, world, guard: massDelete.guard, news: queue, aside });
    this.#referencePorts = createReferencePorts({ ...options, ...shared, world, guard: massDelete.guard });
    this.#listener = new WindowListener({
      ...shared,
      world,
      massDelete,
      isLeader: options.isLeader,
      isWriting: (key) => this.#ports.storedAsRequested.isWriting(key),
      ownerChanged: () => this.#owner.changed(),
      hostProven: () => void this.proven.sweep(shared.enqueue),
    });
    this.#recordOptions = {
      ...shared,
      queue: this.queue,
      isHostUnseen: (key) => this.world.isHostUnseen(key),
      rivalsFor: (facts) => this.world.rivalsFor(facts),
      forgetEvents: (key) => this.#events.forget(key),
    };
  }

  get isReady(): boolean {
    return this.#phase === 'running';
  }

  /** Resolves when the first lists are in and work has begun. */
  async start(): Promise<void> {
    const windows = allWindows(this.world.windows);
    this.#phase = 'syncing';
    this.#listener.listen();
    for (const window of windows) window.start();
    const synced = windows.map((window) => window.whenSynced());
    // References must be resolved before a name is written into a host copy.
    await Promise.all([...synced, this.options.references?.start(this.#referencePorts)]);
    if (this.#phase !== 'syncing') return;
    await this.massDelete.judgeFirstLists();
    if (this.#phase !== 'syncing') return;
    this.#owner.start();
    this.#phase = 'running';
    this.#ready.resolve();
    this.enqueueAll();
    this.queue.work(concurrency, (key) => this.#handle(key));
    this.options.references?.work();
    this.#scheduleAudit();
    const { windows: seen, rules } = this.world;
    const counts = { kind: rules.translation.kind.kind, virtual: seen.virtual.size, host: seen.host.size };
    this.options.log.info({ component: 'sync', ...counts }, 'first lists are in');
  }

  async stop(withinMs: number): Promise<void> {
    this.#phase = 'stopped';
    this.#owner.stop();
    this.#audit?.cancel();
    this.proven.stop();
    this.massDelete.stop();
    this.#listener.stop();
    this.#forgetCompanion();
    await Promise.all([this.queue.stop(withinMs), this.options.references?.stop(withinMs), this.#ownerDoubt.stop()]);
    this.#writes.flush();
    await Promise.all(allWindows(this.world.windows).map((window) => window.stop()));
  }

  /** Looks at every object again under the new rules. */
  setRules(rules: SyncRules): void {
    this.#generation++;
    this.world.setRules(rules);
    if (this.isReady) this.enqueueAll();
  }

  /** Also called when this process becomes the leader. */
  enqueueAll(): void {
    const { virtual } = this.world.windows;
    this.options.references?.recount(virtual.keys());
    // The size is an estimate: copies without a virtual object are few, and are counted when they are found.
    this.queue.feed('all', this.#allKeys(this.options.clock.now()), virtual.size);
  }

  /** Called when an API server is well again: back-off has grown to a minute, and addresses must not stay wrong that long. */
  hurry(): void {
    if (!this.isReady) return;
    this.queue.hurry((key) => failedByServer(this.ledger.entry(key)?.outcome));
    this.options.references?.hurry();
  }

  /** Keys of both sides, because a copy without a virtual object is found only through the host. */
  *#allKeys(sinceMs: number): Generator<Key | undefined> {
    const { virtual, host } = this.world.windows;
    for (const key of virtual.keys()) {
      this.#noteWaiting(key, sinceMs);
      yield key;
    }
    for (const hostKey of host.keys()) {
      for (const key of this.world.noteHost(hostKey)) {
        if (virtual.has(key)) continue;
        this.#noteWaiting(key, sinceMs);
        yield key;
      }
      yield undefined;
    }
    this.options.references?.recounted();
  }

  /** Called before or after the start, when the sync of the kind exists that objects of this kind may be made from. */
  accompany(companion: Companion): void {
    if (this.world.candidates.companion !== undefined || this.#phase === 'stopped') return;
    this.world.candidates.companion = companion;
    this.#forgetCompanion = companion.subscribe((key) => {
      for (const one of this.world.objectsOfService(key)) wakeAcross(this, one);
    });
    void companion.whenReady.then(() => this.#wakePending());
  }

  /** Objects of the companion that do not exist are known only now, and none of them has an outcome that wakes others. */
  #wakePending(): void {
    for (const [key, { outcome }] of this.ledger.entries())
      if (outcome.kind === 'waiting' && outcome.reason === 'SourcePending') this.enqueue(key);
  }

  /** The awaited other sync does not come. */
  goOnAlone(): void {
    if (this.world.names.other === 'awaited') this.world.names.other = undefined;
  }

  /** Both syncs decide together which of several Services gets a host name. */
  shareNames(other: Sync): void {
    for (const [one, beside] of [
      [this, other],
      [other, this],
    ] as const) {
      const enqueue = (key: Key): void => wakeAcross(beside, key);
      const isReady = (): boolean => beside.isReady;
      const isWritten = (): boolean => beside.options.isLeader() || beside.options.isDryRun;
      one.world.names.other = { names: beside.world.names, isReady, isWritten, enqueue };
    }
  }

  /** This sync as the companion of another one. */
  asCompanion(): Companion {
    return companionOf(this);
  }

  /** Resolves when the first lists are in. */
  get whenReady(): Promise<void> {
    return this.#ready.promise;
  }

  /** Facts for a decision that do not come from the windows; also for status. */
  circumstances(key: Key): Circumstances {
    return this.#ports.circumstances(key);
  }

  /** Ignored before the first lists are in, because every key is enqueued after them. */
  enqueue(key: Key): void {
    if (this.#phase === 'syncing') return;
    this.#noteWaiting(key, this.options.clock.now());
    this.queue.add(key);
  }

  #noteWaiting(key: Key, sinceMs: number): void {
    this.ledger.noteDirty(key, sinceMs);
    this.options.references?.expect(key);
  }

  async #handle(key: Key): Promise<void> {
    // A standby only follows the clusters. When it becomes the leader, it looks at every object.
    if (!this.options.isLeader() && !this.options.isDryRun) return;
    try {
      const ended = await reconcile(key, this.#ports);
      const { ledger, world } = this;
      const told = this.options.isDryRun
        ? await listWrites(key, ended, { world, ledger, patching: this.#ports.patching })
        : ended;
      recordOutcome(key, told, this.#recordOptions);
      // The owner may have come during the pass, before this key was recorded as waiting for it.
      if (waitsForOwner(ended.outcome) && this.world.ownerState().kind === 'present') this.enqueue(key);
    } catch (error) {
      this.metrics.bugs.inc();
      this.options.log.error({ component: 'sync', key, err: error }, 'unexpected error while syncing an object');
      this.ledger.set(key, { kind: 'retry', message: 'unexpected error, see the log' }, this.options.clock.now());
      this.queue.retry(key);
    }
  }

  #tell(note: EventNote): void {
    if (!this.options.isDryRun) this.#events.record(note);
  }

  #scheduleAudit(): void {
    this.#audit = this.options.clock.after(auditMs, () => {
      this.queue.feed('audit', this.ledger.keys(), this.ledger.size);
      this.#scheduleAudit();
    });
  }
}
