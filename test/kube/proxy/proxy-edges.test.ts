// The proxy in front of a real kube-apiserver, attacked with requests that no kubectl sends. The numbers are those of the proxy
// tests in the design's list. kube-apiserver's own audit log tells which requests arrived there.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectWithinMs, silentAfterMs } from '../../../src/cluster/wire/raw-attempt.ts';
import { ApiClient } from '../../contract/client.ts';
import { type RawClient, rawClient, requestText } from '../../management/proxy/upstream.ts';
import { movedClock, until } from '../../management/server/bench.ts';
import { ownTime } from '../../own-time.ts';
import { arrived, auditFlags } from '../start/arrivals.ts';
import { kubeAssets } from '../start/assets.ts';
import { kubeletProgram } from '../start/kubelet.ts';
import { type Proxied, proxyUser, startProxied } from './proxied.ts';
import { aggregatedGroup, type Elsewhere, openElsewhere, serveAggregated } from './redirects.ts';

const assets = kubeAssets().found;
const kubelet = assets === undefined ? undefined : kubeletProgram(assets);
const instance = '/kubernetes/project/shop/virtualcluster/v1';
const space = '/kubernetes/project/shop/space/s1';
const configmaps = '/api/v1/namespaces/default/configmaps';
const web = '/api/v1/namespaces/default/pods/web';
const selfReview = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const websocket = [
  ...['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'],
  'Sec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA==',
];
const spdy = ['Connection: Upgrade', 'Upgrade: SPDY/3.1', 'X-Stream-Protocol-Version: v4.channel.k8s.io'];
/** Longer than the five seconds after which Node closes a connection between two requests. */
const silenceMs = 7_000;
/** Together more than the 16 KiB that a client may send us. */
const crew = Array.from({ length: 400 }, (_, at) => `crew-${at}-${'x'.repeat(50)}`);

