import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { afterEach, describe, expect, it } from 'vitest';
import { makeAuthority } from '../../../../src/apiserver/tls/certificates.ts';
import type { ManagementVirtualCluster } from '../../../../src/config/settings/management-settings.ts';
import { noRoom } from '../../../../src/management/credentials/certificates/certificate-room.ts';
import type { IssueRecord } from '../../../../src/management/credentials/certificates/issue-record.ts';
import { type Bench, keysPath, movedClock, openBench, people, until } from '../../server/bench.ts';

const path =
  '/kubernetes/management/apis/management.platform/v1/namespaces/p-shop/virtualclusterinstances/v1/kubeconfig';
const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

type Reply = { code: number; body?: object };

/** A virtual cluster that answers as a test says; what it was asked is kept. */
interface StandIn {
  kubeconfig: string;
  asked: { method: string; path: string; body: Record<string, unknown> }[];
  reply: (method: string, path: string) => Reply;
}

const status = (code: number, reason: string): Reply => ({
  code,
  body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message: `the words of ${reason}`, code },
});
/** Without a CA of its own, so that the CSR API signs. */
const byCluster = { signing: undefined } as unknown as Partial<ManagementVirtualCluster>;
const isRequest = (at: string) => at.includes('/certificatesigningrequests');

function standInReply(more: (method: string, at: string) => Reply | undefined = () => undefined): StandIn['reply'] {
  return (method, at) => {
    const own = more(method, at);
    if (own !== undefined) return own;
    if (method === 'GET') return { code: 200, body: { kind: 'List', apiVersion: 'v1', metadata: {}, items: [] } };
    if (method === 'DELETE') return { code: 200, body: { kind: 'Status', apiVersion: 'v1', status: 'Success' } };
    return { code: 201, body: { kind: 'Any', apiVersion: 'v1', metadata: { name: 'made' } } };
  };
}

