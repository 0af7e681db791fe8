// Wires the rooms into one daemon. In: settings, patches, a clock, a log. Out: a daemon that commands start, ask, reload and
// stop. This file must never decide anything that a room can decide. Only main.ts imports it.
import type { ClusterFault } from '../cluster/errors.ts';
import type { Connection } from '../cluster/wire/connection.ts';
import type { Lease } from '../cluster/write/lease.ts';
import { settingChanges } from '../config/load/difference.ts';
import type { Settings } from '../config/settings/settings.ts';
import type { Log } from '../log.ts';
import { WorkQueue } from '../queue/work-queue.ts';
import { tryOneForbidden } from '../sync/loop/try-one.ts';
import { createPageFacts, type PageFacts } from '../sync/report/look/page-facts.ts';
import { lackPlace } from '../sync/report/missing-place.ts';
import { listAll, type ObjectFilter } from '../sync/report/object-list.ts';
import { VerdictSince } from '../sync/report/verdict.ts';
import { Changes } from './changes.ts';
import { type CheckedSettings, checkContent, checkRights, checkStart } from './clusters/checks.ts';
import { Clusters, isRecent } from './clusters/connections.ts';
import { HostWarnings } from './clusters/host-warnings.ts';
import { leaderlessIn, needsLease, openDaemonLease, openWriters, standbyBehindIn } from './clusters/lease.ts';
import { Outages } from './clusters/outages.ts';
import { Gauges } from './gauges.ts';
import { RunningManagement } from './management.ts';
import type { Readiness } from './operations/operations-server.ts';
import type { Daemon, DaemonModule, DaemonOptions, Started } from './options/daemon-options.ts';
import {
  type DaemonView,
  isManagementAlone,
  noteVerdict,
  objectStatusOf,
  readinessOf,
  readySyncs,
  statusOf,
  syncs,
  syncsOf,
} from './report.ts';
import { endpoints, slices } from './synced/kinds.ts';
import { sentencesOf } from './synced/permissions.ts';
import { referenceSettings } from './synced/references.ts';
import { noKind } from './synced/running-kind.ts';
import { SyncedCluster } from './synced/synced-cluster.ts';

/** SIGTERM must end the daemon within five seconds; the remaining two are for releasing the lease. */
const drainWithinMs = 3000;

export const daemonModule: DaemonModule = { assembleDaemon: (options) => new AssembledDaemon(options) };

class AssembledDaemon implements Daemon {
  readonly ended: Promise<string>;
  readonly pageFacts: PageFacts;
  readonly #options: DaemonOptions;
  readonly #clusters: Clusters;
  readonly #cluster: SyncedCluster;
  readonly #outages: Outages;
  readonly #management: RunningManagement;
  readonly #gauges: Gauges;
  #settings: Settings;
  #wantedPatches: DaemonOptions['patches'];
  #lease: Lease | undefined;
  #startedMs = 0;
  #end: (why: string) => void = () => {};
  #phase: DaemonView['phase'] = 'new';
  readonly #changes: Changes;
  readonly #since = new VerdictSince();
  #ticks = 0;
  readonly #hostWarnings: HostWarnings;

