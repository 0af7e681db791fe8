// Virtual clusters in one process, on one embedded host: they share the queue, the way to the host, the clock and what opens
// sandboxes, as a fleet does. Each has a virtual API server, settings and metrics of its own.

import type { ClusterConnection } from '../../src/cluster/wire/connection.ts';
import { openConnection } from '../../src/cluster/wire/transport.ts';
import { openWriter } from '../../src/cluster/write/open-writer.ts';
import { loadConfiguration } from '../../src/config/load/load.ts';
import type { Settings } from '../../src/config/settings/settings.ts';
import { type LoadedPatches, withPatches } from '../../src/daemon/options/load-patches.ts';
import type { RegisteredKind } from '../../src/daemon/synced/kinds.ts';
import { SyncedCluster } from '../../src/daemon/synced/synced-cluster.ts';
import { type Devcluster, startDevcluster } from '../../src/devcluster/devcluster.ts';
import { silentLog } from '../../src/log.ts';
import { createMetrics } from '../../src/metrics.ts';
import type { KubeObject } from '../../src/object/meta/object.ts';
import { WorkQueue } from '../../src/queue/work-queue.ts';
import { ApiClient } from '../contract/client.ts';
import { until } from '../contract/sync-stage/backend.ts';
import { InProcessSandbox } from '../expression/in-process-sandbox.ts';
import { JumpClock } from '../jump-clock.ts';

export const hostNamespace = 'tenants';

/** An embedded API server, a client for the test and a connection for sync. */
export class Server {
  readonly cluster: Devcluster;
  readonly client: ApiClient;
  readonly connection: ClusterConnection;

  readonly #held: { patches: Promise<void> | undefined };

  private constructor(
    cluster: Devcluster,
    client: ApiClient,
    connection: ClusterConnection,
    held: { patches: Promise<void> | undefined },
  ) {
    this.cluster = cluster;
    this.client = client;
    this.connection = connection;
    this.#held = held;
  }

  /** From now on no patch is answered until the returned function is called. */
  holdPatches(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held.patches = promise;
    return resolve;
  }

  static async start(name: string, clock: JumpClock): Promise<Server> {
    const held: { patches: Promise<void> | undefined } = { patches: undefined };
    const cluster = await startDevcluster({
      name,
      async intercept(_, { method }) {
        if (method === 'PATCH') await held.patches;
        return { kind: 'pass' };
      },
    });
    const { url, caPem, adminToken } = cluster;
    const tls = { ca: caPem, cert: undefined, key: undefined, servername: undefined, rejectUnauthorized: true };
    const headers = { authorization: `Bearer ${adminToken}` };
    const read = async () => ({ server: url, proxy: undefined, headers, tls, from: 'files' as const });
    const credentials = { server: url, source: 'the test', namespace: undefined, proxy: undefined, read };
    const connection = openConnection({ name, credentials, clock, log: silentLog });
    return new Server(cluster, new ApiClient({ url, caPem, token: adminToken }), connection, held);
  }

  /** Creates an object, or replaces it. */
  async put({ apiVersion = 'v1', kind = '', ...object }: Partial<KubeObject>): Promise<void> {
    const { namespace = 'default', name = '' } = object.metadata ?? {};
    const path = `${pathOf(kind)}`.replace('NS', namespace);
    const metadata = { ...object.metadata, namespace };
    const body = { apiVersion, kind, ...object, metadata };
    const made = await this.client.request('POST', path, { body });
    const { status } = made.status === 409 ? await this.client.request('PUT', `${path}/${name}`, { body }) : made;
    if (status > 201) throw new Error(`${kind} ${name} was answered ${status}: ${made.text}`);
  }

  async patch(kind: string, name: string, mergePatch: object, namespace = hostNamespace): Promise<void> {
    const headers = { 'content-type': 'application/merge-patch+json' };
    const path = `${pathOf(kind)}/${name}`.replace('NS', namespace);
    const { status, text } = await this.client.request('PATCH', path, { headers, body: mergePatch });
    if (status !== 200) throw new Error(`${kind} ${name} was answered ${status}: ${text}`);
  }

  async get(kind: string, name: string, namespace = hostNamespace): Promise<KubeObject | undefined> {
    const { status, json } = await this.client.request('GET', `${pathOf(kind)}/${name}`.replace('NS', namespace));
    return status === 200 ? (json as KubeObject) : undefined;
  }

  async remove(kind: string, name: string, namespace = 'default'): Promise<void> {
    await this.client.request('DELETE', `${pathOf(kind)}/${name}`.replace('NS', namespace));
  }