async function standIn(folder: string): Promise<StandIn> {
  const made: StandIn = { kubeconfig: join(folder, 'v1.kubeconfig'), asked: [], reply: standInReply() };
  const server: Server = createServer((request, response) => {
    let text = '';
    request.on('data', (part) => {
      text += part;
    });
    request.on('end', () => {
      const { method = '', url = '' } = request;
      // Not noted: other parts of Hostward ask for its rights at any time.
      if (!url.startsWith('/apis/authorization.k8s.io/'))
        made.asked.push({ method, path: url, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) });
      const { code, body } = made.reply(method, url);
      response.writeHead(code, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  endings.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'v1', cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: 'v1', user: { token: 'the-own-token' } }],
    contexts: [{ name: 'v1', context: { cluster: 'v1', user: 'v1' } }],
    'current-context': 'v1',
  };
  writeFileSync(made.kubeconfig, JSON.stringify(config));
  return made;
}

const server = 'https://v1.example.com';

interface Scene {
  on: Bench;
  upstream: StandIn;
  /** Of an admin of the project. */
  key: string;
  ask(spec?: object, key?: string, query?: string): ReturnType<Bench['ask']>;
}

async function scene(
  instance: Partial<ManagementVirtualCluster> = {},
  clock = movedClock(),
  keys: { perOwner?: number } = {},
): Promise<Scene> {
  const opened = await openBench({ settings: { projects: [] }, clock });
  endings.push(() => opened.stop());
  const upstream = await standIn(opened.folder);
  const authority = await makeAuthority('v1', new Date());
  const files = { certificate: join(opened.folder, 'v1-ca.crt'), key: join(opened.folder, 'v1-ca.key') };
  writeFileSync(files.certificate, authority.certPem);
  writeFileSync(files.key, authority.keyPem);
  await opened.api.apply({
    ...people,
    keys: { ...people.keys, ...keys },
    projects: [
      {
        name: 'shop',
        members: [
          { user: 'alice', role: 'admin' },
          { user: 'bob', role: 'user' },
        ],
        virtualClusters: [
          {
            name: 'v1',
            kubeconfig: upstream.kubeconfig,
            ingress: {
              server: 'https://v1.example.com',
              servedBy: 'virtualCluster',
              certificateAuthority: files.certificate,
            },
            signing: files,
            clientCert: { clusterRole: 'cluster-admin', maxTTL: 0 },
            ...instance,
          },
        ],
        spaces: [],
      },
    ],
  });
  const key = await opened.keyFor('alices', { user: 'alice' });
  return {
    on: opened,
    upstream,
    key,
    ask: (spec = {}, by = key, query = '') =>
      opened.ask('POST', path + query, { key: by, body: { spec: { clientCert: true, ...spec } } }),
  };
}

describe('a kubeconfig with a client certificate', () => {
  it('is signed by the configured CA, in one group of its own that is bound to the ClusterRole', async () => {
    const { upstream, ask } = await scene();
    const made = await ask();
    expect(made).toMatchObject({ code: 201, headers: { 'cache-control': 'no-store' } });
    const { users, clusters } = load(String(made.body['status']?.['kubeConfig'])) as {
      users: { user: Record<string, string> }[];
      clusters: { cluster: Record<string, string> }[];
    };
    expect(clusters[0]?.cluster['server']).toBe('https://v1.example.com');
    expect(Object.keys(users[0]?.user ?? {})).toEqual(['client-certificate-data', 'client-key-data']);
    const pem = Buffer.from(users[0]?.user['client-certificate-data'] ?? '', 'base64').toString();
    const { subject, ca, serialNumber } = new X509Certificate(pem);
    expect(ca).toBe(false);
    expect(serialNumber).toHaveLength(32);
    const group = /O=(hostward:issue:\w{32})$/m.exec(subject)?.[1];
    const binding = upstream.asked.find(({ method }) => method === 'POST')?.body;
    expect(binding).toMatchObject({
      roleRef: { kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'Group', name: group }],
    });
    expect(made.headers['warning']).toContain('new requests with this certificate end within 2 seconds');
  });

  it('is for admins of the project, without rules, through a key', async () => {
    const { on, ask } = await scene();
    const bob = await on.keyFor('bobs', { user: 'bob' });
    expect(await ask({}, bob)).toMatchObject({
      code: 403,
      body: {
        message: expect.stringContaining('no client certificate for this caller'),
        details: { causes: [{ field: 'spec.clientCert' }] },
      },
    });
    const ruled = await on.keyFor('ruled', { user: 'alice', scope: { rules: [{}] } });
    expect(await ask({}, ruled)).toMatchObject({
      code: 403,
      body: { message: expect.stringContaining('a key with rules in its scope gets no client certificate') },
    });
    const scoped = await on.keyFor('scoped', {
      user: 'alice',
      scope: { virtualClusters: [{ project: 'shop', virtualCluster: 'v1' }] },
    });
    expect((await ask({}, scoped)).code).toBe(201);
  });

  it('is not made in a dry run, and asks the virtual cluster nothing', async () => {
    const { upstream, ask } = await scene();
    upstream.asked.length = 0;
    const made = await ask({}, undefined, '?dryRun=All');
    expect(made.code).toBe(201);
    expect(made.body).not.toHaveProperty('status');
    expect((await ask({ certificateTTL: 5 }, undefined, '?dryRun=All')).code).toBe(422);
    expect(upstream.asked).toEqual([]);
  });

  it.each([
    ['no CA', { ingress: { server, servedBy: 'virtualCluster' as const } }, 409, 'ingress.certificateAuthority'],
    ['a CA that is not there', { signing: { certificate: '/nowhere', key: '/nowhere' } }, 503, 'the CA that signs'],
    ['a kubeconfig that is not there', { kubeconfig: '/nowhere' }, 503, 'cannot be used'],
  ])('says what is missing: %s', async (_what, instance, code, message) => {
    const { ask } = await scene(instance);
    expect(await ask()).toMatchObject({ code, body: { kind: 'Status', message: expect.stringContaining(message) } });
  });

  it.each([
    ['has no right', status(403, 'Forbidden'), 502, 'hostward upstream-rbac --instance shop/v1'],
    ['cannot log in', status(401, 'Unauthorized'), 502, 'cannot log in'],
    ['meets a server that starts', status(503, 'ServiceUnavailable'), 503, 'not ready'],
    ['is told to wait', status(429, 'TooManyRequests'), 503, 'not ready'],
    ['is refused', status(422, 'Invalid'), 502, 'refuses to bind'],
    ['finds no such API', status(404, 'NotFound'), 502, 'has no API to bind'],
  ])(
    'says what to do when Hostward %s, and in no words of the virtual cluster',
    async (_what, reply, code, message) => {
      const { on, upstream, ask } = await scene();
      upstream.reply = standInReply((method) => (method === 'POST' ? reply : undefined));
      const refused = await ask();
      expect(refused).toMatchObject({ code, body: { kind: 'Status', message: expect.stringContaining(message) } });
      if (code === 503) expect(refused.headers['retry-after']).toBe('5');
      expect(refused.text).not.toMatch(/the-own-token|the words of/);
      await until(() => upstream.asked.some(({ method }) => method === 'DELETE'), 'the removal of what was begun');
      await until(() => on.api.status().certificates.removalsWaiting.length === 0, 'the end of the removal');
    },
  );

  it.each([
    ['Denied', 403, 'denied the certificate: not today'],
    ['Failed', 502, 'could not sign the certificate: not today'],
  ])('hears from the CSR API that the request is %s', async (type, code, message) => {
    const { upstream, ask } = await scene(byCluster);
    const conditions = [{ type, status: 'True', message: 'not today' }];
    upstream.reply = standInReply((method, at) =>
      method === 'GET' && isRequest(at)
        ? { code: 200, body: { kind: 'C', apiVersion: 'v1', metadata: { name: 'x' }, status: { conditions } } }
        : undefined,
    );
    expect(await ask()).toMatchObject({ code, body: { message: expect.stringContaining(message) } });
    expect(upstream.asked.find(({ method, path: at }) => method === 'POST' && isRequest(at))?.body).toMatchObject({
      spec: {
        signerName: 'kubernetes.io/kube-apiserver-client',
        usages: ['client auth', 'digital signature'],
        expirationSeconds: 86_400,
      },
    });
    expect(upstream.asked.some(({ method, path: at }) => method === 'DELETE' && isRequest(at))).toBe(true);
  });

  it('takes what is signed although somebody else was first to approve the request', async () => {
    const { upstream, ask } = await scene(byCluster);
    const made = await makeAuthority('signer', new Date());
    const signed = { certificate: Buffer.from(made.certPem).toString('base64') };
    upstream.reply = standInReply((method, at) => {
      if (method === 'PUT' && at.endsWith('/approval')) return status(409, 'Conflict');
      if (method !== 'GET' || !isRequest(at)) return undefined;
      return { code: 200, body: { kind: 'C', apiVersion: 'v1', metadata: { name: 'x' }, status: signed } };
    });
    const answer = await ask();
    expect(answer, answer.text).toMatchObject({ code: 201 });
    expect(String(answer.body['status']?.['kubeConfig'])).toContain(signed.certificate.slice(0, 60));
  });

  it('says why Hostward may not approve the request', async () => {
    const { upstream, ask } = await scene(byCluster);
    upstream.reply = standInReply((method, at) =>
      method === 'PUT' && at.endsWith('/approval') ? status(403, 'Forbidden') : undefined,
    );
    const refused = await ask();
    expect(refused).toMatchObject({ code: 502, body: { message: expect.stringContaining('upstream-rbac') } });
    expect(upstream.asked.some(({ method, path: at }) => method === 'DELETE' && isRequest(at))).toBe(true);
  });

  it.each([
    [86_400, false],
    [86_401, true],
  ])(
    'that lives %d seconds and is signed for the listener of Hostward warns of a long life: %s',
    async (ttl, isLong) => {
      const { ask } = await scene({ ingress: { server, servedBy: 'hostward' } });
      const made = await ask({ certificateTTL: ttl });
      expect(made, made.text).toMatchObject({ code: 201 });
      expect(String(made.headers['warning'] ?? '').includes('the client certificate is valid until')).toBe(isLong);
    },
  );

  it('waits ten seconds for a silent signer, and asks for no duration when the life is 0', async () => {
    const clock = movedClock();
    const { upstream, ask } = await scene(byCluster, clock);
    const realNow = clock.now;
    let movedMs = 0;
    clock.now = () => realNow() + movedMs;
    upstream.reply = standInReply((method, at) => {
      if (method !== 'GET' || !isRequest(at)) return undefined;
      movedMs += 4_000;
      return { code: 200, body: { kind: 'C', apiVersion: 'v1', metadata: { name: 'x' }, status: {} } };
    });
    expect(await ask({ certificateTTL: 0 })).toMatchObject({
      code: 504,
      body: { reason: 'Timeout', message: expect.stringContaining('kube-controller-manager') },
    });
    const request = upstream.asked.find(({ method, path: at }) => method === 'POST' && isRequest(at));
    expect(request?.body['spec']).not.toHaveProperty('expirationSeconds');
    // Nobody may sign it later: nothing would end that certificate.
    const isRemoval = ({ method, path: at }: StandIn['asked'][0]) => method === 'DELETE' && isRequest(at);
    await until(() => upstream.asked.some(isRemoval), 'the removal of the request');
  });

  it.each([
    ['the key is disabled', async ({ on }: Scene) => patch(on, { disabled: true })],
    ['the key gets a nearer end', async ({ on }: Scene) => patch(on, { ttl: 60 })],
    ['the key is deleted', async ({ on }: Scene) => on.ask('DELETE', `${keysPath}/alices`)],
  ])('loses its rights when %s', async (_what, act) => {
    const at = await scene();
    expect((await at.ask()).code).toBe(201);
    expect(at.on.api.status().certificates).toEqual({ live: 1, removalsWaiting: [] });
    await act(at);
    const isRemoval = ({ method, path: of }: StandIn['asked'][0]) =>
      method === 'DELETE' && /hostward-issue-\w{32}$/.test(of);
    await until(() => at.upstream.asked.some(isRemoval), 'the removal of the binding');
    await until(() => at.on.api.status().certificates.live === 0, 'the end of the certificate');
  });

  it('loses its rights when its subject leaves, its role shrinks, and when its time is over', async () => {
    const clock = movedClock();
    const at = await scene({}, clock);
    expect((await at.ask()).code).toBe(201);
    await at.on.api.apply({
      ...people,
      users: people.users.filter(({ name }) => name !== 'alice'),
      teams: [],
      clusters: [],
      projects: [],
    });
    await until(() => at.on.api.status().certificates.live === 0, 'the end of the certificate');
    const other = await scene({}, clock);
    expect((await other.ask({ certificateTTL: 600 })).code).toBe(201);
    clock.moveSeconds(601);
    await until(() => other.on.api.status().certificates.live === 0, 'the end of the certificate');
  });

  it('tries a removal again for ever, says so, and goes on after a restart', async () => {
    const clock = movedClock();
    const { on, upstream, ask } = await scene({}, clock);
    expect((await ask()).code).toBe(201);
    upstream.reply = standInReply((method) => (method === 'DELETE' ? status(503, 'ServiceUnavailable') : undefined));
    await patch(on, { disabled: true });
    await until(() => on.api.status().certificates.removalsWaiting.length === 1, 'a removal that waits');
    await until(() => (on.api.status().certificates.removalsWaiting[0]?.attempts ?? 0) >= 2, 'a second attempt');
    expect(on.api.status().certificates).toMatchObject({
      live: 0,
      removalsWaiting: [{ instance: 'shop/v1', trouble: expect.stringContaining('503') }],
    });
    expect(on.api.status().troubles?.[0]).toMatch(
      /^a client certificate of ended access keys may still have rights in the virtual cluster shop\/v1: .*503/,
    );
    await on.restart();
    await until(() => on.api.status().certificates.removalsWaiting.length === 1, 'the removal after a restart');
    upstream.reply = standInReply((method) => (method === 'DELETE' ? status(404, 'NotFound') : undefined));
    await until(() => on.api.status().certificates.removalsWaiting.length === 0, 'the end of the removal');
  });

  it.each(['virtualCluster', 'hostward'] as const)('is named in the outcome, served by %s', async (servedBy) => {
    const { on, ask } = await scene(servedBy === 'hostward' ? { ingress: { server, servedBy } } : {});
    expect((await ask()).code).toBe(201);
    const lines = readFileSync(join(on.folder, 'audit.log'), 'utf8').split('\n');
    const line = JSON.parse(lines.find((one) => one.includes('issued the client certificate')) ?? '{}');
    const about = { kind: 'ClientCertificate', name: expect.stringMatching(/^[0-9a-f]+$/), owner: 'user:alice' };
    expect(line.objects).toMatchObject([{ ...about, scope: expect.stringMatching(/^[0-9a-f]{16}$/) }]);
  });

  it('counts certificates of an owner against the quota', async () => {
    const { on, key } = await scene();
    const asks = Array.from({ length: 21 }, () => on.ask('POST', path, { key, body: { spec: { clientCert: true } } }));
    const codes = [];
    for (const ask of asks) codes.push((await ask).code);
    expect(codes.filter((code) => code === 201)).toHaveLength(20);
    expect(codes.filter((code) => code === 403)).toHaveLength(1);
  });
});

