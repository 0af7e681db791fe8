// The front door's second half: wires the rooms into a daemon. In: settings, a clock, a log. Out: something to start, ask
// and stop. It decides nothing that a room could decide, and nobody but main.ts knows it.
import type { Clock, Timer } from '../clock.ts';
import type { ClusterFault } from '../cluster/errors.ts';
import type { Connection } from '../cluster/wire/connection.ts';
import { checkNamespace, checkPermissions } from '../cluster/wire/probe.ts';
import type { Lease } from '../cluster/write/lease.ts';
import { openWriter } from '../cluster/write/open-writer.ts';
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
import { listObjects, type ObjectFilter } from '../sync/report/object-list.ts';
import { objectStatus, patchedObjectStatus } from '../sync/report/status.ts';
import { Clusters } from './connections.ts';
import type { Daemon, DaemonOptions, Rooms, Started } from './daemon-options.ts';
import { openDaemonLease } from './lease.ts';
import { RunningManagement } from './management.ts';
import type { Readiness } from './operations-server.ts';
import { Outages } from './outages.ts';
import { RunningPatches } from './patches.ts';
import { contentPermissions, hostPermissions, virtualPermissions } from './permissions.ts';
import { findCopies, referenceSettings } from './references.ts';
import { type DaemonView, isManagementAlone, readinessOf, statusOf, syncs, wantsWrites } from './report.ts';
import { DaemonWindows } from './windows.ts';

/** Of the five seconds between SIGTERM and exit, so that some are left for giving the lease back. */
const drainWithinMs = 3000;
const gaugeIntervalMs = 1000;

