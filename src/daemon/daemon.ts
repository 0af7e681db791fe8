// Wires the rooms into one daemon. In: settings, patches, a clock, a log. Out: a daemon that commands start, ask, reload and
// stop. This file must never decide anything that a room can decide. Only main.ts imports it.
import type { Clock, Timer } from '../clock.ts';
import type { ClusterFault } from '../cluster/errors.ts';
import type { Connection } from '../cluster/wire/connection.ts';
import { checkNamespace } from '../cluster/wire/probe.ts';
import type { Lease } from '../cluster/write/lease.ts';
import { permittedWriter } from '../cluster/write/permitted-writer.ts';
import { settingChanges } from '../config/load/difference.ts';
import { copyNamespaces, mappingsOf } from '../config/settings/host-namespaces.ts';
import type { CompiledMappings } from '../config/settings/namespace-mappings.ts';
import type { Settings } from '../config/settings/settings.ts';
import { endpointsKind } from '../sync/endpoints/endpoints-kind.ts';
import { createRules, type SyncRules } from '../sync/loop/rules.ts';
import { Sync } from '../sync/loop/sync.ts';
import type { ContentKind } from '../sync/references/content-kind.ts';
import type { FoundCopies } from '../sync/references/leftovers.ts';
import { type ReferenceSettings, References } from '../sync/references/references.ts';
import { setGauges } from '../sync/report/gauges.ts';
import { listAll, type ObjectFilter } from '../sync/report/object-list.ts';
import { joinedStatus, objectStatus, patchedObjectStatus } from '../sync/report/object-status.ts';
import { Clusters, isRecent } from './connections.ts';
import type { Daemon, DaemonModule, DaemonOptions, Started } from './daemon-options.ts';
import { openDaemonLease, openWriters } from './lease.ts';
import { RunningManagement } from './management.ts';
import type { Readiness } from './operations/operations-server.ts';
import { Outages } from './outages.ts';
import { RunningPatches } from './patches.ts';
import { contentPermissions, missingPermissions, permissionsOf, sentencesOf } from './permissions.ts';
import { findCopies, referenceSettings } from './references.ts';
import { type DaemonView, isManagementAlone, readinessOf, statusOf, syncs, wantsWrites } from './report.ts';
import { RunningSlices, type SliceSetUp } from './slices.ts';
import { DaemonWindows } from './windows.ts';

/** SIGTERM must end the daemon within five seconds; the remaining two are for releasing the lease. */
const drainWithinMs = 3000;
const gaugeIntervalMs = 1000;

export const daemonModule: DaemonModule = { assembleDaemon: (options) => new AssembledDaemon(options) };

type Writing = Pick<SliceSetUp, 'virtualWriter' | 'hostWriter' | 'isHostRecent' | 'isLeading'>;

class AssembledDaemon implements Daemon {
  readonly ended: Promise<string>;
  readonly #options: DaemonOptions;
  readonly #mappings: CompiledMappings | undefined;
  readonly #references: References;
  readonly #patches: RunningPatches;
  readonly #clusters: Clusters;
  readonly #windows: DaemonWindows;
  readonly #outages: Outages;
  readonly #management: RunningManagement;
  readonly #slices: RunningSlices;
  #settings: Settings;
  #wantedPatches: DaemonOptions['patches'];
  /** Undefined until both clusters are reached. */
  #writing: Writing | undefined;
  #sync: Sync | undefined;
  #lease: Lease | undefined;
  #gauges: Timer | undefined;
  #startedMs = 0;
  #end: (why: string) => void = () => {};
  #phase: DaemonView['phase'] = 'new';
  /** Why the newest valid configuration is not in force. */
  #notApplied: string | undefined;
  #applying: Promise<void> = Promise.resolve();
  readonly #stopping = new AbortController();