describe('the room for client certificates', () => {
  const record = (key: string, owner: string, instance: string): IssueRecord => ({
    ...{ id: '', state: 'live', by: 'binding', project: 'shop', virtualCluster: 'v1', kubeconfig: '', serial: '' },
    ...{ createdMs: 0, notAfterMs: undefined, instance },
    ...{ key: { name: key, uid: `uid of ${key}`, generation: 1 }, subject: { kind: 'user', name: owner } },
  });
  const many = (count: number, of: (at: number) => IssueRecord) => Array.from({ length: count }, (_, at) => of(at));

  it.each([
    ['none', [], undefined],
    ['99 of the key', many(99, () => record('k', 'alice', 'v1')), undefined],
    ['100 of the key', many(100, () => record('k', 'alice', 'v1')), /access key k has 100 .* certificateTTL/],
    ['100 of the key in many places', many(100, (at) => record('k', 'alice', `v${at}`)), /access key k has 100/],
    [
      '300 of the owner, by other keys',
      many(300, (at) => record(`k${at}`, 'alice', 'v2')),
      /owner .* 300 .* may have 300/,
    ],
    ['999 of the instance, by others', many(999, (at) => record(`k${at}`, `user${at}`, 'v1')), undefined],
    [
      '1000 of the instance, by others',
      many(1000, (at) => record(`k${at}`, `user${at}`, 'v1')),
      /virtual cluster has 1000/,
    ],
    ['1000 of another instance', many(1000, (at) => record(`k${at}`, `user${at}`, 'v2')), undefined],
  ])('with %s', (_, records, why) => {
    const found = noRoom(records, record('k', 'alice', 'v1'), 300);
    if (why === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(why);
  });

  it('is limited by owner in each virtual cluster, so that one owner with many keys leaves room for others', () => {
    const records = many(500, (at) => record(`k${at}`, 'alice', 'v1'));
    expect(noRoom(records, record('k', 'alice', 'v1'), 1000)).toMatch(
      /owner of the key has 500 .* of this virtual cluster/,
    );
    expect(noRoom(records, record('k', 'alice', 'v2'), 1000)).toBeUndefined();
    expect(noRoom(records, record('k', 'bob', 'v1'), 1000)).toBeUndefined();
    const team = { kind: 'team', name: 'alice' } as const;
    expect(noRoom(records, { ...record('k', 'alice', 'v1'), subject: team }, 1000)).toBeUndefined();
  });

  it('is limited by key, for requests at the same time too (at length)', async () => {
    const ingress = { server, servedBy: 'hostward' as const };
    const { on, key } = await scene({ ingress }, movedClock(), { perOwner: 1000 });
    const asks = Array.from({ length: 103 }, () => on.ask('POST', path, { key, body: { spec: { clientCert: true } } }));
    const answers = await Promise.all(asks);
    expect(answers.filter(({ code }) => code === 201)).toHaveLength(100);
    expect(answers.find(({ code }) => code === 403)?.body).toMatchObject({
      message: expect.stringContaining('the access key alices has 100 client certificates'),
    });
  }, 60_000);
});

const patch = (on: Bench, spec: object) =>
  on.ask('PATCH', `${keysPath}/alices`, { body: { spec }, type: 'application/merge-patch+json' });
