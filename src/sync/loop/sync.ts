// The part of one kind in an engine: listens to the windows of the kind, queues the keys that changed, and runs one pass for each.
// In: windows onto both clusters, two writers and the rules. Out: writes, events, metrics and the state behind `hostward status`.
// It must never know how a window follows its cluster, nor another kind.

import type { Timer } from '../../clock.ts';
import type { Key } from '../../object/meta/object.ts';
import type { QueuePart } from '../../queue/queue-part.ts';
import type { Referrers } from '../references/referrers.ts';
import { Contest } from '../world/contest.ts';
import { MassDelete } from '../world/doubt/mass-delete.ts';
import { OwnerDoubt } from '../world/doubt/owner-doubt.ts';
import type { LedgerPage } from '../world/ledger.ts';
import { Proven } from '../world/proven.ts';
import { failedByServer } from '../world/refused-requests.ts';
import type { Circumstances } from '../world/sources.ts';
import { World } from '../world/world.ts';
import { WriteLog } from '../world/write-log.ts';
import { OwnerFollower } from './owner-follower.ts';
import { listWrites } from './pass/dry-run.ts';
import { createEventRecorder, type EventNote, type EventRecorder } from './pass/event-recorder.ts';
import { createSyncMetrics, type SyncMetrics } from './pass/metrics.ts';
import { reconcile } from './pass/reconcile.ts';
import { SyncPorts } from './pass/reconcile-ports.ts';
import { type RecordOutcomeOptions, recordOutcome } from './pass/record-outcome.ts';
import type { SyncRules, SyncWorld } from './pass/rules.ts';
import { SelfWakes } from './self-wake-brake.ts';
import type { EngineParts, SyncOptions } from './sync-options.ts';
import { allWindows, WindowFollower } from './window-follower.ts';

/** Keys processed at once; the writer limits the number of requests by itself. */
const concurrency = 48;
/** Pause between two looks at refused and waiting objects: some changes cause no event. */
const auditMs = 10 * 60_000;

export class Sync {
  readonly world: SyncWorld;
  readonly ledger: LedgerPage;
  readonly contest: Contest;
  readonly massDelete: MassDelete;
  readonly proven: Proven;
  readonly metrics: SyncMetrics;
  readonly queue: QueuePart;
  readonly options: SyncOptions;
  readonly recent: EngineParts['recent'];
  readonly #events: EventRecorder;
  readonly ports: SyncPorts;
  /** Undefined without references. */
  readonly referrers: Referrers | undefined;
  readonly #recordOptions: RecordOutcomeOptions;
  readonly #writes: WriteLog;
  readonly #ownerDoubt: OwnerDoubt;
  readonly #owner: OwnerFollower;
  readonly namedLike: EngineParts['namedLike'];
  readonly #begun: () => void;
  readonly #selfWakes: SelfWakes;
  #phase: 'new' | 'syncing' | 'running' | 'stopped' = 'new';
  readonly #listener: WindowFollower;
  #audit: Timer | undefined;
  #generation = 0;

