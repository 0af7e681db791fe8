import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Devcluster, type DevclusterOptions, startDevcluster } from '../../src/devcluster/devcluster.ts';
import { type Answer, ApiClient } from '../contract/client.ts';
import { VirtualClock } from '../virtual-clock.ts';

const running: { cluster: Devcluster; client: ApiClient }[] = [];
const folders: string[] = [];

async function start(options: DevclusterOptions = {}) {
  const cluster = await startDevcluster(options);
  const client = new ApiClient({ url: cluster.url, caPem: cluster.caPem, token: cluster.adminToken });
  running.push({ cluster, client });
  return { cluster, client };
}

async function stopAll() {
  for (const { cluster, client } of running.splice(0)) {
    await client.close();
    await cluster.stop();
  }
}

afterEach(async () => {
  await stopAll();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const place = '/api/v1/namespaces/default';
const at = (answer: Answer, ...path: string[]): unknown =>
  path.reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], answer.json);

/** Repeats the request until the answer has this status. */
async function until(client: ApiClient, path: string, status: number): Promise<Answer> {
  for (;;) {
    const answer = await client.request('GET', path);
    if (answer.status === status) return answer;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const configMap = (name: string, more: object = {}) => ({ metadata: { name, ...more } });
const ownedBy = (owner: Answer, more: object = {}) => ({
  ownerReferences: [
    {
      apiVersion: at(owner, 'apiVersion'),
      kind: at(owner, 'kind'),
      name: at(owner, 'metadata', 'name'),
      uid: at(owner, 'metadata', 'uid'),
      ...more,
    },
  ],
});

describe('a new cluster', () => {
  it('has its namespaces, and its API server as a service with endpoints', async () => {
    const { client } = await start();
    const namespaces = await client.request('GET', '/api/v1/namespaces');
    const names = (at(namespaces, 'items') as { metadata: { name: string } }[]).map((item) => item.metadata.name);
    expect(names).toEqual(['default', 'kube-node-lease', 'kube-public', 'kube-system']);
    const endpoints = await client.request('GET', `${place}/endpoints/kubernetes`);
    expect(at(endpoints, 'subsets')).toMatchObject([{ ports: [{ name: 'https', protocol: 'TCP' }] }]);
  });

  it('is reachable with only its kubeconfig', async () => {
    const { cluster } = await start({ name: 'virtual' });
    const config = JSON.parse(cluster.kubeconfig) as { clusters: { cluster: Record<string, string> }[] };
    expect(config).toMatchObject({
      'current-context': 'virtual',
      clusters: [{ name: 'virtual', cluster: { server: cluster.url } }],
      users: [{ name: 'admin', user: { token: cluster.adminToken } }],
    });
    const encoded = config.clusters[0]?.cluster['certificate-authority-data'] ?? '';
    expect(Buffer.from(encoded, 'base64').toString()).toBe(cluster.caPem);
  });

  it('allows users exactly the requests of their rules', async () => {
    const { cluster, client } = await start({
      users: [
        {
          name: 'alice',
          token: 'alice-token',
          rules: [{ verbs: ['get', 'list'], apiGroups: [''], resources: ['configmaps'], namespaces: ['default'] }],
        },
      ],
    });
    const ask = (path: string, method = 'GET') => client.request(method, path, { token: 'alice-token' });
    expect((await ask(`${place}/configmaps`)).status).toBe(200);
    expect((await ask('/api/v1/configmaps')).status).toBe(403);
    expect((await ask(`${place}/configmaps/x`, 'DELETE')).status).toBe(403);
    expect((await ask('/api')).status).toBe(200);
    cluster.access.setRules('alice', []);
    expect((await ask(`${place}/configmaps`)).status).toBe(403);
    cluster.access.remove('alice');
    expect((await ask('/api')).status).toBe(401);
    expect(cluster.requests.count({ user: 'alice' })).toBe(5);
  });

  it('issues service account tokens that authenticate as the account', async () => {
    const { client } = await start();
    await client.request('POST', `${place}/serviceaccounts`, { body: configMap('robot') });
    const token = await client.request('POST', `${place}/serviceaccounts/robot/token`, { body: { spec: {} } });
    const review = await client.request('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      body: {},
      token: at(token, 'status', 'token') as string,
    });
    expect(at(review, 'status', 'userInfo', 'username')).toBe('system:serviceaccount:default:robot');
  });
});

describe('cluster addresses', () => {
  it('belong to one service at a time and are free again after its end', async () => {
    const { client } = await start();
    const service = (name: string, clusterIP?: string) => ({
      metadata: { name },
      spec: { clusterIP, ports: [{ port: 80 }] },
    });
    const first = await client.request('POST', `${place}/services`, { body: service('a') });
    const address = at(first, 'spec', 'clusterIP') as string;
    expect((await client.request('POST', `${place}/services`, { body: service('b', address) })).status).toBe(422);
    await client.request('DELETE', `${place}/services/a`);
    expect((await client.request('POST', `${place}/services`, { body: service('b', address) })).status).toBe(201);
  });

  it('stay free after a refused create or a dry run', async () => {
    const { client } = await start();
    const body = { metadata: { name: 'a' }, spec: { clusterIP: '10.0.9.9', ports: [{ port: 80 }] } };
    await client.request('POST', `${place}/services?dryRun=All`, { body });
    await client.request('POST', `${place}/services`, {
      body: { ...body, spec: { clusterIP: '10.0.9.9', ports: [] } },
    });
    expect((await client.request('POST', `${place}/services`, { body })).status).toBe(201);
  });
});

describe('a deleted namespace', () => {
  it('loses its contents and is removed', async () => {
    const { client } = await start();
    await client.request('POST', '/api/v1/namespaces', { body: configMap('away') });
    await client.request('POST', '/api/v1/namespaces/away/configmaps', { body: configMap('a') });
    const service = { metadata: { name: 's' }, spec: { ports: [{ port: 80 }] } };
    await client.request('POST', '/api/v1/namespaces/away/services', { body: service });
    const deleted = await client.request('DELETE', '/api/v1/namespaces/away');
    expect(at(deleted, 'status', 'phase')).toBe('Terminating');
    await until(client, '/api/v1/namespaces/away', 404);
    expect((await client.request('GET', '/api/v1/namespaces/away/configmaps/a')).status).toBe(404);
  });

  it('waits for contents with finalizers', async () => {
    const { client } = await start();
    await client.request('POST', '/api/v1/namespaces', { body: configMap('away') });
    const held = configMap('a', { finalizers: ['example.com/hold'] });
    await client.request('POST', '/api/v1/namespaces/away/configmaps', { body: held });
    await client.request('DELETE', '/api/v1/namespaces/away');
    for (;;) {
      const answer = await client.request('GET', '/api/v1/namespaces/away/configmaps/a');
      if (at(answer, 'metadata', 'deletionTimestamp') !== undefined) break;
    }
    expect((await client.request('GET', '/api/v1/namespaces/away')).status).toBe(200);
    await client.request('PATCH', '/api/v1/namespaces/away/configmaps/a', {
      body: { metadata: { finalizers: null } },
      headers: { 'content-type': 'application/merge-patch+json' },
    });
    await until(client, '/api/v1/namespaces/away', 404);
  });

  it('may not be one of the namespaces that a cluster needs', async () => {
    const { client } = await start();
    expect((await client.request('DELETE', '/api/v1/namespaces/default')).status).toBe(403);
  });
});

describe('objects with owners', () => {
  it('are deleted after the last owner', async () => {
    const { client } = await start();
    const one = await client.request('POST', `${place}/configmaps`, { body: configMap('one') });
    const two = await client.request('POST', `${place}/configmaps`, { body: configMap('two') });
    const owners = [...ownedBy(one).ownerReferences, ...ownedBy(two).ownerReferences];
    await client.request('POST', `${place}/secrets`, { body: configMap('owned', { ownerReferences: owners }) });
    await client.request('DELETE', `${place}/configmaps/one`);
    expect((await client.request('GET', `${place}/secrets/owned`)).status).toBe(200);
    await client.request('DELETE', `${place}/configmaps/two`);
    await until(client, `${place}/secrets/owned`, 404);
  });

  it('are deleted after a second look, ten seconds later, when their owner is missing or has another uid', async () => {
    const clock = new VirtualClock();
    const { client } = await start({ clock });
    const owner = await client.request('POST', `${place}/configmaps`, { body: configMap('owner') });
    const uid = '11111111-2222-3333-4444-555555555555';
    const timers = clock.pendingTimers;
    await client.request('POST', `${place}/secrets`, { body: configMap('owned', ownedBy(owner, { uid })) });
    await client.request('POST', `${place}/secrets`, { body: configMap('lost', ownedBy(owner, { uid, name: 'x' })) });
    while (clock.pendingTimers < timers + 2) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(9_000);
    expect((await client.request('GET', `${place}/secrets/owned`)).status).toBe(200);
    await clock.advance(1_000);
    await until(client, `${place}/secrets/owned`, 404);
    await until(client, `${place}/secrets/lost`, 404);
  });

  it('are deleted after a second look too when one of the same name was there a moment before', async () => {
    const clock = new VirtualClock();
    const { client } = await start({ clock });
    const owner = await client.request('POST', `${place}/configmaps`, { body: configMap('owner') });
    const lost = (name: string) =>
      client.request('POST', `${place}/secrets`, { body: configMap(name, ownedBy(owner, { name: 'x', uid: name })) });
    const timers = clock.pendingTimers;
    await lost('owned');
    while (clock.pendingTimers < timers + 1) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(9_000);
    await client.request('DELETE', `${place}/secrets/owned`);
    await lost('owned');
    await lost('after');
    while (clock.pendingTimers < timers + 2) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(10_000);
    await until(client, `${place}/secrets/owned`, 404);
  });

  it('stay when they belong to no namespace and their owner to one, which no cluster can check', async () => {
    const clock = new VirtualClock();
    const { client } = await start({ clock });
    const owner = await client.request('POST', `${place}/configmaps`, { body: configMap('owner') });
    const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
    const more = ownedBy(owner, { uid: 'u' });
    expect((await client.request('POST', roles, { body: configMap('wide', more) })).status).toBe(201);
    const timers = clock.pendingTimers;
    await client.request('POST', `${place}/secrets`, { body: configMap('near', more) });
    while (clock.pendingTimers < timers + 1) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(11_000);
    await until(client, `${place}/secrets/near`, 404);
    expect((await client.request('GET', `${roles}/wide`)).status).toBe(200);
  });

  it('stay when the second look finds their owner', async () => {
    const clock = new VirtualClock();
    const { cluster, client } = await start({ clock });
    const owner = await client.request('POST', `${place}/configmaps`, { body: configMap('owner') });
    const key = '/registry/configmaps/default/owner';
    const { record } = await cluster.store.get(key);
    const moved = (record?.value ?? '').replace(String(at(owner, 'metadata', 'uid')), 'other');
    await cluster.store.write(key, { expect: undefined, value: moved });
    const timers = clock.pendingTimers;
    await client.request('POST', `${place}/secrets`, { body: configMap('owned', ownedBy(owner)) });
    while (clock.pendingTimers < timers + 1) await new Promise((resolve) => setImmediate(resolve));
    await cluster.store.write(key, { expect: undefined, value: record?.value });
    await clock.advance(11_000);
    expect((await client.request('GET', `${place}/secrets/owned`)).status).toBe(200);
  });

  it('lose the reference to a deleted owner while another owner lives', async () => {
    const { client } = await start();
    const one = await client.request('POST', `${place}/configmaps`, { body: configMap('one') });
    const two = await client.request('POST', `${place}/configmaps`, { body: configMap('two') });
    const ownerReferences = [...ownedBy(one).ownerReferences, ...ownedBy(two).ownerReferences];
    await client.request('POST', `${place}/secrets`, { body: configMap('owned', { ownerReferences }) });
    await client.request('DELETE', `${place}/configmaps/one`);
    for (;;) {
      const left = at(await client.request('GET', `${place}/secrets/owned`), 'metadata', 'ownerReferences');
      if ((left as unknown[]).length === 1) break;
    }
  });

  it('stay when the owner has a kind that this cluster does not serve', async () => {
    const { client } = await start();
    const reference = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'x', uid: 'u-1' };
    const owner = await client.request('POST', `${place}/configmaps`, { body: configMap('owner') });
    await client.request('POST', `${place}/secrets`, { body: configMap('kept', { ownerReferences: [reference] }) });
    await client.request('POST', `${place}/secrets`, { body: configMap('owned', ownedBy(owner)) });
    await client.request('DELETE', `${place}/configmaps/owner`);
    await until(client, `${place}/secrets/owned`, 404);
    expect((await client.request('GET', `${place}/secrets/kept`)).status).toBe(200);
  });

  it('stay without the reference after a delete with Orphan', async () => {
    const { client } = await start();
    const owner = await client.request('POST', `${place}/configmaps`, { body: configMap('owner') });
    await client.request('POST', `${place}/secrets`, { body: configMap('owned', ownedBy(owner)) });
    await client.request('DELETE', `${place}/configmaps/owner`, { body: { propagationPolicy: 'Orphan' } });
    await until(client, `${place}/configmaps/owner`, 404);
    const owned = await client.request('GET', `${place}/secrets/owned`);
    expect([owned.status, at(owned, 'metadata', 'ownerReferences')]).toEqual([200, undefined]);
  });

  it('do not delay a Foreground delete of an owner that they do not block, and are deleted after the owner', async () => {
    const { client } = await start();
    const owner = await client.request('POST', `${place}/configmaps`, { body: configMap('owner') });
    const body = configMap('owned', { ...ownedBy(owner), finalizers: ['example.com/hold'] });
    await client.request('POST', `${place}/secrets`, { body });
    await client.request('DELETE', `${place}/configmaps/owner`, { body: { propagationPolicy: 'Foreground' } });
    await until(client, `${place}/configmaps/owner`, 404);
    for (;;) {
      const owned = await client.request('GET', `${place}/secrets/owned`);
      if (at(owned, 'metadata', 'deletionTimestamp') !== undefined) break;
    }
  });

  it('in a circle are all deleted, although each object blocks another one', async () => {
    const { client } = await start();
    const block = { blockOwnerDeletion: true };
    const one = await client.request('POST', `${place}/configmaps`, { body: configMap('one') });
    const body = configMap('two', ownedBy(one, block));
    const two = await client.request('POST', `${place}/configmaps`, { body });
    await client.request('PATCH', `${place}/configmaps/one`, {
      body: { metadata: ownedBy(two, block) },
      headers: { 'content-type': 'application/merge-patch+json' },
    });
    await client.request('DELETE', `${place}/configmaps/one`, { body: { propagationPolicy: 'Foreground' } });
    await until(client, `${place}/configmaps/one`, 404);
    await until(client, `${place}/configmaps/two`, 404);
  });

  it('are deleted before their owner by a delete with Foreground', async () => {
    const { client } = await start();
    const owner = await client.request('POST', `${place}/configmaps`, { body: configMap('owner') });
    const body = configMap('owned', {
      ...ownedBy(owner, { blockOwnerDeletion: true }),
      finalizers: ['example.com/hold'],
    });
    await client.request('POST', `${place}/secrets`, { body });
    await client.request('DELETE', `${place}/configmaps/owner`, { body: { propagationPolicy: 'Foreground' } });
    for (;;) {
      const answer = await client.request('GET', `${place}/secrets/owned`);
      if (at(answer, 'metadata', 'deletionTimestamp') !== undefined) break;
    }
    expect((await client.request('GET', `${place}/configmaps/owner`)).status).toBe(200);
    await client.request('PATCH', `${place}/secrets/owned`, {
      body: { metadata: { finalizers: null } },
      headers: { 'content-type': 'application/merge-patch+json' },
    });
    await until(client, `${place}/configmaps/owner`, 404);
  });
});