export const rooms: Rooms = { assembleDaemon: (options) => new AssembledDaemon(options) };

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
  #settings: Settings;
  #wantedPatches: DaemonOptions['patches'];
  #sync: Sync | undefined;
  #lease: Lease | undefined;
  #gauges: Timer | undefined;
  #startedMs = 0;
  #end: (why: string) => void = () => {};
  #phase: DaemonView['phase'] = 'new';
  /** Why the newest configuration is not in force, though it is a valid one. */
  #notTakenOver: string | undefined;
  #takingOver: Promise<void> = Promise.resolve();
  readonly #stopping = new AbortController();

  constructor(options: DaemonOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#wantedPatches = options.patches;
    this.#mappings = mappingsOf(options.settings);
    const { clock, random, log, metrics } = options;
    this.#clusters = new Clusters(options, options.settings);
    this.#windows = new DaemonWindows(options, this.#clusters, this.#mappings);
    this.#outages = new Outages(options, () => this.#windows.opened);
    this.#management = new RunningManagement(options);
    this.#references = new References({
      settings: referenceSettings(options.settings, options.patches),
      openWindows: (kind) => this.#windows.openContent(kind, this.#settings),
      findCopies: (kind) => this.#findCopies(kind),
      clock,
      random,
      log,
      metrics,
    });
    this.#patches = new RunningPatches(options, { mappings: this.#mappings, references: this.#references.names });
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  async start(): Promise<Started> {
    this.#phase = 'starting';
    this.#startedMs = this.#options.clock.now();
    const setUp = this.#startParts();
    // A new configuration may come while a cluster is waited for.
    this.#takingOver = setUp.then(
      () => {},
      () => {},
    );
    const faults = await setUp;
    if (faults.length > 0) return { kind: 'faults', faults };
    this.#saySwitch();
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
    // Not what the start was given: the configuration may have changed while a cluster was waited for.
    const settings = this.#settings;
    const patches = this.#wantedPatches;
    const faults = await this.#check(virtual, host, patches);
    if (faults.length > 0) return faults;
    await this.#patches.take(settings, patches);
    await this.#references.take(referenceSettings(settings, patches));
    if (this.#phase !== 'stopped') this.#begin(virtual, host);
    return [];
  }

  #saySwitch(): void {
    if (this.#settings.endpointsEnabled || isManagementAlone(this.#settings)) return;
    this.#options.log.warn({ component: 'main' }, 'hostward.endpoints.enabled is false, nothing is touched');
  }

  /** Everything that is wrong with the set-up at once, before any work begins. */
  async #check(
    virtual: Connection,
    host: Connection,
    patches: DaemonOptions['patches'],
  ): Promise<readonly ClusterFault[]> {
    const namespace = await checkNamespace(host, this.#settings.hostNamespace);
    const { isDryRun } = this.#options;
    const references = referenceSettings(this.#settings, patches);
    const needsLease = this.#needsLease();
    const needs = { settings: this.#settings, references, places: this.#places(), isDryRun, needsLease };
    const missing = await Promise.all([
      checkPermissions(virtual, virtualPermissions(needs)),
      checkPermissions(host, hostPermissions(needs)),
    ]);
    return [...(namespace.kind === 'missing' ? [namespace.fault] : []), ...missing.flat()];
  }

  #places(): readonly (string | undefined)[] {
    return copyNamespaces(this.#mappings, this.#settings.hostNamespace);
  }

  #needsLease(): boolean {
    const { leaderElection, replicas } = this.#settings;
    if (this.#options.isDryRun) return false;
    return leaderElection === 'always' || (leaderElection === 'auto' && replicas > 1);
  }

  #begin(virtual: Connection, host: Connection): void {
    const { clock, random, log, metrics, isDryRun } = this.#options;
    const rules = this.#rulesOf(this.#settings);
    if (this.#needsLease()) this.#lease = openDaemonLease(this.#options, host);
    // The switch counts as the lease does: whoever turns it off may have handed the objects to vCluster.
    const isLeader = (): boolean =>
      this.#settings.endpointsEnabled && (this.#lease === undefined || this.#lease.isHeld());
    const permit = (): boolean => !isDryRun && isLeader();
    const shared = { clock, random, log, metrics, permit, fieldManager: 'hostward' };
    const { maxWritesPerSecond } = this.#settings;
    const sync = new Sync({
      windows: this.#windows.openSync(rules.translation.kind, this.#settings),
      rules,
      virtualWriter: openWriter({
        ...shared,
        connection: virtual,
        onAnswer: (answer) => this.#outages.writes.virtual.note(answer),
      }),
      hostWriter: openWriter({
        ...shared,
        connection: host,
        onAnswer: (answer) => this.#outages.writes.host.note(answer),
        ...(maxWritesPerSecond !== undefined && { maxWritesPerSecond }),
      }),
      clock,
      random,
      log,
      metrics,
      isLeader,
      isDryRun,
      references: this.#references,
      isHostRecent: isRecent(this.#clusters.versions.host),
    });
    this.#sync = sync;
    this.#lease?.subscribe((state) => {
      log.info({ component: 'main', leadership: state.kind }, 'leadership changed');
      if (state.kind === 'leading' && sync.isReady) sync.enqueueAll();
    });
    this.#lease?.start();
    this.#updateGauges(clock);
    sync.start().catch((error: unknown) => {
      if (this.#phase === 'stopped') return;
      log.error({ component: 'main', err: error }, 'sync could not begin');
      this.#end('sync could not begin, see the log');
    });
  }

  #rulesOf(settings: Settings): SyncRules {
    return createRules(endpointsKind, settings, { mapping: this.#mappings, patcher: this.#patches.current?.patcher });
  }

  async #findCopies(kind: ContentKind): Promise<FoundCopies> {
    const host = this.#clusters.connections?.host;
    if (host === undefined) return { kind: 'failed' };
    const { virtualClusterName } = this.#settings;
    return findCopies(kind, { host, virtualClusterName, places: this.#places(), signal: this.#stopping.signal });
  }

  /** Counted when asked for would be enough, but a gauge has no reader to wait for. */
  #updateGauges(clock: Clock): void {
    const isLeader = !this.#options.isDryRun && (this.#lease === undefined || this.#lease.isHeld());
    if (this.#sync !== undefined) {
      setGauges(this.#sync, { isLeader });
      this.#outages.look({ areWritesWanted: wantsWrites({ sync: this.#sync, lease: this.#lease }) });
    }
    this.#gauges = clock.after(gaugeIntervalMs, () => this.#updateGauges(clock));
  }

  async stop(): Promise<void> {
    if (this.#phase === 'stopped') return;
    this.#phase = 'stopped';
    this.#stopping.abort();
    this.#gauges?.cancel();
    const sync = this.#sync;
    if (sync !== undefined) {
      await Promise.all([
        sync.stop(drainWithinMs),
        sync.options.hostWriter.stop(drainWithinMs),
        sync.options.virtualWriter.stop(drainWithinMs),
      ]);
    }
    await this.#patches.stop();
    await this.#management.stop();
    // Last of all: another one may write as soon as the lease is free.
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
    if (wasEnabled) this.#saySwitch();
    // One after the other: of two changes the later one must be the last to be taken over.
    this.#takingOver = this.#takingOver
      .then(() => this.#takeOver(taken, patches))
      .then(() => {
        this.#notTakenOver = undefined;
      })
      .catch((error: unknown) => {
        if (this.#phase === 'stopped') return;
        this.#notTakenOver = error instanceof Error ? error.message : String(error);
        this.#options.log.error(
          { component: 'main', err: error },
          'new configuration could not be taken over, the old one stays',
        );
      });
    return { needsRestart: left.flatMap((change) => change.paths) };
  }

  async #takeOver(settings: Settings, patches: DaemonOptions['patches']): Promise<void> {
    if (this.#phase === 'stopped') return;
    await this.#management.take(settings);
    if (isManagementAlone(settings)) return;
    if (this.#sync === undefined && settings.endpointsEnabled) {
      const faults = await this.#setUp();
      if (faults.length > 0) this.#end(faults.map(({ message, fix }) => `${message}; ${fix}`).join('\n'));
      return;
    }
    const references = referenceSettings(settings, patches);
    await this.#checkContent(references);
    await this.#patches.take(settings, patches);
    await this.#references.take(references);
    this.#sync?.setRules(this.#rulesOf(settings));
  }

  /** Windows that may not be opened would keep the new configuration waiting for ever. */
  async #checkContent(references: ReferenceSettings): Promise<void> {
    const { connections } = this.#clusters;
    if (connections === undefined) return;
    const { isDryRun } = this.#options;
    const content = contentPermissions(references, { isDryRun, places: this.#places() });
    const missing = await Promise.all([
      checkPermissions(connections.virtual, content.virtual),
      checkPermissions(connections.host, content.host),
    ]);
    const sentences = missing.flat().map((fault) => `${fault.message}; ${fault.fix}`);
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
      lease: this.#lease,
      references: this.#references,
      patches: this.#patches,
      outages: this.#outages,
      management: this.#management,
      notTakenOver: this.#notTakenOver,
    };
  }

  objects(filter: ObjectFilter): Iterable<unknown> {
    return this.#sync?.isReady ? listObjects(this.#sync, filter) : [];
  }

  /** A promise where patches have to run for it. */
  objectStatus(key: string): unknown {
    const sync = this.#sync;
    if (!sync?.isReady) return undefined;
    return !sync.world.rules.isPatched ? objectStatus(sync, key) : patchedObjectStatus(sync, key);
  }
}

/** endpoints.kubernetes.io/managed-by is set by host clusters from 1.33 on. */
function isRecent(version: string): boolean {
  const [, major = '0', minor = '0'] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 1 || Number(minor) >= 33;
}
