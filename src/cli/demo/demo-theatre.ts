// Sets up the demo: two embedded API servers, the daemon between them, a client and a kubeconfig for each side. The parts are
// opened in the order in which they need each other, and closed in reverse.
import { resolve } from 'node:path';
import { openCredentials } from '../../cluster/credentials/credentials.ts';
import type { Connection } from '../../cluster/wire/connection.ts';
import { namespacesResource, type ResourceRef, servicesResource } from '../../cluster/wire/scope.ts';
import { openConnection } from '../../cluster/wire/transport.ts';
import { loadConfiguration } from '../../config/load/load.ts';
import type { ManagementSettings } from '../../config/settings/management-settings.ts';
import type { Settings } from '../../config/settings/settings.ts';
import { OperationsServer } from '../../daemon/operations/operations-server.ts';
import type { Daemon } from '../../daemon/options/daemon-options.ts';
import { type LoadedPatches, withPatches } from '../../daemon/options/load-patches.ts';
import { type Devcluster, startDevcluster } from '../../devcluster/devcluster.ts';
import { silentLog } from '../../log.ts';
import { userName } from '../../management/proxy/forward/upstream-identity.ts';
import { subjectNamed, type UpstreamPlace, upstreamObjects } from '../../management/proxy/upstream-roles.ts';
import { createMetrics } from '../../metrics.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { Pages } from '../../pages/pages.ts';
import { shellWord } from '../../safe-text.ts';
import type { StartedAs } from '../../sync/report/attention/own-commands.ts';
import type { Side } from '../line/cluster-client.ts';
import { ClusterClient, expectOk } from '../line/cluster-client.ts';
import { clusterFault } from '../line/cluster-fault.ts';
import type { Context } from '../line/context.ts';
import { freeFolder, kubeconfigIn } from './demo-folder.ts';
import { DemoManagement } from './demo-management.ts';
import { demoConfiguration, patchLines } from './demo-patches.ts';
import { hostNamespace, namespaceObject, virtualClusterName } from './demo-story.ts';

export const sides: readonly Side[] = ['virtual', 'host'];

export class Theatre {
  readonly context: Context;
  #folder: string;
  /** Folders of demos, which the end removes when nothing is left in them. */
  #madeFolders: readonly string[] = [];
  readonly #clusters = new Map<Side, Devcluster>();
  readonly #connections = new Map<Side, Connection>();
  #daemon: Daemon | undefined;
  #operations: OperationsServer | undefined;
  #management: DemoManagement | undefined;

  constructor(context: Context, options: { folder: string }) {
    this.context = context;
    this.#folder = options.folder;
  }

