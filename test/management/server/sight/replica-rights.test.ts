// The rights that a replica needs in the namespace of its records: those of docs/replicas.md are enough, and whatever is missing of them
// is named at once, at the start and while the replica runs.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Answer } from '../../../../src/cluster/answer.ts';
import type { ApiRequest, Connection } from '../../../../src/cluster/wire/connection.ts';
import { type Devcluster, startDevcluster } from '../../../../src/devcluster/devcluster.ts';
import { silentLog } from '../../../../src/log.ts';
import { hostFault } from '../../../../src/management/server/host/records/host-fault.ts';
import { RecordRights, recordRules } from '../../../../src/management/server/host/records/record-rights.ts';
import { ManagementApi } from '../../../../src/management/server/server.ts';
import { createMetrics } from '../../../../src/metrics.ts';
import { ApiClient } from '../../../contract/client.ts';
import { VirtualClock } from '../../../virtual-clock.ts';
import { keysPath, type MovedClock, movedClock, people, until } from '../bench.ts';

interface Rule {
  apiGroups: readonly string[];
  resources: readonly string[];
  verbs: readonly string[];
  resourceNames?: readonly string[];
}

const folder = mkdtempSync(join(tmpdir(), 'hostward-rights-'));
const kubeconfig = join(folder, 'kubeconfig');
/** How long the replica waits with the next look while a right is missing, and while none is. */
const [againMs, nowAndThenMs] = [8_000, 240_000];
const mend =
  'grant this account the Role of `hostward docs replicas`, with its RoleBinding, or helm upgrade with management.store.type=kubernetes';
let host: Devcluster;
let admin: ApiClient;
beforeAll(async () => {
  host = await startDevcluster({ name: 'host', authorization: 'rbac', users: [{ name: 'replica', token: 'replica' }] });
  admin = new ApiClient({ url: host.url, caPem: host.caPem, token: host.adminToken });
  writeFileSync(kubeconfig, host.kubeconfig.replaceAll(host.adminToken, 'replica'), { mode: 0o600 });
});
const opened: ManagementApi[] = [];
afterEach(async () => {
  for (const api of opened.splice(0)) await api.close();
});
afterAll(async () => {
  await admin.close();
  await host.stop();
  rmSync(folder, { recursive: true, force: true });
});

const page = readFileSync(new URL('../../../../docs/replicas.md', import.meta.url), 'utf8');
const block = /```yaml\n([^`]*kind: Role\n[^`]*)```/.exec(page)?.[1] ?? '';
const documented = (parse(block.replace(/^ {3}/gm, '')) as { rules: Rule[] }).rules;
const without = (...rights: string[]): Rule[] =>
  documented.map((rule) => ({
    ...rule,
    verbs: rule.verbs.filter((verb) => !rights.includes(`${verb} ${rule.resources[0]}`)),
  }));
const lacks = (count: number, namespace: string, what: string) =>
  `the account replica lacks ${count} right${count === 1 ? '' : 's'} of 12 in namespace "${namespace}" of ${host.url}: ${what}; ${mend}`;

let namespaces = 0;
const rbac = (namespace: string) => `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
const apiVersion = 'rbac.authorization.k8s.io/v1';

async function namespaceWith(rules: readonly Rule[]): Promise<string> {
  const namespace = `records-${++namespaces}`;
  await post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  await post(`${rbac(namespace)}/roles`, { apiVersion, kind: 'Role', metadata: { name: 'replica' }, rules });
  await post(`${rbac(namespace)}/rolebindings`, {
    ...{ apiVersion, kind: 'RoleBinding', metadata: { name: 'replica' } },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'replica' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'replica' }],
  });
  return namespace;
}

async function post(path: string, body: object): Promise<void> {
  const { status, text } = await admin.request('POST', path, { body });
  if (status !== 201) throw new Error(`${path} was answered ${status}: ${text}`);
}

async function grant(namespace: string, rules: readonly Rule[]): Promise<void> {
  const body = { apiVersion, kind: 'Role', metadata: { name: 'replica' }, rules };
  expect((await admin.request('PUT', `${rbac(namespace)}/roles/replica`, { body })).status).toBe(200);
}

function apiOn(namespace: string, { clock = movedClock(), metrics = createMetrics(), dataDir = namespace } = {}) {
  const store = { kubernetes: { kubeconfig, namespace }, maxRecords: 1_000, maxBytes: 1_000_000 };
  const places = { listen: '127.0.0.1:0', baseURL: 'https://localhost', dataDir: join(folder, dataDir) };
  const server = { ...places, ingressListen: undefined, store };
  const api = new ManagementApi({ settings: people, server, clock, metrics, log: silentLog, version: '0.1.0' });
  opened.push(api);
  return api;
}

async function serve(api: ManagementApi) {
  await api.open();
  await api.serve();
  const made = await api.createKey({ metadata: { name: `root-${Date.now()}` }, spec: { user: 'admin' } });
  const { key } = made['spec'] as { key: string };
  return new ApiClient({ url: `https://localhost:${api.port}`, caPem: api.caPem, token: key });
}

