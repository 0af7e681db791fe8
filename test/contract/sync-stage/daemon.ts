// One whole daemon between two live API servers, assembled as in main.ts, with methods that wait until the daemon has seen all
// changes and finished its work.

import { writeFileSync } from 'node:fs';
import { loadConfiguration } from '../../../src/config/load/load.ts';
import type { Settings } from '../../../src/config/settings/settings.ts';
import { daemonModule } from '../../../src/daemon/daemon.ts';
import type { Daemon, Started } from '../../../src/daemon/options/daemon-options.ts';
import { type LoadedPatches, withPatches } from '../../../src/daemon/options/load-patches.ts';
import { createLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { objectKeys } from '../../../src/sync/plan/keys/reserved-keys.ts';
import type { ObjectStatus } from '../../../src/sync/report/object-status.ts';
import type { SyncStatus } from '../../../src/sync/report/status.ts';
import { JumpClock } from '../../jump-clock.ts';
import { hostNamespace, type Side, until, virtualCluster } from './backend.ts';
import type { SyncStage } from './stage.ts';

export interface LiveOptions {
  /** Merged over `hostward: { leaderElection: never }`. */
  config?: Record<string, unknown>;
  /** Addresses of interferers between the daemon and a server. */
  via?: Partial<Record<Side, { url: string; caPem: string }>>;
  /** Kubeconfig text for another user than the daemon's. */
  kubeconfig?: Partial<Record<Side, string>>;
  isDryRun?: boolean;
  /** How long the start waits for clusters that do not answer. */
  waitMs?: number;
  /** By default 'debug', for tests that read the log. */
  logLevel?: 'debug' | 'info';
  virtualClusterName?: string;
  hostNamespace?: string;
  environment?: Record<string, string>;
  /** How long a wait for the daemon may take; more for many objects. */
  patienceMs?: number;
}

interface DaemonStatus extends SyncStatus {
  leadership: string;
  endpointSlices?: SyncStatus & { missingVerbs?: readonly string[] };
  verdict: { isWell: boolean; sentence: string };
  addresses?: readonly { cluster: Side; server: string; notTaken?: string }[];
}

export class LiveDaemon {
  readonly clock = new JumpClock();
  readonly logged: { msg: string; level: number; [field: string]: unknown }[] = [];
  readonly #stage: SyncStage;
  readonly #daemon: Daemon;
  readonly #options: LiveOptions;
  #isStopped = false;
  readonly #kubeconfigs: Partial<Record<Side, string>> = {};

  constructor(stage: SyncStage, options: LiveOptions) {
    this.#stage = stage;
    this.#options = options;
    const log = createLog({
      level: options.logLevel ?? 'debug',
      destination: { write: (line) => void this.logged.push(JSON.parse(line)) },
    });
    const { settings, patches } = this.#settings(options.config);
    this.#daemon = daemonModule.assembleDaemon({
      settings,
      ...(patches && { patches, nodePath: process.execPath }),
      isDryRun: options.isDryRun ?? false,
      waitMs: options.waitMs ?? 0,
      log,
      clock: this.clock,
      random: Math.random,
      metrics: createMetrics(),
      environment: options.environment ?? {},
      version: '0.0.0',
    });
  }

  #settings(config: Record<string, unknown> = {}): { settings: Settings; patches: LoadedPatches | undefined } {
    const { via = {}, kubeconfig = {} } = this.#options;
    const { backend } = this.#stage;
    const path = (side: Side): string => {
      const made = this.#stage.file(kubeconfig[side] ?? backend[side].kubeconfig(via[side]), 'kubeconfig');
      this.#kubeconfigs[side] ??= made;
      return made;
    };
    const base = { name: 'base', text: 'hostward: { leaderElection: never }' };
    const read = loadConfiguration({
      files: [base, { name: 'test', text: JSON.stringify(config) }],
      flags: {
        virtualClusterName: this.#options.virtualClusterName ?? virtualCluster,
        hostNamespace: this.#options.hostNamespace ?? hostNamespace,
        virtualKubeconfig: path('virtual'),
        hostKubeconfig: path('host'),
      },
    });
    const loaded = withPatches(read);
    if (loaded.kind === 'faults') throw new Error(`configuration of the test: ${JSON.stringify(loaded.faults)}`);
    return {
      settings: loaded.settings,
      patches: loaded.patches.length + loaded.slices.patches.length === 0 ? undefined : loaded.compiled,
    };
  }

  start(): Promise<Started> {
    return this.#daemon.start();
  }

  /** Starts the daemon, stops it again, and returns the result of the start. */
  async startOnce(): Promise<Started> {
    const started = await this.start();
    await this.stop();
    return started;
  }

  /** Starts the daemon and waits until all existing objects are in sync. */
  async begin(): Promise<this> {
    const started = await this.start();
    if (started.kind === 'faults') throw new Error(`the daemon did not start: ${JSON.stringify(started.faults)}`);
    const isReady = () => (this.#daemon.readiness().isReady ? true : undefined);
    await until('a daemon that is ready', isReady, this.#options.patienceMs);
    await this.settled();
    return this;
  }

  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    await this.#daemon.stop();
  }

  apply(config: Record<string, unknown>): { needsRestart: readonly string[] } {
    const { settings, patches } = this.#settings(config);
    return this.#daemon.apply(settings, patches);
  }

  /** The file that the daemon was started with. */
  kubeconfigFile(side: Side): string {
    return this.#kubeconfigs[side] as string;
  }

  /** Writes another kubeconfig over the one that the daemon was started with. */
  rewrite(side: Side, text: string): void {
    writeFileSync(this.kubeconfigFile(side), text);
  }

  reread(): void {
    this.#daemon.rereadKubeconfigs();
  }

  get isReady(): boolean {
    return this.#daemon.readiness().isReady;
  }

  get status(): DaemonStatus {
    return this.#daemon.status() as DaemonStatus;
  }

  get windows(): readonly { window: string; objects: number }[] {
    return (this.#daemon.status() as { windows: { window: string; objects: number }[] }).windows;
  }

  get readiness(): readonly string[] {
    return this.#daemon.readiness().lines;
  }

  of(name: string, namespace = this.#stage.tenant): ObjectStatus | undefined {
    return this.#daemon.objectStatus(`${namespace}/${name}`) as ObjectStatus | undefined;
  }

  /**
   * Waits until the daemon has seen the current state of both clusters and has no work left. Work that waits for a later
   * time does not count, except retries. A request that was under way in a jump of the clock may have ended at its time limit, on a
   * machine that is slower than the jump; then a window waits for half a minute, and `meanwhile` has to move the clock on.
   */
  async settled(meanwhile?: () => Promise<unknown>): Promise<void> {
    let before = '';
    const look = async () => {
      await meanwhile?.();
      // Lists of whole clusters cost more than anything else here, and say nothing while there is work.
      if (!this.#isIdle()) {
        before = '';
        return undefined;
      }
      const [virtual, services, host, slices, hostSlices] = await Promise.all([
        this.#stage.list('virtual', 'endpoints'),
        this.#stage.list('virtual', 'services'),
        this.#stage.list('host', 'endpoints'),
        this.#stage.list('virtual', 'endpointslices'),
        this.#stage.list('host', 'endpointslices'),
      ]);
      const now = [...virtual, ...services, ...host, ...slices, ...hostSlices]
        .map(({ metadata }) => `${metadata.uid}@${metadata.resourceVersion}`)
        .join();
      const { endpointSlices, ...whole } = this.status;
      const hasSeen =
        this.#isIdle() &&
        (whole.queue === undefined || (await this.#hasSeen({ virtual, services, host }))) &&
        (endpointSlices?.queue === undefined || (await this.#hasSeenSlices({ slices, services, hostSlices })));
      const isSame = now === before;
      before = hasSeen ? now : '';
      return hasSeen && isSame ? true : undefined;
    };
    await until('a daemon that has seen and done everything', look, this.#options.patienceMs).catch(
      (error: unknown) => {
        const last = this.logged.slice(-15).map((line) => JSON.stringify(line));
        throw new Error(`${String(error)}\n${JSON.stringify(this.status)}\n${last.join('\n')}`, { cause: error });
      },
    );
  }

  #isIdle(): boolean {
    const { endpointSlices, ...whole } = this.status;
    // Either kind may be switched off.
    const kinds = [whole, endpointSlices].filter((one) => one?.queue !== undefined) as SyncStatus[];
    return kinds.every(({ queue, objects }) => queue.waiting + queue.running === 0 && objects['retrying'] === 0);
  }

  async #hasSeenSlices(lists: {
    slices: KubeObject[];
    services: KubeObject[];
    hostSlices: KubeObject[];
  }): Promise<boolean> {
    const services = new Map(lists.services.map((object) => [keyOf(object), object]));
    const host = new Map(lists.hostSlices.map((object) => [keyOf(object), object]));
    for (const slice of lists.slices) {
      const { labels = {}, namespace, resourceVersion } = slice.metadata;
      if (labels['endpointslice.kubernetes.io/managed-by'] === 'endpointslice-controller.k8s.io') continue;
      const status = sliceStatusIn(await this.#daemon.objectStatus(keyOf(slice)));
      if (status?.virtual !== `resourceVersion ${resourceVersion}`) return false;
      if (status.service !== selectorOf(services.get(`${namespace}/${labels['kubernetes.io/service-name'] || '-'}`)))
        return false;
      const copy = status.hostObject === undefined ? undefined : host.get(status.hostObject);
      const wanted = copy === undefined ? 'missing' : `resourceVersion ${copy.metadata.resourceVersion}`;
      if (status.hostObject !== undefined && status.host !== wanted) return false;
    }
    return true;
  }

  async #hasSeen(lists: { virtual: KubeObject[]; services: KubeObject[]; host: KubeObject[] }): Promise<boolean> {
    const virtual = new Map(lists.virtual.map((object) => [keyOf(object), object]));
    const services = new Map(lists.services.map((object) => [keyOf(object), object]));
    const host = new Map(lists.host.map((object) => [keyOf(object), object]));
    const annotated = lists.host.flatMap(({ metadata: { annotations = {} } }) => {
      const [name, namespace] = [annotations[objectKeys.name], annotations[objectKeys.namespace]];
      return name && namespace ? [`${namespace}/${name}`] : [];
    });
    const version = (object: KubeObject | undefined): string =>
      object === undefined ? 'missing' : `resourceVersion ${object.metadata.resourceVersion}`;
    for (const key of new Set([...virtual.keys(), ...services.keys(), ...annotated])) {
      // With patches it takes a moment.
      const status = (await this.#daemon.objectStatus(key)) as ObjectStatus | undefined;
      // The status is that of a slice, because no Endpoints has this key.
      if (status?.kind === 'EndpointSlice' && !virtual.has(key)) continue;
      if ((status?.virtual ?? 'missing') !== version(virtual.get(key))) return false;
      if ((status?.service ?? 'missing') !== selectorOf(services.get(key))) return false;
      const at = status?.hostObject;
      if (at === undefined || status?.host === version(host.get(at))) continue;
      // In a mapping with patterns, the window has only objects with our marker label. An object that is gone is in no
      // window, and an object that waits for its name has work as soon as the daemon has seen that.
      if (!host.has(at) || annotated.includes(key)) return false;
    }
    return true;
  }
}

/** A slice may have the key of an Endpoints. */
function sliceStatusIn(found: unknown): ObjectStatus | undefined {
  const { alsoEndpointSlice, ...status } = (found ?? {}) as ObjectStatus & { alsoEndpointSlice?: ObjectStatus };
  return alsoEndpointSlice ?? (status.kind === 'EndpointSlice' ? status : undefined);
}

function selectorOf(service: KubeObject | undefined): string {
  if (service === undefined) return 'missing';
  const { selector } = service['spec'] as { selector?: object };
  return selector !== undefined && Object.keys(selector).length > 0 ? 'has a selector' : 'no selector';
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}
