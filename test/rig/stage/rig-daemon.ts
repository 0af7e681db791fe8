// One daemon of a run, whole, in this process: with a clock of its own, sockets of the fault proxies, and its log in memory. It can be
// stopped well, killed at any moment, held as by SIGSTOP, and its wall clock can jump.
import { buildConnector } from 'undici';
import type { SocketOpener } from '../../../src/cluster/wire/pools.ts';
import { loadConfiguration } from '../../../src/config/load/load.ts';
import { daemonModule } from '../../../src/daemon/daemon.ts';
import type { Daemon } from '../../../src/daemon/options/daemon-options.ts';
import { withPatches } from '../../../src/daemon/options/load-patches.ts';
import type { SandboxSetup } from '../../../src/expression/realm/harness.ts';
import type { Sandbox } from '../../../src/expression/sandbox/sandbox.ts';
import { createLog } from '../../../src/log.ts';
import { createMetrics, type Metrics } from '../../../src/metrics.ts';
import type { Chance } from '../play/random.ts';
import type { FaultProxy } from '../proxy/fault-proxy.ts';
import { RememberedSandbox } from './remembered-sandbox.ts';
import { DaemonClock, type RigClock } from './rig-clock.ts';
import type { RigSide } from './rig-cluster.ts';

export interface RigDaemonOptions {
  name: string;
  clock: RigClock;
  chance: Chance;
  proxies: Readonly<Record<RigSide, FaultProxy>>;
  kubeconfigs: Readonly<Record<RigSide, string>>;
  configuration: object;
  virtualCluster: string;
  hostNamespace: string;
  sandboxMs?: number | undefined;
  /** Called when the process would have ended by itself. */
  ended(): void;
}

export class RigDaemon {
  readonly name: string;
  readonly clock: DaemonClock;
  readonly metrics: Metrics = createMetrics();
  readonly log: string[] = [];
  state: 'new' | 'starting' | 'running' | 'stopping' | 'stopped' | 'dead' | 'failed' = 'new';
  /** Why it did not start. */
  failure: string | undefined;
  readonly #options: RigDaemonOptions;
  readonly #daemon: Daemon;
  readonly #sandboxes = new Set<Sandbox>();