const troubles = (api: ManagementApi) => (api.status() as { store?: { troubles: readonly string[] } }).store?.troubles;

/** `delayMs`: how long the replica waits until it asks for its rights again. */
function untilTroubles(api: ManagementApi, clock: MovedClock, delayMs: number, wanted: readonly string[]) {
  const isSo = () => {
    clock.fire(delayMs);
    return JSON.stringify(troubles(api)) === JSON.stringify(wanted);
  };
  return until(isSo, `the troubles ${wanted.join('; ')}`, 20_000).catch((error: unknown) => {
    throw new Error(`the troubles are ${JSON.stringify(troubles(api))}`, { cause: error });
  });
}

it('are not asked for any more once the replica stops, also where the cluster does not answer', async () => {
  let isSilent = false;
  const request = ({ signal }: ApiRequest) =>
    new Promise<Answer>((resolve) => {
      const failed: Answer = { kind: 'failed', status: undefined, retryAfterMs: undefined, message: 'given up' };
      signal?.addEventListener('abort', () => resolve(failed));
      if (signal?.aborted) resolve(failed);
      if (!isSilent) resolve({ kind: 'ok', object: { metadata: {}, status: { allowed: true } } } as unknown as Answer);
    });
  const clock = new VirtualClock();
  const connection = { name: 'store', request } as unknown as Connection;
  const rights = new RecordRights({ connection, namespace: 'records', place: 'here', clock, log: silentLog });
  await rights.open();
  isSilent = true;
  await clock.advance(nowAndThenMs);
  await rights.stop();
  expect([clock.pendingTimers, rights.lackedCount]).toEqual([0, 0]);
}, 10_000);

it('that are missing do not hide another reason of the cluster to refuse what a start writes', async () => {
  const request = async ({ body }: ApiRequest) => {
    const allowed = JSON.parse(String(body)).spec?.resourceAttributes?.verb !== 'delete';
    return { kind: 'ok', object: { metadata: {}, status: { allowed } } } as unknown as Answer;
  };
  const connection = { name: 'store', request } as unknown as Connection;
  const clock = new VirtualClock();
  const rights = new RecordRights({ connection, namespace: 'records', place: 'here', clock, log: silentLog });
  const refused = (message: string): Promise<never> => {
    const words = `secrets "one" is forbidden: ${message}`;
    const isForbidden = !message.startsWith('exceeded quota');
    const answer = isForbidden ? { kind: 'forbidden', message: words } : { kind: 'refused', words, message: words };
    return Promise.reject(hostFault('write', 'one', answer as Parameters<typeof hostFault>[2]));
  };
  await expect(rights.explain(refused('exceeded quota: full'))).rejects.toThrow('exceeded quota');
  await expect(rights.explain(refused('User "replica" cannot'))).rejects.toThrow('lacks 1 right of 12');
  await rights.stop();
});

it('are those of the page', () => {
  expect(documented).toEqual(recordRules);
});

describe('a replica with the rights of docs/replicas.md', () => {
  it('starts, makes keys, writes uses and sweeps with them, also where they name the lease', async () => {
    const named = documented.flatMap((rule) =>
      rule.resources[0] === 'leases'
        ? [
            { ...rule, verbs: ['create'] },
            { ...rule, verbs: ['get', 'update'], resourceNames: ['hostward-sweeper'] },
          ]
        : [rule],
    );
    const namespace = await namespaceWith(named);
    const api = apiOn(namespace);
    const client = await serve(api);
    const made = await client.request('POST', keysPath, {
      body: { metadata: { name: 'one' }, spec: { user: 'alice' } },
    });
    expect(made.status).toBe(201);
    await until(() => api.status().store?.sweeper !== undefined, 'a sweeper', 20_000);
    expect((await client.request('DELETE', `${keysPath}/one`)).status).toBe(200);
    expect(troubles(api)).toEqual([]);
  }, 40_000);
});

