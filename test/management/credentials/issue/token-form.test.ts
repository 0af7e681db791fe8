import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { load } from 'js-yaml';
import { afterEach, describe, expect, it } from 'vitest';
import type { ManagementSettings } from '../../../../src/config/settings/management-settings.ts';
import { type Ask, type Bench, keysPath, movedClock, openBench, people, until } from '../../server/bench.ts';

const group = '/kubernetes/management/apis/management.platform/v1';
const pathOf = (name: string, namespace = 'p-shop') =>
  `${group}/namespaces/${namespace}/virtualclusterinstances/${name}/kubeconfig`;
const clientCert = { clusterRole: 'cluster-admin', maxTTL: 0 };

const settings: Partial<ManagementSettings> = {
  projects: [
    {
      name: 'shop',
      members: [
        { user: 'alice', role: 'user' },
        { group: 'ops', role: 'admin' },
        { user: 'bob', role: 'viewer' },
      ],
      virtualClusters: [
        { name: 'v1', ingress: { server: 'https://v1.example.com', servedBy: 'virtualCluster' }, clientCert },
        { name: 'v2', clientCert },
        { name: 'v3', ingress: { server: 'https://v3.example.com', servedBy: 'hostward' }, clientCert },
      ],
      spaces: [],
    },
  ],
};

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function bench(options: Parameters<typeof openBench>[0] = {}): Promise<Bench> {
  const opened = await openBench({ ...options, settings: { ...settings, ...options.settings } });
  endings.push(() => opened.stop());
  return opened;
}

interface Config {
  clusters: { name: string; cluster: Record<string, string> }[];
  users: { name: string; user: Record<string, string> }[];
  contexts: object[];
}

const post = (on: Bench, how: Ask & { spec?: object; at?: string }) =>
  on.ask('POST', how.at ?? pathOf('v1'), { body: { spec: how.spec ?? {} }, ...how });
const configIn = (text: unknown) => load(String(text)) as Config;
const tokenIn = (text: unknown) => configIn(text).users[0]?.user['token'] ?? '';
const keyNames = async (on: Bench) =>
  ((await on.ask('GET', keysPath)).body['items'] as unknown as { metadata: { name: string } }[])
    .map(({ metadata }) => metadata.name)
    .filter((name) => name.startsWith('kubeconfig-'));