describe('claims', () => {
  it('are deleted at once', async () => {
    const { client } = await start();
    const body = {
      metadata: { name: 'c' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    };
    const made = await client.request('POST', `${place}/persistentvolumeclaims`, { body });
    expect(at(made, 'metadata', 'finalizers')).toEqual(['kubernetes.io/pvc-protection']);
    const changed = await client.request('PATCH', `${place}/persistentvolumeclaims/c`, {
      body: { spec: { storageClassName: 'slow' } },
      headers: { 'content-type': 'application/merge-patch+json' },
    });
    expect(changed.status).toBe(422);
    await client.request('DELETE', `${place}/persistentvolumeclaims/c`);
    await until(client, `${place}/persistentvolumeclaims/c`, 404);
  });
});

describe('a cluster in a file', () => {
  it('keeps its authority in a folder, so that clients still trust it after a restart', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hostward-devcluster-'));
    folders.push(folder);
    const authorityFolder = join(folder, 'authority');
    const before = await start({ authorityFolder });
    const { caPem } = before.cluster;
    await stopAll();
    expect(statSync(join(authorityFolder, 'ca.key')).mode & 0o777).toBe(0o600);
    const { cluster } = await start({ authorityFolder });
    expect(cluster.caPem).toBe(caPem);
    const old = new ApiClient({ url: cluster.url, caPem, token: cluster.adminToken });
    expect((await old.request('GET', '/version')).status).toBe(200);
    await old.close();
    await stopAll();
    rmSync(join(authorityFolder, 'ca.key'));
    await expect(start({ authorityFolder })).rejects.toThrow(
      /wanted ca.crt and ca.key, found ca\.\w+ alone; bring both back/,
    );
  });

  it('is the same after a restart: objects, revisions, addresses, and work left undone', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hostward-devcluster-'));
    folders.push(folder);
    const options: DevclusterOptions = { store: { kind: 'sqlite', path: join(folder, 'cluster.db') } };
    const before = await start({ ...options, hasGarbageCollector: false });
    const service = await before.client.request('POST', `${place}/services`, {
      body: { metadata: { name: 's' }, spec: { ports: [{ port: 80 }] } },
    });
    await before.client.request('POST', '/api/v1/namespaces', { body: configMap('away') });
    await before.client.request('DELETE', '/api/v1/namespaces/away');
    await stopAll();
    const after = await start(options);
    const same = await after.client.request('GET', `${place}/services/s`);
    expect(same.json).toEqual(service.json);
    const second = await after.client.request('POST', `${place}/services`, {
      body: { metadata: { name: 't' }, spec: { clusterIP: at(service, 'spec', 'clusterIP'), ports: [{ port: 80 }] } },
    });
    expect(second.status).toBe(422);
    await until(after.client, '/api/v1/namespaces/away', 404);
  });
});
