import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type DevclusterOptions, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import { ApiClient } from '../../contract/client.ts';

const group = '/apis/rbac.authorization.k8s.io/v1';
const endings: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function start(options: DevclusterOptions = {}) {
  const cluster = await startDevcluster({ authorization: 'rbac', ...options });
  const client = new ApiClient({ url: cluster.url, caPem: cluster.caPem, token: cluster.adminToken });
  endings.push(
    () => cluster.stop(),
    () => client.close(),
  );
  return { cluster, client };
}

describe('a cluster where roles decide', () => {
  it('lets a change of a role count from the next request on', async () => {
    const { client } = await start({ users: [{ name: 'ann', token: 'ann-token' }] });
    const status = async () => (await client.request('GET', '/api/v1/nodes', { token: 'ann-token' })).status;
    const body = (verb: string) => ({
      metadata: { name: 'nodes' },
      rules: [{ verbs: [verb], apiGroups: [''], resources: ['nodes'] }],
    });
    expect(await status()).toBe(403);
    await client.request('POST', `${group}/clusterroles`, { body: body('list') });
    await client.request('POST', `${group}/clusterrolebindings`, {
      body: {
        metadata: { name: 'nodes' },
        roleRef: { kind: 'ClusterRole', name: 'nodes' },
        subjects: [{ kind: 'User', name: 'ann' }],
      },
    });
    expect(await status()).toBe(200);
    await client.request('PUT', `${group}/clusterroles/nodes`, { body: body('get') });
    expect(await status()).toBe(403);
    await client.request('PUT', `${group}/clusterroles/nodes`, { body: body('list') });
    expect(await status()).toBe(200);
    await client.request('DELETE', `${group}/clusterrolebindings/nodes`);
    expect(await status()).toBe(403);
  });

  it('gives service accounts their rights with a token that was asked for', async () => {
    const { client } = await start();
    const place = '/api/v1/namespaces/default/serviceaccounts';
    await client.request('POST', place, { body: { metadata: { name: 'till' } } });
    await client.request('POST', `${group}/namespaces/default/rolebindings`, {
      body: {
        metadata: { name: 'till' },
        roleRef: { kind: 'ClusterRole', name: 'view' },
        subjects: [{ kind: 'ServiceAccount', name: 'till', namespace: 'default' }],
      },
    });
    const issued = await client.request('POST', `${place}/till/token`, { body: { spec: {} } });
    const { token } = (issued.json as { status: { token: string } }).status;
    const status = async (path: string) => (await client.request('GET', path, { token })).status;
    expect(await status('/api/v1/namespaces/default/configmaps')).toBe(200);
    expect(await status('/api/v1/namespaces/default/secrets')).toBe(403);
    expect(await status('/api/v1/namespaces/kube-system/configmaps')).toBe(403);
  });

  it('keeps changed roles over a restart, and gathers new parts of aggregated roles', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hostward-roles-'));
    endings.push(() => rmSync(folder, { recursive: true, force: true }));
    const store = { kind: 'sqlite', path: join(folder, 'data.db') } as const;
    const first = await start({ store });
    const rules = [{ verbs: ['get'], nonResourceURLs: ['/version'] }];
    await first.client.request('PUT', `${group}/clusterroles/system:discovery`, {
      body: { metadata: { name: 'system:discovery' }, rules },
    });
    await first.client.request('POST', `${group}/clusterroles`, {
      body: {
        metadata: { name: 'shop', labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
        rules: [{ verbs: ['get'], apiGroups: ['shop.example'], resources: ['tills'] }],
      },
    });
    for (const end of endings.splice(1).reverse()) await end();
    const { client } = await start({ store });
    const role = async (name: string) => (await client.request('GET', `${group}/clusterroles/${name}`)).json;
    expect(await role('system:discovery')).toMatchObject({ rules });
    for (const name of ['view', 'edit', 'admin']) expect(JSON.stringify(await role(name))).toContain('shop.example');
  });

  it('takes no rules of users', async () => {
    const users = [{ name: 'ann', token: 'a', rules: [{ verbs: ['get'], nonResourceURLs: ['/'] }] }];
    await expect(startDevcluster({ authorization: 'rbac', users })).rejects.toThrow(
      'add the user "ann": this cluster takes rights from roles and bindings, found rules',
    );
  });
});

describe('an open cluster', () => {
  it('keeps roles and bindings as data without effect', async () => {
    const { client } = await start({ authorization: 'open', users: [{ name: 'ann', token: 'ann-token' }] });
    const body = {
      metadata: { name: 'all' },
      roleRef: { kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'User', name: 'ann' }],
    };
    expect((await client.request('POST', `${group}/clusterrolebindings`, { body })).status).toBe(201);
    expect((await client.request('GET', '/api/v1/nodes', { token: 'ann-token' })).status).toBe(403);
  });
});