  constructor(options: RigDaemonOptions) {
    this.name = options.name;
    this.#options = options;
    this.clock = new DaemonClock(options.clock);
    const { settings, patches } = this.#load(options.configuration);
    const connector =
      (side: RigSide): SocketOpener =>
      (tls) => {
        // Its own limit runs on the clock of the machine, and what it remembers of sessions goes when memory is collected.
        const secure = buildConnector({ ...tls, timeout: 0, maxCachedSessions: 0, allowH2: false });
        return (at, done) => {
          if (!this.isAlive) return;
          options.proxies[side].connect({ daemon: this.name, hostname: at.hostname }, (error, socket) => {
            if (error !== null) done(error, null);
            else if (at.protocol === 'https:') secure({ ...at, httpSocket: socket as never }, done);
            else done(null, socket as never);
          });
        };
      };
    this.#daemon = daemonModule.assembleDaemon({
      settings,
      ...(patches && { patches, nodePath: process.execPath }),
      isDryRun: false,
      waitMs: 3_600_000,
      log: createLog({ level: 'info', destination: { write: (line) => void this.log.push(line) } }),
      clock: this.clock,
      random: options.chance.next,
      metrics: this.metrics,
      environment: { POD_NAME: options.name },
      version: 'rig',
      connectors: { virtual: connector('virtual'), host: connector('host') },
      openSandbox: (setup) => this.#openSandbox(setup),
    });
  }

  /** A sandbox that dies with the daemon: nobody answers a dead one. */
  #openSandbox(setup: SandboxSetup): Sandbox {
    const { sandboxMs = 0 } = this.#options;
    const pace = { clock: this.clock, ms: sandboxMs };
    const sandbox: Sandbox = new RememberedSandbox(setup, { pace, stopped: () => this.#sandboxes.delete(sandbox) });
    this.#sandboxes.add(sandbox);
    return sandbox;
  }

  #load(configuration: object) {
    const { kubeconfigs, virtualCluster, hostNamespace } = this.#options;
    const loaded = withPatches(
      loadConfiguration({
        files: [{ name: 'rig', text: JSON.stringify(configuration) }],
        flags: {
          virtualClusterName: virtualCluster,
          hostNamespace,
          virtualKubeconfig: kubeconfigs.virtual,
          hostKubeconfig: kubeconfigs.host,
        },
      }),
    );
    if (loaded.kind === 'faults') throw new Error(`configuration of the rig: ${JSON.stringify(loaded.faults)}`);
    return { settings: loaded.settings, patches: loaded.compiled };
  }

  get isAlive(): boolean {
    return this.state !== 'dead' && this.state !== 'stopped';
  }

  #fail(why: string): void {
    if (this.state !== 'starting' && this.state !== 'running') return;
    this.state = 'failed';
    this.failure = why;
    this.#options.ended();
  }

  begin(): void {
    this.state = 'starting';
    this.#daemon.start().then(
      (started) => {
        if (started.kind === 'faults') this.#fail(started.faults.map(({ message }) => message).join('; '));
        else if (this.state === 'starting') this.state = 'running';
      },
      (error: unknown) => this.#fail(String(error)),
    );
    void this.#daemon.ended.then((why) => this.#fail(why));
  }

  /** SIGTERM: resolves when the daemon has ended by itself. */
  async stop(): Promise<void> {
    if (!this.isAlive) return;
    this.state = 'stopping';
    await this.#daemon.stop();
    if (this.state === 'stopping') this.state = 'stopped';
  }

  /** kill -9: no timer fires, no byte leaves, no answer arrives. */
  kill(): void {
    if (!this.isAlive) return;
    this.state = 'dead';
    this.clock.kill();
    for (const proxy of Object.values(this.#options.proxies)) proxy.reset(this.name);
    for (const one of this.#sandboxes) void one.stop();
    this.#sandboxes.clear();
  }

  isHeld = false;

  /** SIGSTOP, and SIGCONT. */
  hold(): void {
    this.isHeld = true;
    this.clock.hold();
    for (const proxy of Object.values(this.#options.proxies))
      for (const [wire, of] of proxy.wires) if (of === this.name) wire.hold('client');
  }

  resume(): void {
    this.isHeld = false;
    for (const proxy of Object.values(this.#options.proxies))
      for (const [wire, of] of proxy.wires) if (of === this.name) wire.release('client');
    this.clock.resume();
  }

  apply(configuration: object): void {
    if (!this.isAlive) return;
    const { settings, patches } = this.#load(configuration);
    this.#daemon.apply(settings, patches);
  }

  get isReady(): boolean {
    return this.state === 'running' && this.#daemon.readiness().isReady;
  }

  /** By kind: the sum of all lags that the metric has, and of how many changes. */
  lags(): Map<string, { ms: number; changes: number }> {
    // The library's own way to read is asynchronous, and time would have moved on.
    const metric = this.metrics.getSingleMetric('hostward_sync_lag_seconds') as unknown as LagMetric | undefined;
    return new Map(
      Object.values(metric?.hashMap ?? {}).map(({ labels, sum, count }) => [
        labels.kind,
        { ms: sum * 1000, changes: count },
      ]),
    );
  }

  /** What its proofs have mended. */
  get missedChanges(): number {
    const name = 'hostward_watch_missed_changes_total';
    const metric = this.metrics.getSingleMetric(name) as unknown as { hashMap: Record<string, { value: number }> };
    return Object.values(metric?.hashMap ?? {}).reduce((sum, { value }) => sum + value, 0);
  }

  get status(): DaemonStatus {
    return this.#daemon.status() as DaemonStatus;
  }
}

interface LagMetric {
  hashMap: Record<string, { labels: { kind: string }; sum: number; count: number }>;
}

/** What the rig reads of `hostward status -o json`. */
export interface DaemonStatus {
  verdict: { isWell: boolean; state: string; sentence: string };
  leadership: string;
  uptimeSeconds: number;
  /** Undefined where no list has proven what the window holds. */
  windows?: readonly { window: string; provenSecondsAgo: number }[];
  outages?: readonly { cluster: string; kind: string; seconds: number; message: string }[];
  queue?: { waiting: number; running: number; delayed: number };
  objects?: Record<string, number>;
  endpointSlices?: {
    queue?: { waiting: number; running: number };
    objects?: Record<string, number>;
    trouble?: readonly { object: string; state: string }[];
  };
  trouble?: readonly { object: string; state: string }[];
}