  /** Absolute, so that the printed commands work in any folder. */
  get folder(): string {
    return resolve(this.context.cwd, this.#folder);
  }

  /** Relative to the folder in which the user started the demo. */
  kubeconfigOf(side: Side): string {
    return kubeconfigIn(this.#folder, side);
  }

  connectionOf(side: Side): Connection {
    return this.#connections.get(side) as Connection;
  }

  client(side: Side): ClusterClient {
    return new ClusterClient(this.connectionOf(side));
  }

  get daemon(): Daemon | undefined {
    return this.#daemon;
  }

  /** One line for each patch, with its counts. */
  patchLines(): string[] {
    const status = this.#daemon?.status() as { patches?: Parameters<typeof patchLines>[0] } | undefined;
    return patchLines(status?.patches ?? []);
  }

  /** The address for `hostward status --address`. */
  get statusAddress(): string {
    const { host, port } = this.#operations?.address ?? { host: '', port: 0 };
    return `${host}:${port}`;
  }

  /** Commands that make a first access key, use it, and end it. */
  get keyCommands(): readonly string[] {
    return this.#management?.keyCommands ?? [];
  }

  /** Ways into the clusters behind the management API. */
  get accessCommands(): readonly string[] {
    return this.#management?.accessCommands ?? [];
  }

  async open(): Promise<void> {
    const { context } = this;
    // A second demo must not overwrite the kubeconfigs of a running demo.
    const named = this.#folder;
    this.#folder = await freeFolder(context, named);
    const isThere = (await context.files.modeOf(this.folder)) !== undefined;
    // A demo in a folder of its own below that of another one may be the last that ends.
    this.#madeFolders = [
      ...(isThere ? [] : [this.folder]),
      ...(this.#folder === named ? [] : [resolve(context.cwd, named)]),
    ];
    await context.files.makeFolder(this.folder, { mode: 0o700 });
    this.#management = new DemoManagement(context, this.#folder);
    const clientCa = await this.#management.clientAuthority();
    for (const side of sides) await this.#openSide(side, clientCa);
    await this.#openManagement(this.#management);
    const host = this.client('host');
    expectOk(await host.create(namespacesResource, namespaceObject(hostNamespace)), 'prepare the host');
    // The daemon makes this Service the owner of all copies; on a real host it is the Service of the virtual cluster.
    expectOk(await host.create(servicesResource, ownerService()), 'prepare the host');
  }

  async #openManagement(management: DemoManagement): Promise<void> {
    const settings = await management.open(this.#clusters.get('virtual') as Devcluster);
    for (const { name } of settings.clusters) await writeRoles(this.client('host'), settings, { cluster: name });
    await bindMembers(this.client('host'), ['alice', 'admin']);
    for (const { name: project, virtualClusters } of settings.projects)
      for (const { name: virtualCluster } of virtualClusters)
        await writeRoles(this.client('virtual'), settings, { project, virtualCluster });
  }

  async #openSide(side: Side, clientCa: string): Promise<void> {
    const { clock, environment, version, cwd, files } = this.context;
    const cluster = await startDevcluster({ name: side, clock, log: silentLog, authorization: 'rbac', clientCa });
    this.#clusters.set(side, cluster);
    const path = resolve(cwd, this.kubeconfigOf(side));
    await files.write(path, kubeconfigOf(side, cluster), { mode: 0o600 });
    const opened = await openCredentials({ kubeconfig: path, environment });
    if (opened.kind === 'faults') throw clusterFault(opened.faults);
    const { credentials } = opened;
    this.#connections.set(side, openConnection({ name: side, credentials, clock, log: silentLog, version }));
  }

  async startDaemon(): Promise<void> {
    const { clock, random, environment, version, nodePath, loadDaemon } = this.context;
    const { assembleDaemon } = await loadDaemon();
    const metrics = createMetrics();
    const { settings, compiled } = this.#configuration();
    const daemon = assembleDaemon({
      settings,
      patches: compiled,
      nodePath,
      isDryRun: false,
      log: silentLog,
      clock,
      random,
      metrics,
      environment,
      version,
    });
    this.#daemon = daemon;
    const started = await daemon.start();
    if (started.kind === 'faults') throw clusterFault(started.faults);
    const status = () => ({ ...(daemon.status() as object), startedAs: this.#startedAs() });
    this.#operations = new OperationsServer(
      { host: '127.0.0.1', port: 0 },
      {
        health: () => daemon.health(),
        readiness: () => daemon.readiness(),
        metrics: async () => ({ contentType: metrics.contentType, text: await metrics.metrics() }),
        status,
        objects: (filter) => daemon.objects(filter),
        objectStatus: (key) => daemon.objectStatus(key),
      },
      {
        pages: new Pages({
          clock,
          status,
          facts: daemon.pageFacts,
          port: () => this.#operations?.address.port ?? 0,
        }),
      },
    );
    await this.#operations.start();
  }

  async stopDaemon(): Promise<void> {
    await this.#daemon?.stop();
    await this.#operations?.stop();
    this.#daemon = undefined;
    this.#operations = undefined;
  }

  async close(): Promise<void> {
    await this.stopDaemon();
    await this.#management?.close();
    for (const connection of this.#connections.values()) await connection.close();
    for (const [side, cluster] of this.#clusters) {
      await cluster.stop();
      await this.context.files.remove(resolve(this.context.cwd, this.kubeconfigOf(side)));
    }
    for (const folder of this.#madeFolders) await this.context.files.removeEmptyFolder(folder);
  }

  /** The program in the folder of the demo runs in any folder. */
  #startedAs(): StartedAs {
    const hostKubeconfig = resolve(this.folder, kubeconfigIn('', 'host'));
    const virtualKubeconfig = resolve(this.folder, kubeconfigIn('', 'virtual'));
    const named = {
      'vcluster-name': virtualClusterName,
      'host-namespace': hostNamespace,
      'virtual-kubeconfig': virtualKubeconfig,
      'host-kubeconfig': hostKubeconfig,
    };
    const program = shellWord(this.#management?.program ?? 'hostward');
    const files = this.#management?.configurationPaths ?? [];
    const options = [...files.map((file) => ['config', file]), ...Object.entries(named)].map(([option, value]) => ({
      option: option as string,
      value: value as string,
    }));
    return { program, options, restart: `${program} demo`, hostKubeconfig, virtualKubeconfig, isAdministrator: true };
  }

  #configuration(): { settings: Settings; compiled: LoadedPatches } {
    const loaded = loadConfiguration({
      files: [{ name: 'demo', text: demoConfiguration }],
      flags: {
        virtualClusterName,
        hostNamespace,
        virtualKubeconfig: resolve(this.context.cwd, this.kubeconfigOf('virtual')),
        hostKubeconfig: resolve(this.context.cwd, this.kubeconfigOf('host')),
      },
    });
    if (loaded.kind === 'faults') throw new Error(`the configuration of the demo: ${loaded.faults[0]?.sentence}`);
    const { compiled } = withPatches(loaded);
    return { settings: loaded.settings, compiled };
  }
}

function ownerService(): KubeObject {
  const spec = { ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 8443 }] };
  return { apiVersion: 'v1', kind: 'Service', metadata: { namespace: hostNamespace, name: virtualClusterName }, spec };
}

/** Makes kubectl look in the virtual cluster's namespace on the host, because everything on the host happens there. */
function kubeconfigOf(side: Side, cluster: Devcluster): string {
  if (side === 'virtual') return cluster.kubeconfig;
  const config = JSON.parse(cluster.kubeconfig) as { contexts: { context: { namespace?: string } }[] };
  for (const { context } of config.contexts) context.namespace = hostNamespace;
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

const group = 'rbac.authorization.k8s.io';
const resources: Readonly<Record<string, ResourceRef>> = {
  ClusterRole: { path: `apis/${group}/v1`, resource: 'clusterroles', kind: 'ClusterRole' },
  ClusterRoleBinding: { path: `apis/${group}/v1`, resource: 'clusterrolebindings', kind: 'ClusterRoleBinding' },
  RoleBinding: { path: `apis/${group}/v1`, resource: 'rolebindings', kind: 'RoleBinding' },
};
/** As whom the demo's own kubeconfigs log in. */
const logsInAs = 'admin';

/**
 * Gives the clusters of the demo the roles and bindings that the management API needs there, the same that `hostward upstream-
 * rbac` prints. In: the settings of the API, a client for each cluster. Out: objects in the clusters.
 */
async function writeRoles(client: ClusterClient, settings: ManagementSettings, place: UpstreamPlace): Promise<void> {
  for (const object of upstreamObjects(settings, place, subjectNamed(logsInAs)) ?? [])
    await write(client, object as KubeObject);
}

/** What `upstream-rbac` leaves to the people of a cluster: which of its members may do what there. */
async function bindMembers(client: ClusterClient, users: readonly string[]): Promise<void> {
  const subjects = users.map((name) => ({ kind: 'User', apiGroup: group, name: userName('user', name) }));
  await write(client, {
    apiVersion: `${group}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'demo-members' },
    subjects,
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'cluster-admin' },
  });
}

async function write(client: ClusterClient, object: KubeObject): Promise<void> {
  const resource = resources[object.kind ?? ''];
  if (resource === undefined)
    throw new Error(`write the roles of the demo: want a role or binding, found ${object.kind}`);
  expectOk(await client.create(resource, object), 'write the roles of the demo');
}
