// A backend of two real API servers with controllers for the live sync suites. The daemon's requests are read from the audit
// logs of kube-apiserver.
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { ApiClient } from '../../contract/client.ts';
import {
  type RecordedRequest,
  type Right,
  type Side,
  type SyncBackend,
  type SyncServer,
  storedForm,
  until,
} from '../../contract/sync-stage/backend.ts';
import { type KubeCluster, startKube } from '../start/start.ts';

const user = 'hostward';
const token = 'token-of-the-daemon';

export interface RealServer extends SyncServer {
  readonly cluster: KubeCluster;
  /** What the daemon's user was allowed to do since the start: namespace, verb and resource; no namespace is all namespaces. */
  used(): Promise<readonly RecordedRequest[]>;
}

export interface RealBackend extends SyncBackend {
  readonly virtual: RealServer;
  readonly host: RealServer;
}

interface RigOptions {
  /** Added to the flags of both controller managers. */
  controllerManagerFlags?: string[];
  /** Without it requests() has nothing to read, and no server writes a line for each request. */
  isAudited?: boolean;
}

export async function startRealBackend(options: RigOptions = {}): Promise<RealBackend> {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-audit-'));
  const start = (side: Side): Promise<RealServer> => startServer(side, { ...options, folder });
  const [virtual, host] = await Promise.all([start('virtual'), start('host')]);
  return {
    virtual,
    host,
    hasControllers: true,
    async controllersAtRest() {
      await Promise.all([virtual, host].map(({ admin }) => endpointsControllerAtRest(admin)));
    },
    async stop() {
      await collectUsed(host);
      for (const server of [virtual, host]) {
        await server.admin.close();
        await server.asDaemon.close();
        await server.cluster.stop();
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A folder in which every suite leaves what its daemons used on the host, for used-rights.test.ts. */
const collected = process.env['HOSTWARD_USED_RIGHTS'];

async function collectUsed(host: RealServer): Promise<void> {
  if (collected === undefined) return;
  mkdirSync(collected, { recursive: true });
  writeFileSync(join(collected, `${randomUUID()}.json`), JSON.stringify(await host.used()));
}

async function startServer(
  name: Side,
  { folder, controllerManagerFlags = [], isAudited: isAsked = true }: RigOptions & { folder: string },
): Promise<RealServer> {
  const isAudited = isAsked || collected !== undefined;
  const log = join(folder, `${name}.log`);
  const policy = join(folder, `${name}.policy`);
  writeFileSync(log, '', { mode: 0o600 });
  writeFileSync(policy, JSON.stringify(auditPolicy));
  const cluster = await startKube({
    name: `sync-${name}`,
    controllerManager: true,
    controllerManagerFlags,
    users: [{ token, user }],
    apiserverFlags: isAudited ? [`--audit-log-path=${log}`, `--audit-policy-file=${policy}`] : [],
  });
  const { url, caPem } = cluster;
  const admin = new ApiClient({ url, caPem, token: cluster.adminToken });
  const auditor = new ApiClient({ url, caPem, token });
  let markers = 0;
  const used = new Map<string, RecordedRequest>();
  /** Reads the log after a marker request has arrived in it, because all earlier requests are then in it too. */
  const requests = async (): Promise<RecordedRequest[]> => {
    const marker = `marker-${++markers}`;
    await auditor.request('GET', `/api/v1/namespaces/${marker}`);
    return until('the audit log', () => {
      const records = entries(log);
      if (!records.some((record) => record.name === marker)) return undefined;
      const own = records.filter((record) => !record.name.startsWith('marker-'));
      for (const record of own) {
        const { namespace, verb, resource, code } = record;
        if (code !== 401 && code !== 403) used.set(`${namespace} ${verb} ${resource}`, record);
      }
      return own;
    });
  };
  return {
    cluster,
    url,
    caPem,
    admin,
    asDaemon: auditor,
    smuggle: (object) => smuggle(cluster.etcdUrl, object),
    kubeconfig: (server) => withServer(cluster.kubeconfigFor({ token }), server),
    grant: (rights) => grant(admin, rights),
    requests,
    async used() {
      await requests();
      return [...used.values()];
    },
    async forget() {
      if (!isAudited) return;
      await requests();
      truncateSync(log);
    },
  };
}

/** Logs one line for each answered request of the daemon's user, and none for other users. */
const auditPolicy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived', 'ResponseStarted'],
  rules: [{ level: 'Metadata', users: [user] }, { level: 'None' }],
};

interface AuditEntry {
  verb: string;
  objectRef?: { resource?: string; namespace?: string; name?: string };
  responseStatus?: { code?: number };
}

function entries(log: string): RecordedRequest[] {
  const lines = readFileSync(log, 'utf8').split('\n');
  // The last line may be incomplete.
  return lines.slice(0, -1).flatMap((line) => {
    if (line === '') return [];
    const { verb, objectRef = {}, responseStatus = {} } = JSON.parse(line) as AuditEntry;
    const { resource = '', namespace = '', name = '' } = objectRef;
    // A create has no name in its path, so its entry here has no name either.
    return [{ verb, resource, namespace, name: verb === 'create' ? '' : name, code: responseStatus.code ?? 0 }];
  });
}

interface Role {
  metadata: { namespace?: string };
  rules?: readonly Rule[] | null;
}

interface Rule {
  apiGroups: readonly string[];
  resources: readonly string[];
  verbs: readonly string[];
}

function spelt(rules: Role['rules']): string | undefined {
  return rules
    ? JSON.stringify(rules.map(({ apiGroups, resources, verbs }) => [apiGroups, resources, verbs]))
    : undefined;
}

/** Binds roles with exactly these rights to the daemon's user, and empties older roles. */
async function grant(admin: ApiClient, rights: readonly Right[]): Promise<void> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const subjects = [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }];
  const listed = ['clusterroles', 'roles'].map(async (kind) => {
    const answer = await admin.request('GET', `${rbac}/${kind}?fieldSelector=metadata.name%3D${user}`);
    return (answer.json as { items: Role[] }).items;
  });
  const known = new Map((await Promise.all(listed)).flat().map((role) => [role.metadata.namespace, role]));
  const places = new Set([undefined, ...known.keys(), ...rights.map(({ namespace }) => namespace)]);
  for (const namespace of places) {
    const kind = namespace === undefined ? 'ClusterRole' : 'Role';
    const at = namespace === undefined ? rbac : `${rbac}/namespaces/${namespace}`;
    const rules = rights
      .filter((right) => right.namespace === namespace)
      .map(({ group, resources, verbs }) => ({ apiGroups: [group], resources, verbs }));
    // Most tests start with the same rights as the one before.
    if (spelt(known.get(namespace)?.rules) === spelt(rules)) continue;
    if (namespace !== undefined)
      await admin.request('POST', '/api/v1/namespaces', { body: { metadata: { name: namespace } } });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind, name: user };
    await put(admin, `${at}/${kind.toLowerCase()}s`, { metadata: { name: user }, rules });
    await put(admin, `${at}/${kind.toLowerCase()}bindings`, { metadata: { name: user }, roleRef, subjects });
  }
}