  constructor(options: SyncOptions, parts: EngineParts) {
    const { ledger, registry, brake, begun, namedLike, withheldForOthers, recent } = parts;
    const { clock, random, log } = options;
    const { kind } = options.rules.translation;
    this.options = options;
    this.#begun = begun;
    this.namedLike = namedLike;
    this.recent = recent;
    this.referrers = options.references?.of(kind.kind);
    this.ledger = ledger.page(kind.kind);
    this.world = new World(
      { ...options, registry },
      {
        isReady: () => this.isReady,
        isWritten: () => options.isLeader() || options.isDryRun,
        wake: (key) => this.wakeFor(key),
      },
    );
    this.contest = new Contest(clock);
    this.metrics = createSyncMetrics(options.metrics, kind.kind);
    this.queue = options.queue.part({
      name: kind.resource.resource,
      random,
      log,
      metrics: options.metrics,
      // A namespace with many changes must not delay other namespaces.
      laneOf: (key) => key.slice(0, key.indexOf('/')),
    });
    this.#events = createEventRecorder({
      ...{ writer: options.virtualWriter, kind, clock, log, mayWrite: options.isLeader },
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
      recent,
      doubtOwner: () => this.doubtOwner(),
      noteChanges: () => brake.noteChanges(),
    };
    const { world, queue } = this;
    const { references } = options;
    this.#selfWakes = new SelfWakes({ ...shared, brake, kind: kind.kind, queue });
    this.#owner = new OwnerFollower({ ...shared, world, queue, references });
    this.#ownerDoubt = new OwnerDoubt({ ...options, world, settled: () => this.#owner.settled() });
    this.proven = new Proven({ ...shared, world });
    const others = () => withheldForOthers(kind.kind);
    this.massDelete = new MassDelete({ ...options, world, others, enqueue: shared.enqueue });
    const { massDelete } = this;
    const { guard } = massDelete;
    this.ports = new SyncPorts({ ...options, ...shared, referrers: this.referrers, world, queue, guard });
    this.#listener = new WindowFollower({
      ...shared,
      world,
      massDelete,
      isLeader: options.isLeader,
      isWriting: (key) => this.ports.storedAsRequested.isWriting(key),
      ownerChanged: () => this.#owner.changed(),
      hostProven: () => void this.proven.sweep(shared.enqueue),
    });
    this.#recordOptions = {
      ...shared,
      world,
      queue,
      enqueue: (key) => this.#selfWakes.wake(key),
      forgetEvents: (key) => this.#events.forget(key),
    };
  }

  /** The kind of its objects. */
  get kind(): string {
    return this.world.rules.translation.kind.kind;
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
    await Promise.all([...synced, this.options.references?.start(this.kind)]);
    if (this.#phase !== 'syncing') return;
    await this.massDelete.judgeFirstLists();
    if (this.#phase !== 'syncing') return;
    this.#owner.start();
    this.#phase = 'running';
    this.enqueueAll();
    this.#begun();
    this.queue.work(concurrency, (key) => this.#handle(key));
    this.options.references?.work();
    this.#scheduleAudit();
    const { virtual, host } = this.world.windows;
    const counts = { kind: this.kind, virtual: virtual.size, host: host.size };
    this.options.log.info({ component: 'sync', ...counts }, 'first lists are in');
  }

  async stop(withinMs: number): Promise<void> {
    this.#phase = 'stopped';
    this.#owner.stop();
    this.#audit?.cancel();
    this.proven.stop();
    this.massDelete.stop();
    this.#listener.stop();
    await Promise.all([this.queue.stop(withinMs), this.options.references?.stop(withinMs), this.#ownerDoubt.stop()]);
    this.#events.stop();
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
    this.referrers?.recount(virtual.keys());
    this.options.references?.enqueueAll();
    // The size is an estimate: copies without a virtual object are few, and are counted when they are found.
    this.#selfWakes.noteChanges(virtual.size);
    this.queue.feed('all', this.#allKeys(this.options.clock.now()), virtual.size);
  }

  /** Called when an API server is well again: back-off has grown to a minute, and addresses must not stay wrong that long. */
  hurry(): void {
    if (!this.isReady) return;
    this.queue.hurry((key) => failedByServer(this.ledger.entry(key)?.outcome));
    this.options.references?.hurry();
  }

  /** Keys of both sides, because a copy without a virtual object is found only through the host, and what is said of others. */
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
    // Both sides of an object may have gone while another replica wrote.
    for (const key of this.ledger.known()) yield virtual.has(key) ? undefined : key;
    this.referrers?.recounted();
  }

  /** Whether there is no virtual object of this name. A list that lacks most objects is no proof. */
  isMissing(key: Key): boolean {
    return this.isReady && !this.world.windows.virtual.has(key) && !this.massDelete.guard.isWithheld(key);
  }

  /** Wakes a key for news of another kind. */
  wakeFor(key: Key): void {
    this.#selfWakes.wakeFor(key);
  }

  /** Facts for a decision that do not come from the windows; also for status. */
  circumstances(key: Key): Circumstances {
    return this.ports.circumstances(key);
  }

  /** Ignored before the first lists are in, because every key is enqueued after them. */
  enqueue(key: Key): void {
    if (this.#phase === 'syncing') return;
    this.#noteWaiting(key, this.options.clock.now());
    this.queue.add(key);
  }

  #noteWaiting(key: Key, sinceMs: number): void {
    this.ledger.noteDirty(key, sinceMs);
    this.referrers?.expect(key);
  }

  async #handle(key: Key): Promise<void> {
    this.#selfWakes.begun(key);
    // A standby only follows the clusters. When it becomes the leader, it looks at every object. What it saw until then has waited for
    // another replica, and is no lag of its own.
    if (!this.options.isLeader() && !this.options.isDryRun) return void this.ledger.takeDirtySince(key);
    try {
      const ended = await reconcile(key, this.ports);
      const { ledger, world } = this;
      const recorded = this.options.isDryRun
        ? await listWrites(key, ended, { world, ledger, patching: this.ports.patching })
        : ended;
      recordOutcome(key, recorded, this.#recordOptions);
      this.#owner.passed(key, ended);
    } catch (error) {
      this.metrics.bugs.inc();
      this.options.log.error({ component: 'sync', key, err: error }, 'unexpected error while syncing an object');
      this.ledger.set(key, { kind: 'retry', message: 'unexpected error, see the log' }, this.options.clock.now());
      this.queue.retry(key);
    }
  }

  doubtOwner(): void {
    this.#ownerDoubt.raise();
  }

  /** Tells the tenant with an event on the virtual object. */
  warn(key: Key, note: { reason: string; message: string }): void {
    const uid = this.world.windows.virtual.get(key)?.uid;
    if (uid !== undefined) this.#tell({ key, uid, type: 'Warning', ...note });
  }

  /** Why tenants are told of no refusal. */
  get eventsForbidden(): string | undefined {
    return this.#events.forbidden;
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
