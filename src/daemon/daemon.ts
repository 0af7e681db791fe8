// Wires the rooms into one daemon. In: settings, patches, a clock, a log. Out: a daemon that commands start, ask, reload and
// stop. This file must never decide anything that a room can decide. Only main.ts imports it.
import type { ClusterFault } from '../cluster/errors.ts';
import type { Connection } from '../cluster/wire/connection.ts';
import type { Lease } from '../cluster/write/lease.ts';
import { settingChanges } from '../config/load/difference.ts';
import { copyNamespaces, mappingsOf } from '../config/settings/host-namespaces.ts';
import type { CompiledMappings } from '../config/settings/namespace-mappings.ts';
import type { Settings } from '../config/settings/settings.ts';
import { WorkQueue } from '../queue/work-queue.ts';
import { Engine } from '../sync/loop/engine.ts';
import type { ContentKind } from '../sync/references/content-kind.ts';
import type { FoundCopies } from '../sync/references/leftovers.ts';
import { References } from '../sync/references/references.ts';
import { listAll, type ObjectFilter } from '../sync/report/object-list.ts';
import { Changes } from './changes.ts';
import { type CheckedSettings, checkContent, checkRights, checkStart } from './clusters/checks.ts';
import { Clusters, isRecent } from './clusters/connections.ts';
import { needsLease, openDaemonLease, openWriters } from './clusters/lease.ts';
import { Outages } from './clusters/outages.ts';
import { sentencesOf } from './clusters/permissions.ts';
import type { Daemon, DaemonModule, DaemonOptions, Started } from './daemon-options.ts';
import { RunningEndpoints } from './endpoints.ts';
import { Gauges } from './gauges.ts';
import { RunningManagement } from './management.ts';
import type { Writing } from './open-sync.ts';
import type { Readiness } from './operations/operations-server.ts';
import { RunningPatches } from './patches.ts';
import { findCopies, referenceSettings } from './references.ts';
import {
  type DaemonView,
  isManagementAlone,
  logSwitch,
  objectStatusOf,
  readinessOf,
  readySyncs,
  statusOf,
  syncs,
  syncsOf,
} from './report.ts';
import { RunningSlices } from './slices.ts';
import { DaemonWindows } from './windows.ts';

/** SIGTERM must end the daemon within five seconds; the remaining two are for releasing the lease. */
const drainWithinMs = 3000;

export const daemonModule: DaemonModule = { assembleDaemon: (options) => new AssembledDaemon(options) };

class AssembledDaemon implements Daemon {
  readonly ended: Promise<string>;
  readonly #options: DaemonOptions;
  readonly #mappings: CompiledMappings | undefined;
  readonly #references: References;
  readonly #patches: RunningPatches;
  readonly #clusters: Clusters;
  readonly #windows: DaemonWindows;
  readonly #outages: Outages;
  readonly #queue: WorkQueue;
  readonly #management: RunningManagement;
  readonly #slices: RunningSlices;
  readonly #gauges: Gauges;
  readonly #endpoints: RunningEndpoints;
  #settings: Settings;
  #wantedPatches: DaemonOptions['patches'];
  /** Undefined until both clusters are reached. */
  #writing: Writing | undefined;
  #lease: Lease | undefined;
  #startedMs = 0;
  #end: (why: string) => void = () => {};
  #phase: DaemonView['phase'] = 'new';
  readonly #stopping = new AbortController();
  readonly #changes: Changes;