describe('a replica that starts', () => {
  it('ends at once and names every right that is missing, also those that it would use last', async () => {
    const namespace = await namespaceWith(
      without('list secrets', 'watch secrets', 'delete secrets', 'patch configmaps', 'get leases', 'update leases'),
    );
    const what = 'list, watch, delete on secrets; patch on configmaps; get, update on leases.coordination.k8s.io';
    await expect(apiOn(namespace).open()).rejects.toThrow(`Cannot open the store: ${lacks(6, namespace, what)}`);
  });

  it('says of an account without any right that its namespace may be going', async () => {
    const namespace = await namespaceWith([]);
    const all =
      'get, list, watch, create, update, delete on secrets; list, create, patch on configmaps; get, create, update on leases.coordination.k8s.io; a namespace that is being deleted loses its Roles first';
    await expect(apiOn(namespace).open()).rejects.toThrow(`Cannot open the store: ${lacks(12, namespace, all)}`);
  });

  const needed = ['get', 'list', 'watch', 'update'].map((verb) => [verb, 'secrets']);
  it.each([...needed, ['list', 'configmaps'], ['patch', 'configmaps']])(
    'does not start without %s on %s',
    async (verb, resource) => {
      const namespace = await namespaceWith(without(`${verb} ${resource}`));
      await expect(apiOn(namespace).open()).rejects.toThrow(lacks(1, namespace, `${verb} on ${resource}`));
    },
  );

  it('needs create on Secrets for the store and for its own record, and starts again without', async () => {
    const less = without('create secrets', 'delete secrets');
    const namespace = await namespaceWith(less);
    const says = lacks(2, namespace, 'create, delete on secrets');
    await expect(apiOn(namespace).open()).rejects.toThrow(`Cannot open the store: ${says}`);
    await grant(namespace, documented);
    const first = apiOn(namespace, { dataDir: 'again' });
    await serve(first);
    await first.close();
    await grant(namespace, less);
    const again = apiOn(namespace, { dataDir: 'again' });
    await again.open();
    await again.serve();
    expect(troubles(again)).toEqual([says]);
    expect(again.writeTrouble).toBeUndefined();
  });

  it.each([
    ['delete', 'secrets', 'secrets'],
    ['create', 'configmaps', 'configmaps'],
    ...['get', 'create', 'update'].map((verb) => [verb, 'leases', 'leases.coordination.k8s.io']),
  ])('starts without %s on %s, and says so', async (verb, resource, full) => {
    const namespace = await namespaceWith(without(`${verb} ${resource}`));
    const metrics = createMetrics();
    const api = apiOn(namespace, { metrics });
    await api.open();
    await api.serve();
    expect(troubles(api)).toEqual([lacks(1, namespace, `${verb} on ${full}`)]);
    expect(await metrics.metrics()).toContain('hostward_missing_rights{cluster="records"} 1');
  });
});

describe('a replica that runs', () => {
  it('names what is taken when it is refused, and no more when it is granted', async () => {
    const namespace = await namespaceWith(documented);
    const clock = movedClock();
    const metrics = createMetrics();
    const api = apiOn(namespace, { clock, metrics });
    const client = await serve(api);
    for (const name of ['one', 'two'])
      await client.request('POST', keysPath, { body: { metadata: { name }, spec: { user: 'alice' } } });
    expect(troubles(api)).toEqual([]);
    await grant(namespace, without('delete secrets', 'create leases'));
    // Since the look at the start.
    for (let passedMs = 0; passedMs <= againMs; passedMs += 4_000) {
      clock.moveMonotonic(4_000);
      clock.fire(2_000);
      await until(() => (api.status().store?.lagMs ?? 9_000) < 4_000, 'the heartbeat');
    }
    const refused = await client.request('DELETE', `${keysPath}/one`);
    expect([refused.status, refused.text]).toEqual([503, expect.stringContaining('lacks a right in the cluster')]);
    // Nothing of the clock but the refusal makes it look.
    await until(() => troubles(api)?.length === 1, 'the trouble');
    const says = lacks(2, namespace, 'delete on secrets; create on leases.coordination.k8s.io');
    expect(troubles(api)).toEqual([says]);
    expect(await metrics.metrics()).toContain('hostward_missing_rights{cluster="records"} 2');
    await grant(namespace, without('create leases'));
    await untilTroubles(api, clock, againMs, [lacks(1, namespace, 'create on leases.coordination.k8s.io')]);
    expect((await client.request('DELETE', `${keysPath}/one`)).status).toBe(200);
    await grant(namespace, documented);
    await untilTroubles(api, clock, againMs, []);
  }, 40_000);

  it('names a right that it does not use for minutes before its watch ends', async () => {
    const namespace = await namespaceWith(documented);
    const clock = movedClock();
    const api = apiOn(namespace, { clock });
    await serve(api);
    await grant(namespace, without('watch secrets'));
    await untilTroubles(api, clock, nowAndThenMs, [lacks(1, namespace, 'watch on secrets')]);
    expect(api.writeTrouble).toBeUndefined();
    await grant(namespace, documented);
    await untilTroubles(api, clock, againMs, []);
  }, 40_000);
});