describe('a kubeconfig with a token', () => {
  it('answers the object with the text of a kubeconfig, which is shown once and cached nowhere', async () => {
    const on = await bench();
    const alice = await on.keyFor('alice', { user: 'alice' });
    const body = {
      apiVersion: 'management.platform/v1',
      kind: 'VirtualClusterInstanceKubeConfig',
      metadata: { namespace: 'p-shop' },
      spec: {},
    };
    const made = await on.ask('POST', pathOf('v1'), { key: alice, body });
    expect(made).toMatchObject({
      code: 201,
      headers: { 'cache-control': 'no-store' },
      body: { ...body, status: { kubeConfig: expect.stringContaining('kind: Config') } },
    });
    const text = String(made.body['status']?.['kubeConfig']);
    const config = configIn(text);
    expect(config).toMatchObject({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'hostward_shop_v1',
      clusters: [
        {
          name: 'hostward_shop_v1',
          cluster: {
            server: 'https://localhost:8443/kubernetes/project/shop/virtualcluster/v1',
            'certificate-authority-data': Buffer.from(on.api.caPem).toString('base64'),
          },
        },
      ],
    });
    expect(config.clusters[0]?.cluster).not.toHaveProperty('insecure-skip-tls-verify');
    const library = new KubeConfig();
    library.loadFromString(text);
    expect(library.getCurrentUser()?.token).toBe(tokenIn(text));
    const audit = readFileSync(join(on.folder, 'audit.log'), 'utf8');
    expect(audit).toMatch(/made the access key kubeconfig-shop-v1-\w{5}"/);
    expect(audit).not.toContain(tokenIn(text).slice(22));
  });

  it('takes YAML, an empty body of JSON, and answers YAML', async () => {
    const on = await bench();
    const yaml = 'apiVersion: management.platform/v1\nkind: VirtualClusterInstanceKubeConfig\nmetadata: {}\nspec: {}\n';
    const made = await on.ask('POST', pathOf('v1'), {
      body: yaml,
      type: 'application/yaml',
      headers: { accept: 'application/yaml' },
    });
    expect(made).toMatchObject({ code: 201, headers: { 'content-type': 'application/yaml' } });
    const object = load(made.text) as { metadata: object; status: { kubeConfig: string } };
    expect(object.metadata).toEqual({
      namespace: 'p-shop',
      annotations: { 'hostward.dev/expires': expect.stringMatching(/^20\d\d-\d\d-\d\dT.*Z$/) },
    });
    expect(tokenIn(object.status.kubeConfig)).toMatch(/^mpk_/);
    expect((await on.ask('POST', pathOf('v1'), { body: '{}' })).code).toBe(201);
  });

  it('makes a key of the caller for exactly this virtual cluster, which issues nothing', async () => {
    const on = await bench();
    const alice = await on.keyFor('alice', { user: 'alice' });
    const token = tokenIn((await post(on, { key: alice })).body['status']?.['kubeConfig']);
    const [name = ''] = await keyNames(on);
    expect(name).toMatch(/^kubeconfig-shop-v1-\w{5}$/);
    expect((await on.ask('GET', `${keysPath}/${name}`, { key: token })).body).toMatchObject({
      metadata: { labels: { 'hostward.dev/instance': expect.any(String) } },
      spec: {
        user: 'alice',
        type: 'Other',
        ttl: 86_400,
        scope: { virtualClusters: [{ project: 'shop', virtualCluster: 'v1' }] },
      },
    });
    expect(await post(on, { key: token })).toMatchObject({
      code: 403,
      body: { message: expect.stringContaining('the key of a kubeconfig makes no keys, tokens and kubeconfigs') },
    });
    expect((await on.ask('POST', keysPath, { key: token, body: { metadata: { name: 'x' } } })).code).toBe(403);
    expect((await on.ask('POST', `${group}/directclusterendpointtokens`, { key: token, body: {} })).code).toBe(403);
    expect((await on.ask('POST', `${keysPath}/${name}/rotate`, { key: token, body: {} })).code).not.toBe(201);
    expect((await on.ask('GET', `${group}/namespaces/p-shop/virtualclusterinstances/v2`, { key: token })).code).toBe(
      403,
    );
  });

  it('has the groups of the calling key, and those of a team and of a subject count as well', async () => {
    const on = await bench();
    const ops = await on.keyFor('ops', { user: 'alice', groups: ['ops'] });
    const robot = await on.keyFor('robot', { subject: 'robot', groups: ['ops'] });
    for (const key of [ops, robot]) {
      const token = tokenIn((await post(on, { key })).body['status']?.['kubeConfig']);
      const seen = await on.ask('GET', `${group}/namespaces/p-shop/virtualclusterinstances/v1`, { key: token });
      expect(seen.code).toBe(200);
    }
  });

  it('ends with the key that asked for it, with or without a scope', async () => {
    const on = await bench();
    for (const scope of [undefined, { projects: [{ project: 'shop' }] }]) {
      const name = `maker-${scope === undefined ? 'wide' : 'narrow'}`;
      const maker = await on.keyFor(name, { user: 'alice', ...(scope === undefined ? {} : { scope }) });
      const token = tokenIn((await post(on, { key: maker })).body['status']?.['kubeConfig']);
      const look = () => on.ask('GET', `${group}/namespaces/p-shop/virtualclusterinstances/v1`, { key: token });
      expect((await look()).code).toBe(200);
      await on.ask('PATCH', `${keysPath}/${name}`, {
        body: { spec: { disabled: true } },
        type: 'application/merge-patch+json',
      });
      expect((await look()).code).toBe(401);
    }
  });

  it('is made by nobody whose key does not cover the virtual cluster', async () => {
    const on = await bench();
    const rules = [
      {
        verbs: ['create'],
        resources: [{ group: 'management.platform', resources: ['virtualclusterinstances/kubeconfig'] }],
      },
    ];
    const narrow = await on.keyFor('narrow', { user: 'alice', scope: { rules } });
    expect(await post(on, { key: narrow })).toMatchObject({
      code: 403,
      body: {
        reason: 'Forbidden',
        message: expect.stringMatching(
          /its kubeconfig holds a key for the whole virtual cluster, which no single entry of the scope .* covers/,
        ),
        details: { name: 'v1', kind: 'virtualclusterinstances' },
      },
    });
    const bob = await on.keyFor('bob', { user: 'bob' });
    expect(await post(on, { key: bob })).toMatchObject({
      code: 403,
      body: { message: expect.stringContaining('"virtualclusterinstances/kubeconfig"') },
    });
    expect(await keyNames(on)).toEqual([]);
  });

  it('lives as long as spec.certificateTTL says', async () => {
    const clock = movedClock();
    const on = await bench({ clock });
    const ttlOf = async (key: string | undefined, spec: object) => {
      const before = new Set(await keyNames(on));
      const made = await post(on, { ...(key === undefined ? {} : { key }), spec });
      const [name] = (await keyNames(on)).filter((one) => !before.has(one));
      if (name === undefined) return made;
      const warning = made.headers['warning'];
      return { ttl: Number((await on.ask('GET', `${keysPath}/${name}`)).body['spec']?.['ttl']), warning };
    };
    expect(await ttlOf(undefined, {})).toEqual({ ttl: 86_400, warning: undefined });
    expect(await ttlOf(undefined, { certificateTTL: 600 })).toMatchObject({ ttl: 600 });
    expect(await ttlOf(undefined, { certificateTTL: 0 })).toEqual({ ttl: 31_536_000, warning: undefined });
    for (const certificateTTL of [1, 599, -1, 2_147_483_648, 'long'])
      expect(await ttlOf(undefined, { certificateTTL }), String(certificateTTL)).toMatchObject({
        code: 422,
        body: { details: { causes: [{ field: 'spec.certificateTTL' }] } },
      });
    const hour = await on.keyFor('hour', { user: 'alice', ttl: 3600 });
    const short = (await ttlOf(hour, {})) as { ttl: number; warning: string };
    expect(short.ttl).toBeGreaterThan(3590);
    expect(short.ttl).toBeLessThan(3600);
    expect(short.warning).toMatch(/spec.certificateTTL: set to 35\d\d, because the calling key ends/);
    expect(((await ttlOf(hour, { certificateTTL: 0 })) as { ttl: number }).ttl).toBeLessThan(3600);
    expect(await ttlOf(hour, { certificateTTL: 7200 })).toMatchObject({ code: 422 });
  });

  it('checks everything in a dry run, and makes nothing', async () => {
    const on = await bench();
    const made = await post(on, { at: `${pathOf('v1')}?dryRun=All` });
    expect(made.code).toBe(201);
    expect(made.body).not.toHaveProperty('status');
    expect(await keyNames(on)).toEqual([]);
    expect((await post(on, { at: `${pathOf('v1')}?dryRun=All`, spec: { certificateTTL: 5 } })).code).toBe(422);
  });

  it('puts another server into the text, and keeps proving it by the known name', async () => {
    const on = await bench();
    const made = await post(on, { spec: { server: 'https://gate.example.com:6443/v1' } });
    expect(configIn(made.body['status']?.['kubeConfig']).clusters[0]?.cluster).toMatchObject({
      server: 'https://gate.example.com:6443/v1',
      'tls-server-name': 'localhost',
      'certificate-authority-data': expect.any(String),
    });
    expect(readFileSync(join(on.folder, 'audit.log'), 'utf8')).toContain(
      'spec.server https://gate.example.com:6443/v1',
    );
    for (const server of [
      'http://v1.example.com',
      'https://user:secret@v1.example.com',
      'https://v1.example.com?x=1',
      'https://v1.example.com/#x',
      'v1.example.com',
      'https://',
      'https://a b',
      `https://${'a'.repeat(3000)}`,
    ]) {
      const refused = await post(on, { spec: { server } });
      expect(refused, server).toMatchObject({ code: 422, body: { details: { causes: [{ field: 'spec.server' }] } } });
      expect(refused.text).not.toContain('secret');
    }
  });

  it('lets an allow list say where kubeconfigs lead', async () => {
    const on = await bench({ settings: { kubeconfigs: { allowedServers: ['gate.example.com'] } } });
    expect((await post(on, { spec: { server: 'https://gate.example.com' } })).code).toBe(201);
    expect(await post(on, { spec: { server: 'https://evil.example.com' } })).toMatchObject({
      code: 422,
      body: { message: expect.stringContaining('must be at one of the hosts gate.example.com') },
    });
  });

  it('leads to the ingress where Hostward serves it', async () => {
    const on = await bench();
    const made = await post(on, { at: pathOf('v3') });
    expect(configIn(made.body['status']?.['kubeConfig']).clusters[0]?.cluster['server']).toBe('https://v3.example.com');
  });

  it('says what is missing or does not fit', async () => {
    const on = await bench();
    expect(await post(on, { at: pathOf('v2') })).toMatchObject({
      code: 409,
      body: {
        reason: 'Conflict',
        message: expect.stringMatching(
          /no ingress endpoint is configured for the virtual cluster shop\/v2; write its address into hostward\.management\.projects\[\]\.virtualClusters\[\]\.ingress\.server/,
        ),
        details: { name: 'v2', group: 'management.platform', kind: 'virtualclusterinstances' },
      },
    });
    expect((await post(on, { at: pathOf('v9') })).code).toBe(404);
    expect((await post(on, { at: pathOf('v1', 'p-other') })).code).toBe(404);
    expect((await on.ask('POST', pathOf('v1'), { body: { metadata: { namespace: 'p-bank' } } })).code).toBe(400);
    expect((await on.ask('POST', pathOf('v1'), { body: { metadata: { name: 'v2' } } })).code).toBe(400);
    expect((await on.ask('POST', pathOf('v1'), { body: { metadata: { name: 'v1', namespace: 'p-shop' } } })).code).toBe(
      201,
    );
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'])
      expect((await on.ask(method, pathOf('v1'), { body: method === 'GET' ? undefined : '{}' })).code).toBe(405);
  });

  it('counts against the quota of its owner', async () => {
    const on = await bench({ settings: { keys: { ...people.keys, perOwner: 2 } } });
    const alice = await on.keyFor('alice', { user: 'alice' });
    expect((await post(on, { key: alice })).code).toBe(201);
    expect(await post(on, { key: alice })).toMatchObject({
      code: 403,
      body: { message: expect.stringContaining('the owner has all the keys that an owner may have, 2') },
    });
  });

  it('is removed an hour after its end', async () => {
    const clock = movedClock();
    const on = await bench({ clock });
    await post(on, { spec: { certificateTTL: 600 } });
    clock.moveSeconds(600 + 3599);
    clock.fire(60_000);
    await until(() => clock.waitingFor(60_000) > 0, 'the next look at expired keys');
    expect(await keyNames(on)).toHaveLength(1);
    clock.moveSeconds(2);
    clock.fire(60_000);
    await until(async () => (await keyNames(on)).length === 0, 'the end of the key');
  });

  it('is removed with its virtual cluster', async () => {
    const on = await bench();
    const alice = await on.keyFor('alice', { user: 'alice' });
    const token = tokenIn((await post(on, { key: alice })).body['status']?.['kubeConfig']);
    const [shop] = settings.projects ?? [];
    if (shop === undefined) throw new Error('want the project of this test');
    await on.api.apply({ ...people, projects: [{ ...shop, virtualClusters: shop.virtualClusters.slice(1) }] });
    expect((await on.ask('GET', group, { key: token })).code).toBe(401);
    expect(await keyNames(on)).toEqual([]);
  });

  it('is in discovery and OpenAPI', async () => {
    const on = await bench();
    const discovered = await on.ask('GET', group);
    expect(discovered.body['resources']).toContainEqual({
      name: 'virtualclusterinstances/kubeconfig',
      singularName: '',
      namespaced: true,
      kind: 'VirtualClusterInstanceKubeConfig',
      verbs: ['create'],
    });
    const gvk = [{ group: 'management.platform', version: 'v1', kind: 'VirtualClusterInstanceKubeConfig' }];
    const name = 'management.platform.v1.VirtualClusterInstanceKubeConfig';
    const v3 = await on.ask('GET', '/kubernetes/management/openapi/v3/apis/management.platform/v1');
    expect(v3.body['components']?.['schemas']?.[name]).toMatchObject({ 'x-kubernetes-group-version-kind': gvk });
    const path = '/apis/management.platform/v1/namespaces/{namespace}/virtualclusterinstances/{name}/kubeconfig';
    expect(v3.body['paths']?.[path]).toMatchObject({
      post: { 'x-kubernetes-group-version-kind': gvk[0] },
      parameters: expect.arrayContaining([
        expect.objectContaining({ name: 'name' }),
        expect.objectContaining({ name: 'namespace' }),
      ]),
    });
    const v2 = await on.ask('GET', '/kubernetes/management/openapi/v2');
    expect(v2.body['definitions']?.[name]).toMatchObject({ 'x-kubernetes-group-version-kind': gvk });
  });
});