  constructor(options: DaemonOptions) {
    const isStopped = (): boolean => this.#phase === 'stopped';
    this.#options = options;
    this.#changes = new Changes(options.log, { isStopped });
    this.#settings = options.settings;
    this.#wantedPatches = options.patches;
    this.#clusters = new Clusters(options, options.settings);
    this.#cluster = new SyncedCluster({
      ...options,
      queue: new WorkQueue(options.clock),
      settings: () => this.#settings,
      connections: () => this.#clusters.connections,
      end: (why) => this.#end(why),
    });
    const running = () => this.#cluster.syncs;
    this.#outages = new Outages(options, {
      windows: () => this.#cluster.windows.opened,
      isInDoubt: () => this.#clusters.areInDoubt,
      over: () => running().map((sync) => sync.hurry()),
      tryOne: () => running().map(tryOneForbidden),
    });
    this.#hostWarnings = new HostWarnings(
      options,
      () => this.#settings,
      () => running().some(lackPlace),
    );
    this.#management = new RunningManagement(options);
    this.#gauges = new Gauges(options, {
      syncs: running,
      switchedOn: () => syncsOf(this.#view()),
      lease: () => this.#lease,
      outages: this.#outages,
      tick: () => this.#noteVerdict(),
    });
    this.pageFacts = createPageFacts({
      clock: options.clock,
      syncs: () => readySyncs(this.#view()),
      contents: () => this.#cluster.references.syncs,
      referrersOf: (reference) => this.#cluster.references.registry.referrersOf(reference),
    });
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  async start(): Promise<Started> {
    this.#phase = 'starting';
    this.#startedMs = this.#options.clock.now();
    noteVerdict(this.#view());
    const setUp = this.#startParts();
    // A new configuration may arrive while the start waits for a cluster, so applying it waits for the set-up.
    this.#changes.waitFor(setUp);
    const faults = await setUp;
    if (faults.length > 0) return { kind: 'faults', faults };
    logSwitch(this.#settings, this.#options.log);
    if (this.#phase !== 'starting') return { kind: 'started' };
    this.#phase = 'running';
    // A management API alone has a verdict too, with times that do not wait for the first question.
    this.#gauges.start();
    return { kind: 'started' };
  }

  /** The management API comes first: its keys are good while the start waits for a cluster. */
  async #startParts(): Promise<readonly ClusterFault[]> {
    const faults = await this.#management.start(this.#settings);
    if (faults.length > 0) return faults;
    return syncs(this.#settings) ? this.#setUp() : [];
  }

  async #setUp(): Promise<readonly ClusterFault[]> {
    const reached = await this.#clusters.reach();
    if (reached.kind === 'faults') return reached.faults;
    const { virtual, host } = reached;
    // The configuration may have changed while the start waited for a cluster, so the newest one counts.
    const settings = this.#settings;
    const patches = this.#wantedPatches;
    const { faults, namespace } = await checkStart({ virtual, host }, this.#checked(patches));
    if (faults.length > 0) return faults;
    await this.#hostWarnings.start(host, namespace);
    await this.#cluster.prepare(settings, patches);
    if (this.#phase !== 'stopped') await this.#begin(virtual, host);
    return [];
  }

  #checked(patches: DaemonOptions['patches']): CheckedSettings {
    const { isDryRun } = this.#options;
    const needs = {
      copyNamespaces: this.#cluster.copyNamespaces,
      needsLease: needsLease(this.#settings, isDryRun),
    };
    return { settings: this.#settings, patches, isDryRun, ...needs };
  }

  async #begin(virtual: Connection, host: Connection): Promise<void> {
    const { log, isDryRun } = this.#options;
    if (needsLease(this.#settings, isDryRun)) this.#lease = openDaemonLease(this.#options, host);
    const isLeading = (): boolean => this.#lease === undefined || this.#lease.isHeld();
    // A daemon that is switched off must not write, as one without the lease: vCluster may own the objects by now.
    const permit = (): boolean => !isDryRun && syncs(this.#settings) && isLeading() && !this.#clusters.areInDoubt;
    const how = { permit, outages: this.#outages, maxWritesPerSecond: this.#settings.maxWritesPerSecond };
    const writers = openWriters(this.#options, { virtual, host }, how);
    const isHostRecent = isRecent(this.#clusters.versions.host);
    this.#lease?.subscribe((state) => {
      log.info({ component: 'main', leadership: state.kind }, 'leadership changed');
      if (state.kind !== 'leading') return;
      this.#cluster.windows.strayNamespaces.again();
      for (const sync of this.#cluster.syncs) if (sync.isReady) sync.enqueueAll();
    });
    this.#lease?.start();
    this.#gauges.start();
    const standbyBehind = () => standbyBehindIn(this.#lease, this.#options.clock);
    const leaderless = () => leaderlessIn(this.#lease, this.#options.clock);
    const reached = { connections: { virtual, host }, ...writers, isHostRecent, isLeading, standbyBehind, leaderless };
    await this.#cluster.begin(reached);
  }

  async stop(): Promise<void> {
    if (this.#phase === 'stopped') return;
    this.#phase = 'stopped';
    this.#gauges.stop();
    this.#hostWarnings.stop();
    await this.#cluster.stop(drainWithinMs);
    await this.#management.stop();
    // The lease goes last, because another replica may write as soon as the lease is free.
    await this.#lease?.stop();
    await this.#clusters.close();
  }

  apply(settings: Settings, patches?: DaemonOptions['patches']): ReturnType<Daemon['apply']> {
    const left = settingChanges(this.#settings, settings).filter((change) => change.needsRestart);
    const kept = Object.fromEntries(left.map(({ field }) => [field, this.#settings[field]]));
    const wasEnabled = this.#settings.endpointsEnabled;
    const taken = { ...settings, ...kept };
    this.#settings = taken;
    this.#wantedPatches = patches;
    if (wasEnabled) logSwitch(this.#settings, this.#options.log);
    const inForce = this.#changes.add(() => this.#applyNow(taken, patches));
    return { needsRestart: left.flatMap((change) => change.paths), inForce };
  }

  async #applyNow(settings: Settings, patches: DaemonOptions['patches']): Promise<void> {
    if (this.#phase === 'stopped') return;
    await this.#management.take(settings);
    if (isManagementAlone(settings)) return;
    if (!this.#cluster.hasBegun && syncs(settings)) {
      const faults = await this.#setUp();
      if (faults.length > 0) this.#end(sentencesOf(faults).join('\n'));
      return;
    }
    const references = referenceSettings(settings, patches);
    const { connections } = this.#clusters;
    // The permissions come first: without them the new windows would keep the new configuration waiting for ever.
    if (connections !== undefined) await checkContent(connections, references, this.#checked(patches));
    await this.#cluster.take(settings, patches, async () => {
      const faults = connections === undefined ? [] : await checkRights(connections, this.#checked(patches));
      if (faults.length > 0) throw new Error(sentencesOf(faults).join('\n'));
    });
  }

  rereadKubeconfigs(): void {
    this.#clusters.reread();
  }

  health(): { isHealthy: boolean; lines: readonly string[] } {
    return { isHealthy: this.#phase !== 'stopped', lines: [`daemon: ${this.#phase}`] };
  }

  readiness(): Readiness {
    return readinessOf(this.#view());
  }

  status(): unknown {
    return statusOf(this.#view());
  }

  /** Counting keys takes time, so with a management API the time of a change is known to ten seconds. */
  #noteVerdict(): void {
    this.#ticks++;
    if (this.#settings.management === undefined || this.#ticks % 10 === 0) noteVerdict(this.#view());
  }

  #view(): DaemonView {
    const { windows, references, patches } = this.#cluster;
    const [ofEndpoints, ofSlices] = [endpoints, slices].map((kind) => this.#cluster.kind(kind));
    return {
      options: this.#options,
      settings: this.#settings,
      phase: this.#phase,
      startedMs: this.#startedMs,
      clusters: this.#clusters,
      windows: windows.opened,
      // Nothing is reported about a kind that is switched off, as after a restart.
      sync: this.#settings.endpointsEnabled ? ofEndpoints?.sync : undefined,
      slices: (this.#settings.endpointSlices.enabled && ofSlices) || noKind,
      lease: this.#lease,
      references,
      patches,
      outages: this.#outages,
      management: this.#management,
      since: this.#since,
      warnings: [...this.#hostWarnings.sentences, ...windows.strayNamespaces.sentences],
      notApplied: this.#changes.notApplied,
      isChanging: this.#changes.areUnderWay,
    };
  }

  objects(filter: ObjectFilter): Iterable<unknown> {
    return listAll(readySyncs(this.#view()), filter);
  }

  objectStatus(key: string): unknown {
    return objectStatusOf(readySyncs(this.#view()), key, this.pageFacts.contents(key));
  }
}

/** Says at the start that the daemon leaves objects alone, because a daemon without work looks like one that fails. */
function logSwitch(settings: Settings, log: Log): void {
  const { endpointsEnabled, endpointSlices } = settings;
  if (endpointsEnabled || isManagementAlone(settings)) return;
  const untouched = endpointSlices.enabled ? 'no Endpoints is touched' : 'nothing is touched';
  log.warn({ component: 'main' }, `hostward.endpoints.enabled is false, ${untouched}`);
}
