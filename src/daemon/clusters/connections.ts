// Opens the connections to both clusters. In: the paths of the kubeconfigs, and how long a start may wait for a cluster.
// Out: two connections whose servers have answered with their version, or every fault of both clusters at once.

import { pause } from '../../clock.ts';
import { openCredentials } from '../../cluster/credentials/credentials.ts';
import type { ClusterFault } from '../../cluster/errors.ts';
import type { Connection } from '../../cluster/wire/connection.ts';
import { probe } from '../../cluster/wire/probe.ts';
import { openConnection } from '../../cluster/wire/transport.ts';
import type { Settings } from '../../config/settings/settings.ts';
import type { DaemonOptions } from '../daemon-options.ts';

export type Reached =
  | { kind: 'reached'; virtual: Connection; host: Connection }
  | { kind: 'faults'; faults: readonly ClusterFault[] };

/** The pauses start short, as most API servers are up within seconds, and stay short enough to notice a late one soon. */
const firstPauseMs = 250;
const longestPauseMs = 5_000;

/** Faults that mean that no usable kubeconfig was named. */
const lacksKubeconfig: ReadonlySet<ClusterFault['code']> = new Set([
  'CLUSTER_KUBECONFIG_UNREADABLE',
  'CLUSTER_NOT_IN_CLUSTER',
]);
const kubeconfigBy = {
  virtual: '--virtual-kubeconfig or hostward.virtualKubeconfig',
  host: '--host-kubeconfig or hostward.hostKubeconfig',
} as const;

interface Side {
  readonly name: 'virtual' | 'host';
  readonly kubeconfig: string | undefined;
  connection: Connection | undefined;
  /** The address in the kubeconfig. */
  server: string | undefined;
  version: string | undefined;
  /** Why the last attempt failed. */
  trouble: string | undefined;
}

type Options = Pick<DaemonOptions, 'environment' | 'clock' | 'random' | 'log' | 'version' | 'waitMs'>;

export class Clusters {
  readonly #options: Options;
  readonly #sides: readonly [Side, Side];
  readonly #seenWarnings = new Set<string>();
  readonly #stopping = new AbortController();
  #isTrying = false;

  constructor(options: Options, settings: Pick<Settings, 'virtualKubeconfig' | 'hostKubeconfig'>) {
    const side = (name: Side['name'], kubeconfig: string | undefined): Side => {
      return { name, kubeconfig, connection: undefined, server: undefined, version: undefined, trouble: undefined };
    };
    this.#options = options;
    this.#sides = [side('virtual', settings.virtualKubeconfig), side('host', settings.hostKubeconfig)];
  }

  get versions(): { virtual: string; host: string } {
    const [virtual, host] = this.#sides;
    return { virtual: virtual.version ?? '', host: host.version ?? '' };
  }

  /** Undefined until both clusters were reached. */
  get connections(): { virtual: Connection; host: Connection } | undefined {
    const [virtual, host] = this.#sides;
    if (virtual.version === undefined || host.version === undefined) return undefined;
    return { virtual: virtual.connection as Connection, host: host.connection as Connection };
  }

  /** The faults that a waiting start waits out; empty when the start does not wait. */
  get troubles(): readonly string[] {
    if (!this.#isTrying) return [];
    return this.#sides.flatMap(({ trouble }) => trouble ?? []);
  }

  /** The troubles by cluster. */
  get unreached(): readonly { cluster: Side['name']; message: string }[] {
    if (!this.#isTrying) return [];
    return this.#sides.flatMap(({ name, trouble }) => (trouble ? { cluster: name, message: trouble } : []));
  }

  async reach(): Promise<Reached> {
    this.#isTrying = true;
    try {
      return await this.#tryUntilReached();
    } finally {
      this.#isTrying = false;
    }
  }

  async #tryUntilReached(): Promise<Reached> {
    const { clock, random, waitMs = 0 } = this.#options;
    const { signal } = this.#stopping;
    const endMs = clock.now() + waitMs;
    const logged = new Set<string>();
    for (let attempt = 0; ; attempt++) {
      const faults = (await Promise.all(this.#sides.map((side) => this.#try(side)))).flat();
      const reached = this.connections;
      if (reached !== undefined && faults.length === 0) {
        const same = this.#sameServer();
        if (same !== undefined) return { kind: 'faults', faults: [same] };
        if (logged.size > 0) this.#options.log.info({ component: 'main' }, 'both clusters can be reached');
        return { kind: 'reached', ...reached };
      }
      const leftMs = endMs - clock.now();
      if (leftMs <= 0 || signal.aborted || !faults.every((fault) => fault.mayPass)) return { kind: 'faults', faults };
      this.#logTroubles(faults, logged, waitMs);
      const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(attempt, 10)) * (0.75 + random() / 4);
      await pause(clock, Math.min(pauseMs, leftMs), signal);
    }
  }

  /** A host that counts as its own virtual cluster lacks every tenant's object, so that all copies would go. */
  #sameServer(): ClusterFault | undefined {
    const [virtual, host] = this.#sides;
    if (virtual.server === undefined || virtual.server !== host.server) return undefined;
    return {
      code: 'CLUSTER_KUBECONFIG_INVALID',
      message: `both kubeconfigs lead to the API server ${host.server}`,
      fix: `name the kubeconfig of the virtual cluster by ${kubeconfigBy.virtual}, and that of its host by ${kubeconfigBy.host}`,
    };
  }

  /** Asks only a side that has not answered yet. */
  async #try(side: Side): Promise<readonly ClusterFault[]> {
    if (side.version !== undefined) return [];
    // Names the side, because both kubeconfigs may point at the same address.
    const reaching = (fault: ClusterFault): ClusterFault => ({
      ...fault,
      message: `reaching the ${side.name} cluster: ${fault.message}`,
      ...(lacksKubeconfig.has(fault.code) && { fix: `${fault.fix}, by ${kubeconfigBy[side.name]}` }),
    });
    const faults = (await this.#faultsOf(side)).map(reaching);
    side.trouble = faults.length === 0 ? undefined : faults.map(({ message }) => message).join('; ');
    return faults;
  }

  async #faultsOf(side: Side): Promise<readonly ClusterFault[]> {
    const { environment, clock, log, version } = this.#options;
    if (side.connection === undefined) {
      const opened = await openCredentials({ kubeconfig: side.kubeconfig, environment });
      if (opened.kind === 'faults') return opened.faults;
      if (this.#stopping.signal.aborted) return [];
      const { name } = side;
      const { credentials } = opened;
      side.server = new URL(credentials.server).href;
      side.connection = openConnection({ name, credentials, clock, log, seenWarnings: this.#seenWarnings, version });
    }
    const result = await probe(side.connection);
    if (result.kind === 'faults') return result.faults;
    side.version = result.version;
    return [];
  }

  #logTroubles(faults: readonly ClusterFault[], logged: Set<string>, waitMs: number): void {
    for (const { message, fix } of faults) {
      if (logged.has(message)) continue;
      logged.add(message);
      const waitSeconds = Math.round(waitMs / 1000);
      this.#options.log.warn({ component: 'main', trouble: message, fix, waitSeconds }, 'waiting for a cluster');
    }
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#sides.map(({ connection }) => connection?.close()));
  }
}

/** Host clusters set endpoints.kubernetes.io/managed-by from Kubernetes 1.33 on. */
export function isRecent(version: string): boolean {
  const [, major = '0', minor = '0'] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 1 || Number(minor) >= 33;
}