  async stop(): Promise<void> {
    await this.connection.close();
    await this.client.close();
    await this.cluster.stop();
  }
}

function pathOf(kind: string): string {
  const group = kind === 'EndpointSlice' ? '/apis/discovery.k8s.io/v1' : '/api/v1';
  const plural = kind === 'Endpoints' ? 'endpoints' : `${kind.toLowerCase()}s`;
  return kind === 'Namespace' ? `${group}/namespaces` : `${group}/namespaces/NS/${plural}`;
}

export interface Tenant {
  name: string;
  virtual: Server;
  cluster: SyncedCluster;
  /** Takes another configuration, as after a reload. */
  reload(configuration: object): Promise<void>;
  /** Writes that the host answered for this tenant. */
  readonly writes: number;
  /** No virtual object of the tenant waits. */
  atRest(): Promise<void>;
}

export class Fleet {
  readonly clock = new JumpClock();
  readonly queue = new WorkQueue(this.clock);
  host!: Server;
  readonly #tenants: Tenant[] = [];

  async start(): Promise<this> {
    this.host = await Server.start('host', this.clock);
    await this.host.client.request('POST', '/api/v1/namespaces', { body: { metadata: { name: hostNamespace } } });
    return this;
  }

  /** `virtual`: of a tenant that was here before. */
  async add(name: string, configuration: object, kinds?: readonly RegisteredKind[], virtual?: Server): Promise<Tenant> {
    const { clock, queue, host } = this;
    await host.put({ kind: 'Service', metadata: { name, namespace: hostNamespace }, spec: { ports: [{ port: 443 }] } });
    virtual ??= await Server.start(name, clock);
    const { connection } = virtual;
    let { settings, patches } = read(name, configuration);
    const shared = { clock, random: Math.random, log: silentLog, metrics: createMetrics() };
    const cluster = new SyncedCluster({
      ...shared,
      ...(patches && { patches }),
      ...(kinds && { kinds }),
      settings: () => settings,
      queue,
      isDryRun: false,
      openSandbox: (setup) => new InProcessSandbox(setup),
      connections: () => ({ virtual: connection, host: host.connection }),
      end: (why) => {
        throw new Error(why);
      },
    });
    let writes = 0;
    const write = { ...shared, permit: () => true, fieldManager: 'hostward' };
    await cluster.prepare(settings, patches);
    await cluster.begin({
      connections: { virtual: connection, host: host.connection },
      virtualWriter: openWriter({ ...write, connection }),
      hostWriter: openWriter({ ...write, connection: host.connection, onAnswer: () => void writes++ }),
      isHostRecent: true,
      isLeading: () => true,
    });
    const tenant: Tenant = {
      name,
      virtual,
      cluster,
      async reload(next) {
        ({ settings, patches } = read(name, next));
        await cluster.take(settings, patches, async () => {});
      },
      get writes() {
        return writes;
      },
      atRest: () =>
        until(`${name} at rest`, () =>
          cluster.syncs.every(({ isReady, queue: part }) => isReady && part.isIdle) ? true : undefined,
        ).then(() => {}),
    };
    this.#tenants.push(tenant);
    await tenant.atRest();
    return tenant;
  }

  async remove(tenant: Tenant): Promise<void> {
    await this.#end(tenant);
    await tenant.virtual.stop();
  }

  /** Stops the sync of a tenant and starts it with another configuration. */
  async restart(tenant: Tenant, configuration: object): Promise<Tenant> {
    await this.#end(tenant);
    return this.add(tenant.name, configuration, undefined, tenant.virtual);
  }

  async #end(tenant: Tenant): Promise<void> {
    this.#tenants.splice(this.#tenants.indexOf(tenant), 1);
    await tenant.cluster.stop(1000);
  }

  async stop(): Promise<void> {
    for (const tenant of [...this.#tenants]) await this.remove(tenant);
    await this.host.stop();
  }
}

function read(name: string, configuration: object): { settings: Settings; patches: LoadedPatches | undefined } {
  const files = [{ name: 'test', text: JSON.stringify(configuration) }];
  const loaded = withPatches(loadConfiguration({ files, flags: { virtualClusterName: name, hostNamespace } }));
  if (loaded.kind === 'faults') throw new Error(`configuration of the test: ${JSON.stringify(loaded.faults)}`);
  const hasPatches = loaded.patches.length + loaded.slices.patches.length > 0;
  return { settings: loaded.settings, patches: hasPatches ? loaded.compiled : undefined };
}