describe.skipIf(assets === undefined || kubelet === undefined)('the proxy under attack', () => {
  const clock = movedClock();
  let folder: string;
  let proxied: Proxied;
  let admin: ApiClient;
  let alice: string;
  let dora: string;
  let elsewhere: Elsewhere;

  beforeAll(async () => {
    if (assets === undefined || kubelet === undefined) return;
    folder = mkdtempSync(join(tmpdir(), 'hostward-proxy-edges-'));
    proxied = await startProxied(assets, kubelet, {
      users: [{ name: 'crowd', groups: crew, disabled: false }],
      apiserverFlags: [...auditFlags(folder), '--aggregator-reject-forwarding-redirect=false'],
      clock,
    });
    const { cluster, bench, settings } = proxied;
    const [shop, ...others] = settings.projects;
    if (shop === undefined) throw new Error('want the project shop, got none');
    const members = [...shop.members, { user: 'crowd', role: 'user' as const }];
    settings.projects = [{ ...shop, members }, ...others];
    await bench.api.apply(settings);
    await proxied.giveRights({ project: 'shop', virtualCluster: 'v1' });
    await proxied.giveRights({ cluster: 'c1' });
    admin = new ApiClient({ url: cluster.url, caPem: cluster.caPem, token: cluster.adminToken });
    alice = await bench.keyFor('alice-key', { user: 'alice' });
    dora = await bench.keyFor('dora-key', { user: 'dora' });
    elsewhere = await openElsewhere();
    // RBAC reads new roles from a cache.
    await until(async () => (await get(`${instance}${configmaps}`)).code === 200, 'the rights', 20_000);
  }, 120_000);
  afterAll(async () => {
    elsewhere?.close();
    await admin?.close();
    await proxied?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }, 30_000);

  const get = (path: string, key = alice) => proxied.bench.ask('GET', path, { key });

  async function open(line: string, headers: readonly string[], key = alice, body = ''): Promise<RawClient> {
    const client = await rawClient(proxied.bench);
    client.write(requestText(`${line} HTTP/1.1`, [`Authorization: Bearer ${key}`, ...headers]) + body);
    return client;
  }

  /** All that came back until the server closed the connection. */
  async function answerTo(line: string, headers: readonly string[], key = alice, body = ''): Promise<string> {
    const client = await open(line, headers, key, body);
    await client.closed;
    return client.text();
  }

  /** Paths of the requests that arrived at kube-apiserver while `act` ran. */
  async function arrivedDuring(act: () => Promise<void>): Promise<string[]> {
    const before = arrived(folder).length;
    await act();
    return arrived(folder).slice(before);
  }

  /** Requests to this resource in one namespace that kube-apiserver holds open; its controllers watch all namespaces. */
  async function longRunning(resource: string, subresource: string): Promise<number> {
    const { text } = await admin.request('GET', '/metrics');
    return text
      .split('\n')
      .filter((line) => line.startsWith('apiserver_longrunning_requests{') && !line.includes('scope="cluster"'))
      .filter((line) => line.includes(`resource="${resource}",`) && line.includes(`subresource="${subresource}"`))
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  it('Connection cannot take the identity away from a request (CVE-2021-31999)', async () => {
    const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });
    const headers = ['Content-Type: application/json', `Content-Length: ${body.length}`];
    for (const named of [
      'Impersonate-User, Impersonate-Group',
      'impersonate-user, IMPERSONATE-GROUP, Authorization, Impersonate-Extra-Hostward.dev%2fkey',
    ]) {
      const lines = [...headers, `Connection: close, ${named}`];
      const text = await answerTo(`POST ${instance}${selfReview}`, lines, alice, body);
      expect(text).toMatch(/^HTTP\/1.1 201 /);
      expect(text).toContain('"username":"hostward:user:alice"');
      expect(text).toContain('"hostward:project:shop:user"');
      expect(text).toContain('"hostward.dev/key":["alice-key"]');
      expect(text).not.toContain(proxyUser);
    }
  });

  it('every group of a subject arrives, and more groups than kube-apiserver reads are 431', async () => {
    const crowd = await proxied.bench.keyFor('crowd-key', { user: 'crowd' });
    const ask = () =>
      proxied.bench.ask('POST', `${instance}${selfReview}`, {
        key: crowd,
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
      });
    const seen = await ask();
    expect(seen, seen.text).toMatchObject({ code: 201 });
    expect(seen.body['status']?.['userInfo']?.['groups']).toEqual([
      'hostward:project:shop:user',
      ...crew.map((group) => `hostward:group:${group}`),
      'system:authenticated',
    ]);
    const { settings, bench } = proxied;
    // kube-apiserver reads 1 MiB of headers.
    const many = Array.from({ length: 1_200 }, (_, at) => `${at}-${'x'.repeat(1_000)}`);
    const users = settings.users.map((user) => (user.name === 'crowd' ? { ...user, groups: many } : user));
    await bench.api.apply({ ...settings, users });
    for (let count = 0; count < 5; count++) {
      const refused = await ask();
      expect(refused, refused.text).toMatchObject({ code: 431 });
    }
    await bench.api.apply(settings);
  }, 60_000);

  it('group headers of a client are 403, repeated or not, and too many bytes of them 431', async () => {
    const urls = await arrivedDuring(async () => {
      for (const name of ['Impersonate-Group', 'IMPERSONATE_GROUP']) {
        const repeated = [`${name}: system:masters`, `${name}: devs`, 'Connection: close'];
        expect(await answerTo(`GET ${instance}${configmaps}`, repeated)).toMatch(/^HTTP\/1.1 403 /);
      }
      const long = Array.from({ length: 40 }, () => `Impersonate-Group: ${'x'.repeat(500)}`);
      expect(await answerTo(`GET ${instance}${configmaps}`, long)).toMatch(/^HTTP\/1.1 431 /);
    });
    expect(urls).toEqual([]);
  });

  it.each([
    ['watch', `GET ${instance}${configmaps}?watch=true`, [], 'configmaps', ''],
    ['log', `GET ${instance}${web}/log?follow=true`, [], 'pods', 'log'],
    ['exec', `POST ${instance}${web}/exec?command=cat&stdin=true&stdout=true`, spdy, 'pods', 'exec'],
    [
      'exec over WebSocket',
      `GET ${instance}${web}/exec?command=cat&stdin=true&stdout=true`,
      [...websocket, 'Sec-WebSocket-Protocol: v5.channel.k8s.io'],
      'pods',
      'exec',
    ],
  ] as const)(
    'a client that goes away ends its %s at kube-apiserver within a second',
    async (_what, line, headers, resource, subresource) => {
      const before = await longRunning(resource, subresource);
      const client = await open(line, headers);
      await until(
        async () => (await longRunning(resource, subresource)) === before + 1,
        `the request: ${client.text()}`,
      );
      await until(() => /^HTTP\/1.1 (?:200|101) /.test(client.text()), 'the beginning of the answer');
      const tookMs = ownTime();
      client.socket.destroy();
      await until(async () => (await longRunning(resource, subresource)) === before, 'the end of the request');
      expect(tookMs()).toBeLessThan(1_000);
    },
    30_000,
  );

  it('encoded slashes and dot steps do not leave the project', async () => {
    const tricks = [
      ...['/../v2/api', '/%2e%2e/v2/api', '/.%2E/v2/api', '/./api', '/api%2fv1', '/api/%2e%2e/x', '//api/v1', '/a\\b'],
      ...['/api/v1/..%2f..', '/api%252fv1', '/%252e%252e/v2', '/api/v1/namespaces/default/../../nodes'],
      '/../../../../cluster/c1/api/v1/namespaces/default/secrets',
    ].map((trick) => `${instance}${trick}`);
    const out = [
      '/../default/secrets',
      '/%2e%2e/default/secrets',
      '%2f..%2fdefault/secrets',
      '%2F%2E%2E%2Fdefault/secrets',
    ];
    tricks.push(...out.map((trick) => `${space}/api/v1/namespaces/shop-s1${trick}`));
    tricks.push('/kubernetes/project/shop/space/s1%2f..%2fs2/api', '/kubernetes/project/bank%2f..%2fshop/space/s1/api');
    const urls = await arrivedDuring(async () => {
      for (const trick of tricks) {
        const text = await answerTo(`GET ${trick}`, ['Connection: close']);
        expect(`${trick} ${text.slice(9, 12)}`).toBe(`${trick} 400`);
      }
    });
    expect(urls).toEqual([]);
    // Where they mean nothing for the path, they arrive to the letter.
    const honest = ['/..;/v2', `${configmaps}/kube-root-ca.crt`, `${configmaps}?labelSelector=example.com%2Fa`];
    const passed = await arrivedDuring(async () => {
      for (const path of honest) await get(`${instance}${path}`);
    });
    expect(passed).toEqual(honest);
  });

  it('a redirect of an aggregated API is neither followed nor passed on, except within the cluster (CVE-2022-3172)', async () => {
    await serveAggregated(admin);
    const to = (url: string) => `/apis/${aggregatedGroup}/v1/things?to=${encodeURIComponent(url)}`;
    // kube-apiserver passes on what the aggregated API answers, because its own check is switched off.
    const bare = await admin.request('GET', to(elsewhere.url));
    expect([bare.status, bare.headers['location']]).toEqual([302, elsewhere.url]);
    for (const url of [elsewhere.url, elsewhere.url.replace('http:', ''), 'https://127.0.0.1:1/x']) {
      const text = await answerTo(`GET ${instance}${to(url)}`, ['Connection: close'], dora);
      expect(text).toMatch(/^HTTP\/1.1 502 [\s\S]*"kind":"Status"/);
      expect(text).not.toMatch(/\r\nlocation:|127\.0\.0\.1/i);
    }
    expect(elsewhere.reached).toBe(0);
    // kube-apiserver itself redirects to the present version of a document.
    const document = '/openapi/v3/apis/apps/v1?hash=';
    const within = await get(`${instance}${document}OLD`, dora);
    expect(within.code).toBe(301);
    expect(within.headers.location).toMatch(new RegExp(`^${RegExp.escape(instance + document)}[0-9A-F]+$`));
    expect(await get(String(within.headers.location), dora)).toMatchObject({ code: 200, body: { openapi: '3.0.0' } });
  }, 30_000);

  it('a redirect of a session is not followed (CVE-2020-8559)', async () => {
    const path = `${instance}${web}/exec?command=redirect-to&command=${encodeURIComponent(elsewhere.url)}&stdout=true`;
    const cases = [
      [`POST ${path}`, spdy],
      [`GET ${path}`, [...websocket, 'Sec-WebSocket-Protocol: v4.channel.k8s.io']],
      [`GET ${path}`, [...websocket, 'Sec-WebSocket-Protocol: v5.channel.k8s.io']],
    ] as const;
    for (const [line, headers] of cases) {
      const text = await answerTo(line, headers, dora);
      // The words of kube-apiserver, which met the redirect.
      expect(text).toMatch(/redirect not allowed|invalid upgrade response: status code 302/);
      expect(text).not.toMatch(/\r\nlocation:/i);
    }
    expect(elsewhere.reached).toBe(0);
  }, 30_000);

  it('an upgrade to h2c is refused and does not arrive', async () => {
    const settings = 'HTTP2-Settings: AAMAAABkAAQAAP__';
    const urls = await arrivedDuring(async () => {
      for (const path of [`${web}/exec?command=id`, '/api/v1/nodes/node/proxy/', configmaps, '/version'])
        for (const headers of [
          ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', settings],
          ['Connection: Upgrade', 'Upgrade: websocket, h2c'],
          ['Connection: close', 'Upgrade: h2c'],
        ])
          expect(await answerTo(`GET ${instance}${path}`, headers, dora)).toMatch(
            /^HTTP\/1.1 400 [\s\S]*"kind":"Status"/,
          );
    });
    expect(urls).toEqual([]);
  });

  it('a watch that is silent for seven seconds, and for an hour of our own clock, goes on', async () => {
    const watch = await proxied.bench.follow(`${instance}${configmaps}?watch=true&labelSelector=late`, alice);
    clock.moveSeconds(3_600);
    clock.moveMonotonic(3_600_000);
    for (const delayMs of [connectWithinMs, silentAfterMs]) clock.fire(delayMs);
    await pause(silenceMs);
    expect(watch.events).toEqual([]);
    const body = { metadata: { name: 'late', labels: { late: '' } } };
    expect(await admin.request('POST', configmaps, { body })).toMatchObject({ status: 201 });
    await until(() => watch.events.length === 1, 'the event');
    expect(watch.events[0]).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'late' } } });
    watch.stop();
  }, 30_000);
});