  constructor(options: DaemonOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#wantedPatches = options.patches;
    this.#mappings = mappingsOf(options.settings);
    this.#clusters = new Clusters(options, options.settings);
    this.#windows = new DaemonWindows(options, this.#clusters, this.#mappings);
    this.#outages = new Outages(options, {
      windows: () => this.#windows.opened,
      over: () => this.#syncs().map((sync) => sync.hurry()),
    });
    this.#management = new RunningManagement(options);
    this.#references = new References({
      ...options,
      settings: referenceSettings(options.settings, options.patches),
      openWindows: (kind) => this.#windows.openContent(kind, this.#settings),
      findCopies: (kind) => this.#findCopies(kind),
    });
    this.#patches = new RunningPatches(options, { mappings: this.#mappings, references: this.#references.names });
    this.#slices = new RunningSlices(options, {
      windows: this.#windows,
      patches: this.#patches,
      references: this.#references,
      mappings: this.#mappings,
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
    this.#applying = setUp.then(
      () => {},
      () => {},
    );
    const faults = await setUp;
    if (faults.length > 0) return { kind: 'faults', faults };
    this.#logSwitch();
    if (this.#phase === 'starting') this.#phase = 'running';
    return { kind: 'started' };
  }

  /** The keys of the management API are good while a cluster is waited for. */
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
    const faults = await this.#check(virtual, host, patches);
    if (faults.length > 0) return faults;
    await this.#patches.take(settings, patches);
    await this.#references.take(referenceSettings(settings, patches));
    if (this.#phase !== 'stopped') await this.#begin(virtual, host);
    return [];
  }

  #logSwitch(): void {
    const { endpointsEnabled, endpointSlices } = this.#settings;
    if (endpointsEnabled || isManagementAlone(this.#settings)) return;
    const untouched = endpointSlices.enabled ? 'no Endpoints is touched' : 'nothing is touched';
    this.#options.log.warn({ component: 'main' }, `hostward.endpoints.enabled is false, ${untouched}`);
  }

  /** Collects every fault of the set-up, so that the operator can mend all faults before the next start. */
  async #check(
    virtual: Connection,
    host: Connection,
    patches: DaemonOptions['patches'],
  ): Promise<readonly ClusterFault[]> {
    const namespace = await checkNamespace(host, this.#settings.hostNamespace);
    const missing = await this.#checkRights(patches, { virtual, host });
    return [...(namespace.kind === 'missing' ? [namespace.fault] : []), ...missing];
  }

  async #checkRights(
    patches: DaemonOptions['patches'],
    connections = this.#clusters.connections,
  ): Promise<readonly ClusterFault[]> {
    if (connections === undefined) return [];
    const { isDryRun } = this.#options;
    const references = referenceSettings(this.#settings, patches);
    const target = { settings: this.#settings, copyNamespaces: this.#copyNamespaces() };
    const needs = { ...target, references, isDryRun, needsLease: this.#needsLease() };
    return missingPermissions(connections, permissionsOf(needs));
  }

  #copyNamespaces(): readonly (string | undefined)[] {
    return copyNamespaces(this.#mappings, this.#settings.hostNamespace);
  }

  #needsLease(): boolean {
    const { leaderElection, replicas } = this.#settings;
    if (this.#options.isDryRun) return false;
    return leaderElection === 'always' || (leaderElection === 'auto' && replicas > 1);
  }

  async #begin(virtual: Connection, host: Connection): Promise<void> {
    const { clock, log, isDryRun } = this.#options;
    if (this.#needsLease()) this.#lease = openDaemonLease(this.#options, host);
    const isLeading = (): boolean => this.#lease === undefined || this.#lease.isHeld();
    // A daemon that is switched off must not write, as one without the lease: vCluster may own the objects by now.
    const permit = (): boolean => !isDryRun && syncs(this.#settings) && isLeading();
    const { maxWritesPerSecond } = this.#settings;
    const writers = openWriters(
      this.#options,
      { virtual, host },
      { permit, outages: this.#outages, maxWritesPerSecond },
    );
    const isHostRecent = isRecent(this.#clusters.versions.host);
    this.#writing = { ...writers, isHostRecent, isLeading };
    this.#lease?.subscribe((state) => {
      log.info({ component: 'main', leadership: state.kind }, 'leadership changed');
      if (state.kind !== 'leading') return;
      for (const sync of this.#syncs()) if (sync.isReady) sync.enqueueAll();
    });
    this.#lease?.start();
    this.#updateGauges(clock);
    this.#beginEndpoints(this.#writing);
    await this.#slices.take({
      ...this.#writing,
      connections: { virtual, host },
      copyNamespaces: this.#copyNamespaces(),
      endpoints: () => this.#sync,
      settings: () => this.#settings,
    });
  }

  #beginEndpoints({ virtualWriter, hostWriter, isHostRecent, isLeading }: Writing): void {
    if (!this.#settings.endpointsEnabled || this.#sync !== undefined) return;
    const { clock, random, log, metrics, isDryRun } = this.#options;
    const rules = this.#rulesOf(this.#settings);
    const isLeader = (): boolean => this.#settings.endpointsEnabled && isLeading();
    const sync = new Sync({
      windows: this.#windows.openSync(rules.translation.kind, this.#settings),
      rules,
      virtualWriter: permittedWriter(virtualWriter, isLeader),
      hostWriter: permittedWriter(hostWriter, isLeader),
      clock,
      random,
      log,
      metrics,
      isLeader,
      isDryRun,
      references: this.#references.of(rules.translation.kind.kind),
      isHostRecent,
    });
    this.#sync = sync;
    sync.start().catch((error: unknown) => {
      if (this.#phase === 'stopped') return;
      log.error({ component: 'main', err: error }, 'sync could not start');
      this.#end('sync could not start, see the log');
    });
  }

  #syncs(): Sync[] {
    return [this.#sync, this.#slices.sync].filter((sync) => sync !== undefined);
  }

  #rulesOf(settings: Settings): SyncRules {
    const { patcher } = this.#patches.current ?? {};
    const hasPatches = patcher !== undefined && patcher.set.patches.length > 0;
    return createRules(endpointsKind, settings, {
      mapping: this.#mappings,
      patcher: hasPatches ? patcher : undefined,
    });
  }

  async #findCopies(kind: ContentKind): Promise<FoundCopies> {
    const host = this.#clusters.connections?.host;
    if (host === undefined) return { kind: 'failed' };
    const { virtualClusterName } = this.#settings;
    const { signal } = this.#stopping;
    return findCopies(kind, { host, virtualClusterName, copyNamespaces: this.#copyNamespaces(), signal });
  }

  /** Runs every second, because a gauge must be current before the next scrape. */
  #updateGauges(clock: Clock): void {
    const isLeader = !this.#options.isDryRun && (this.#lease === undefined || this.#lease.isHeld());
    const syncs = this.#syncs();
    for (const sync of syncs) setGauges(sync, { isLeader });
    if (syncs.length > 0) {
      const areWritesWanted = syncs.some((sync) => wantsWrites({ sync, lease: this.#lease }));
      this.#outages.update({ areWritesWanted });
    }
    this.#gauges = clock.after(gaugeIntervalMs, () => this.#updateGauges(clock));
  }

  async stop(): Promise<void> {
    if (this.#phase === 'stopped') return;
    this.#phase = 'stopped';
    this.#stopping.abort();
    this.#gauges?.cancel();
    await Promise.all([
      this.#sync?.stop(drainWithinMs),
      this.#slices.stop(drainWithinMs),
      this.#writing?.hostWriter.stop(drainWithinMs),
      this.#writing?.virtualWriter.stop(drainWithinMs),
    ]);
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
    if (wasEnabled) this.#logSwitch();
    // Changes are applied one after the other, so that the latest configuration wins.
    this.#applying = this.#applying
      .then(() => this.#applyNow(taken, patches))
      .then(() => {
        this.#notApplied = undefined;
      })
      .catch((error: unknown) => {
        if (this.#phase === 'stopped') return;
        this.#notApplied = error instanceof Error ? error.message : String(error);
        this.#options.log.error(
          { component: 'main', err: error },
          'new configuration could not be applied, the old one stays',
        );
      });
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
    await this.#checkContent(references);
    await this.#patches.take(settings, patches);
    await this.#references.take(references);
    this.#sync?.setRules(this.#rulesOf(settings));
    if (this.#writing !== undefined && settings.endpointsEnabled && this.#sync === undefined) {
      const faults = await this.#checkRights(patches);
      if (faults.length > 0) throw new Error(sentencesOf(faults).join('\n'));
      this.#beginEndpoints(this.#writing);
    }
    await this.#slices.take();
  }

  /** Checks the permissions first: without them the new windows would keep the new configuration waiting for ever. */
  async #checkContent(references: ReferenceSettings): Promise<void> {
    const { connections } = this.#clusters;
    if (connections === undefined) return;
    const { isDryRun } = this.#options;
    const content = contentPermissions(references, { isDryRun, copyNamespaces: this.#copyNamespaces() });
    const sentences = sentencesOf(await missingPermissions(connections, content));
    if (sentences.length > 0) throw new Error(sentences.join('\n'));
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
      sync: this.#sync,
      slices: this.#slices,
      lease: this.#lease,
      references: this.#references,
      patches: this.#patches,
      outages: this.#outages,
      management: this.#management,
      notApplied: this.#notApplied,
    };
  }

  objects(filter: ObjectFilter): Iterable<unknown> {
    return listAll(
      this.#syncs().filter((sync) => sync.isReady),
      filter,
    );
  }

  /** Returns a promise when the answer needs the object's patches to run. */
  objectStatus(key: string): unknown {
    const ready = this.#syncs().filter((sync) => sync.isReady);
    if (ready.every(({ world }) => !world.rules.isPatched))
      return joinedStatus(ready.map((sync) => objectStatus(sync, key)));
    return Promise.all(ready.map((sync) => patchedObjectStatus(sync, key))).then(joinedStatus);
  }
}