  constructor(options: DaemonOptions) {
    const isStopped = (): boolean => this.#phase === 'stopped';
    const running = () => this.#writing?.engine.syncs ?? [];
    this.#options = options;
    this.#changes = new Changes(options.log, { isStopped });
    this.#settings = options.settings;
    this.#wantedPatches = options.patches;
    this.#mappings = mappingsOf(options.settings);
    this.#clusters = new Clusters(options, options.settings);
    this.#windows = new DaemonWindows(options, this.#clusters, this.#mappings);
    this.#outages = new Outages(options, {
      windows: () => this.#windows.opened,
      isInDoubt: () => this.#clusters.areInDoubt,
      over: () => running().map((sync) => sync.hurry()),
    });
    this.#queue = new WorkQueue(options.clock);
    this.#management = new RunningManagement(options);
    this.#references = new References({
      ...options,
      queue: this.#queue,
      settings: referenceSettings(options.settings, options.patches),
      openWindows: (kind) => this.#windows.openContent(kind, this.#settings),
      findCopies: (kind) => this.#findCopies(kind),
    });
    this.#patches = new RunningPatches(options, { mappings: this.#mappings, references: this.#references.names });
    const parts = {
      options,
      windows: this.#windows,
      patches: this.#patches,
      references: this.#references,
      mappings: this.#mappings,
    };
    this.#slices = new RunningSlices(parts);
    this.#endpoints = new RunningEndpoints({
      ...parts,
      settings: () => this.#settings,
      isStopped,
      end: (why) => this.#end(why),
    });
    this.#gauges = new Gauges(options, {
      syncs: running,
      switchedOn: () => syncsOf(this.#view()),
      lease: () => this.#lease,
      outages: this.#outages,
    });
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  async start(): Promise<Started> {
    this.#phase = 'starting';
    this.#startedMs = this.#options.clock.now();
    const setUp = this.#startParts();
    // A new configuration may arrive while the start waits for a cluster, so applying it waits for the set-up.
    this.#changes.waitFor(setUp);
    const faults = await setUp;
    if (faults.length > 0) return { kind: 'faults', faults };
    logSwitch(this.#settings, this.#options.log);
    if (this.#phase === 'starting') this.#phase = 'running';
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
    const faults = await checkStart({ virtual, host }, this.#checked(patches));
    if (faults.length > 0) return faults;
    await this.#patches.take(settings, patches);
    await this.#references.take(referenceSettings(settings, patches));
    if (this.#phase !== 'stopped') await this.#begin(virtual, host);
    return [];
  }

  #checked(patches: DaemonOptions['patches']): CheckedSettings {
    const { isDryRun } = this.#options;
    const needs = { copyNamespaces: this.#copyNamespaces(), needsLease: needsLease(this.#settings, isDryRun) };
    return { settings: this.#settings, patches, isDryRun, ...needs };
  }

  #copyNamespaces(): readonly (string | undefined)[] {
    return copyNamespaces(this.#mappings, this.#settings.hostNamespace);
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
    const engine = new Engine({ ...this.#options, ...writers, queue: this.#queue, isHostRecent });
    this.#writing = { engine, isLeading };
    this.#lease?.subscribe((state) => {
      log.info({ component: 'main', leadership: state.kind }, 'leadership changed');
      if (state.kind !== 'leading') return;
      for (const sync of engine.syncs) if (sync.isReady) sync.enqueueAll();
    });
    this.#lease?.start();
    this.#gauges.start();
    this.#endpoints.begin(this.#writing);
    await this.#slices.take({
      ...this.#writing,
      connections: { virtual, host },
      copyNamespaces: this.#copyNamespaces(),
      settings: () => this.#settings,
    });
  }

  async #findCopies(kind: ContentKind): Promise<FoundCopies> {
    const host = this.#clusters.connections?.host;
    if (host === undefined) return { kind: 'failed' };
    const { virtualClusterName } = this.#settings;
    const { signal } = this.#stopping;
    return findCopies(kind, { host, virtualClusterName, copyNamespaces: this.#copyNamespaces(), signal });
  }

  async stop(): Promise<void> {
    if (this.#phase === 'stopped') return;
    this.#phase = 'stopped';
    this.#stopping.abort();
    this.#gauges.stop();
    this.#slices.stop();
    await this.#writing?.engine.stop(drainWithinMs);
    await this.#patches.stop();
    await this.#management.stop();
    // The lease goes last, because another replica may write as soon as the lease is free.
    await this.#lease?.stop();
    await this.#clusters.close();
  }

  apply(settings: Settings, patches?: DaemonOptions['patches']): { needsRestart: readonly string[] } {
    const left = settingChanges(this.#settings, settings).filter((change) => change.needsRestart);
    const kept = Object.fromEntries(left.map(({ field }) => [field, this.#settings[field]]));
    const wasEnabled = this.#settings.endpointsEnabled;
    const taken = { ...settings, ...kept };
    this.#settings = taken;
    this.#wantedPatches = patches;
    if (wasEnabled) logSwitch(this.#settings, this.#options.log);
    this.#changes.add(() => this.#applyNow(taken, patches));
    return { needsRestart: left.flatMap((change) => change.paths) };
  }

  async #applyNow(settings: Settings, patches: DaemonOptions['patches']): Promise<void> {
    if (this.#phase === 'stopped') return;
    await this.#management.take(settings);
    if (isManagementAlone(settings)) return;
    if (this.#writing === undefined && syncs(settings)) {
      const faults = await this.#setUp();
      if (faults.length > 0) this.#end(sentencesOf(faults).join('\n'));
      return;
    }
    const references = referenceSettings(settings, patches);
    const { connections } = this.#clusters;
    // The permissions come first: without them the new windows would keep the new configuration waiting for ever.
    if (connections !== undefined) await checkContent(connections, references, this.#checked(patches));
    await this.#patches.take(settings, patches);
    await this.#references.take(references);
    this.#endpoints.take(settings);
    const isAwaited = settings.endpointsEnabled && this.#endpoints.isAwaited;
    if (isAwaited && this.#writing !== undefined && connections !== undefined) {
      const faults = await checkRights(connections, this.#checked(patches));
      if (faults.length > 0) throw new Error(sentencesOf(faults).join('\n'));
      this.#endpoints.begin(this.#writing);
    }
    await this.#slices.take();
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

  #view(): DaemonView {
    return {
      options: this.#options,
      settings: this.#settings,
      phase: this.#phase,
      startedMs: this.#startedMs,
      clusters: this.#clusters,
      windows: this.#windows.opened,
      // Of a kind that is switched off nothing is told, as after a restart.
      sync: this.#settings.endpointsEnabled ? this.#endpoints.sync : undefined,
      slices: this.#settings.endpointSlices.enabled ? this.#slices : { sync: undefined, missing: [] },
      lease: this.#lease,
      references: this.#references,
      patches: this.#patches,
      outages: this.#outages,
      management: this.#management,
      notApplied: this.#changes.notApplied,
    };
  }

  objects(filter: ObjectFilter): Iterable<unknown> {
    return listAll(readySyncs(this.#view()), filter);
  }

  objectStatus(key: string): unknown {
    return objectStatusOf(readySyncs(this.#view()), key);
  }
}