async function put(
  admin: ApiClient,
  path: string,
  body: { metadata: { name: string }; [field: string]: unknown },
): Promise<void> {
  const created = await admin.request('POST', path, { body });
  if (created.status === 409) await admin.request('PUT', `${path}/${body.metadata.name}`, { body });
  else if (created.status >= 300) throw new Error(`grant: ${created.status} ${created.text}`);
}

/** Writes JSON directly to etcd: kube-apiserver also reads JSON, and does not validate stored objects. */
async function smuggle(etcdUrl: string, object: KubeObject): Promise<void> {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const { namespace, name } = object.metadata;
  const key = base64(`/registry/services/endpoints/${namespace}/${name}`);
  const answer = await fetch(`${etcdUrl}/v3/kv/put`, {
    method: 'POST',
    body: JSON.stringify({ key, value: base64(JSON.stringify(storedForm(object))) }),
  });
  if (!answer.ok) throw new Error(`etcd refused the object: ${answer.status} ${await answer.text()}`);
}

const restMs = 120_000;

/** The endpoints controller handles Services in the order of their events, so a marker Service shows that it has finished. */
async function endpointsControllerAtRest(admin: ApiClient): Promise<void> {
  const at = (resource: string): string => `/api/v1/namespaces/kube-public/${resource}`;
  const has = async (): Promise<boolean> => (await admin.request('GET', `${at('endpoints')}/at-rest`)).status === 200;
  const spec = { selector: { app: 'nobody' }, ports: [{ port: 80 }] };
  const made = await admin.request('POST', at('services'), { body: { metadata: { name: 'at-rest' }, spec } });
  if (made.status !== 201) throw new Error(`cannot create a Service in kube-public: ${made.status} ${made.text}`);
  // After a thousand Services of a test it has much to do before.
  await until('Endpoints of a new Service', async () => (await has()) || undefined, restMs);
  await admin.request('DELETE', `${at('services')}/at-rest`);
  await until('Endpoints that went with their Service', async () => !(await has()) || undefined, restMs);
}

function withServer(kubeconfig: string, server: { url: string; caPem: string } | undefined): string {
  if (server === undefined) return kubeconfig;
  const config = JSON.parse(kubeconfig) as { clusters: { cluster: Record<string, string> }[] };
  for (const { cluster } of config.clusters) {
    cluster['server'] = server.url;
    cluster['certificate-authority-data'] = Buffer.from(server.caPem).toString('base64');
  }
  return JSON.stringify(config);
}
