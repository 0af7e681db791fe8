// Opens the connections to both clusters. In: the paths of the kubeconfigs, and how long a start may wait for a cluster.
// Out: two connections whose servers have answered with their version, or every fault of both clusters at once.

import { pause } from '../../clock.ts';
import { openCredentials } from '../../cluster/credentials/credentials.ts';
import type { ClusterFault } from '../../cluster/errors.ts';
import type { ClusterConnection } from '../../cluster/wire/connection.ts';
import { probe } from '../../cluster/wire/probe.ts';
import type { AddressState } from '../../cluster/wire/same-cluster.ts';
import { openConnection } from '../../cluster/wire/transport.ts';
import type { Settings } from '../../config/settings/settings.ts';
import { backOffMs } from '../../pace/back-off.ts';
import type { DaemonOptions } from '../options/daemon-options.ts';
import { compareClusters } from './compare-clusters.ts';

export type Reached =
  | { kind: 'reached'; virtual: ClusterConnection; host: ClusterConnection }
  | { kind: 'faults'; faults: readonly ClusterFault[] };

/** The pauses start short, as most API servers are up within seconds, and stay short enough to notice a late one soon. */
const tries = { firstMs: 250, mostMs: 5_000 };

/**
 * An API server that has just started refuses everybody for its first seconds, because it has not read yet who may do what. Whoever waits for a server
 * to start meets that; credentials that are wrong are refused for longer.
 */
const youngForMs = 15_000;
const refusals: ReadonlySet<ClusterFault['code']> = new Set(['CLUSTER_UNAUTHORIZED', 'CLUSTER_PERMISSION_MISSING']);

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
  /** An address in place of the one in the kubeconfig. */
  readonly server: string | undefined;
  connection: ClusterConnection | undefined;
  /** The namespace whose uid tells this cluster from another. */
  readonly namespace: string;
  version: string | undefined;
  /** Why the last attempt failed. */
  trouble: string | undefined;
  /** When the server refused the credentials first, in the attempts since it was reached. */
  refusedMs: number | undefined;
}

type Options = Pick<DaemonOptions, 'environment' | 'clock' | 'random' | 'log' | 'version' | 'waitMs' | 'connectors'>;

export class Clusters {
  readonly #options: Options;
  readonly #sides: readonly [Side, Side];
  readonly #seenWarnings = new Set<string>();
  readonly #stopping = new AbortController();
  #isTrying = false;

  constructor(
    options: Options,
    settings: Pick<Settings, 'virtualKubeconfig' | 'virtualServer' | 'hostKubeconfig' | 'hostNamespace'>,
  ) {
    const unreached = { connection: undefined, version: undefined, trouble: undefined, refusedMs: undefined };
    const { virtualKubeconfig, virtualServer, hostKubeconfig, hostNamespace } = settings;
    this.#options = options;
    this.#sides = [
      { ...unreached, name: 'virtual', kubeconfig: virtualKubeconfig, server: virtualServer, namespace: 'kube-system' },
      { ...unreached, name: 'host', kubeconfig: hostKubeconfig, server: undefined, namespace: hostNamespace },
    ];
  }

  get versions(): { virtual: string; host: string } {
    const [virtual, host] = this.#sides;
    return { virtual: virtual.version ?? '', host: host.version ?? '' };
  }

  /** Undefined until both clusters were reached. */
  get connections(): { virtual: ClusterConnection; host: ClusterConnection } | undefined {
    const [virtual, host] = this.#sides;
    if (virtual.version === undefined || host.version === undefined) return undefined;
    return { virtual: virtual.connection as ClusterConnection, host: host.connection as ClusterConnection };
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
        const same = await this.#sameCluster(reached);
        if (same !== undefined) return { kind: 'faults', faults: [same] };
        await Promise.all(this.#sides.map((side) => this.#pin(side)));
        if (logged.size > 0) this.#options.log.info({ component: 'main' }, 'both clusters can be reached');
        return { kind: 'reached', ...reached };
      }
      const leftMs = endMs - clock.now();
      if (leftMs <= 0 || signal.aborted || !faults.every((fault) => fault.mayPass)) return { kind: 'faults', faults };
      this.#logTroubles(faults, logged, waitMs);
      const pauseMs = backOffMs(attempt + 1, tries) * (0.75 + random() / 4);
      await pause(clock, Math.min(pauseMs, leftMs), signal);
    }
  }

  async #sameCluster({ virtual, host }: { virtual: ClusterConnection; host: ClusterConnection }) {
    const compared = await compareClusters(virtual, host, this.#sides[1].namespace);
    if (compared.kind !== 'one') return undefined;
    const same: ClusterFault = {
      code: 'CLUSTER_KUBECONFIG_INVALID',
      message: `both kubeconfigs lead to ${compared.found}`,
      fix: `name the kubeconfig of the virtual cluster by ${kubeconfigBy.virtual}, and that of its host by ${kubeconfigBy.host}`,
    };
    return same;
  }

  /** Before this every server that a kubeconfig names is taken, because nothing has been read yet. */
  async #pin({ connection, namespace, name }: Side): Promise<void> {
    if (connection === undefined) return;
    const path = `/api/v1/namespaces/${namespace}`;
    const answer = await connection.request({ method: 'GET', path });
    const uid = answer.kind === 'ok' ? answer.object.metadata?.uid : undefined;
    if (uid === undefined) {
      const trouble = 'message' in answer ? answer.message : 'it has no uid';
      const note = `the uid of the namespace "${namespace}" cannot be read, so another server in the kubeconfig is taken by a restart only`;
      this.#options.log.warn({ component: 'main', cluster: name, trouble }, note);
    }
    connection.pin({ path, uid });
  }

  /** Reads both kubeconfigs at once, as after a signal of the operator. */
  reread(): void {
    for (const { connection } of this.#sides) void connection?.reread();
  }

  /** The servers in use, and what the kubeconfigs name otherwise. */
  get addresses(): readonly (AddressState & { cluster: Side['name'] })[] {
    return this.#sides.flatMap(({ name, connection }) => (connection ? { cluster: name, ...connection.address } : []));
  }

  /** Nothing may be written while a kubeconfig names a server that is not known to be the same cluster. */
  get areInDoubt(): boolean {
    return this.#sides.some(({ connection }) => connection?.address.isInDoubt);
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
    const faults = this.#withYouth(side, await this.#faultsOf(side)).map(reaching);
    side.trouble = faults.length === 0 ? undefined : faults.map(({ message }) => message).join('; ');
    return faults;
  }

  #withYouth(side: Side, faults: readonly ClusterFault[]): readonly ClusterFault[] {
    const nowMs = this.#options.clock.now();
    side.refusedMs = faults.some(({ code }) => refusals.has(code)) ? (side.refusedMs ?? nowMs) : undefined;
    if (side.refusedMs === undefined || nowMs - side.refusedMs >= youngForMs) return faults;
    return faults.map((fault) => (refusals.has(fault.code) ? { ...fault, mayPass: true } : fault));
  }

  async #faultsOf(side: Side): Promise<readonly ClusterFault[]> {
    const { environment, clock, log, version, connectors } = this.#options;
    if (side.connection === undefined) {
      const opened = await openCredentials({ kubeconfig: side.kubeconfig, server: side.server, environment });
      if (opened.kind === 'faults') return opened.faults;
      if (this.#stopping.signal.aborted) return [];
      const { name } = side;
      const { credentials } = opened;
      const connector = connectors?.[name];
      side.connection = openConnection({
        name,
        credentials,
        clock,
        log,
        seenWarnings: this.#seenWarnings,
        version,
        connector,
      });
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
