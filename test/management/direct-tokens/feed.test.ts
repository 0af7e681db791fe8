import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseTarget } from '../../../src/apiserver/request/target.ts';
import { silentLog } from '../../../src/log.ts';
import { RevocationWatch } from '../../../src/management/direct/revocation-watch.ts';
import { heartbeatMs, RevocationFeed } from '../../../src/management/direct-tokens/revocation-feed.ts';
import { TokenLedger } from '../../../src/management/direct-tokens/token-ledger.ts';
import type { KeyFacts } from '../../../src/management/keys/life/key-facts.ts';
import { MemoryStore } from '../../../src/store/memory-store.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { type Bench, keysPath, movedClock, openBench, until } from '../server/bench.ts';

const tokensPath = '/kubernetes/management/apis/management.platform/v1/directclusterendpointtokens';
const merge = 'application/merge-patch+json';
const agentPath = '/kubernetes/management/agent/c1/revocations';
const space = { name: 's', cluster: 'c1', namespace: 'shop-s' };
const shop = { name: 'shop', members: [], virtualClusters: [], spaces: [space] };

let bench: Bench;
let agent: string;
const clock = movedClock();
beforeAll(async () => {
  bench = await openBench({ clock, settings: { projects: [shop] } });
  agent = await bench.keyFor('agent', { user: 'admin', scope: { roles: [{ role: 'agent' }] } });
});
afterAll(() => bench.stop());

async function withToken(name: string): Promise<void> {
  const key = await bench.keyFor(name, { user: 'alice' });
  expect((await bench.ask('POST', tokensPath, { key, body: {} })).code).toBe(201);
}

async function uidOf(name: string): Promise<string> {
  return String((await bench.ask('GET', `${keysPath}/${name}`)).body['metadata']?.['uid']);
}

const disable = (name: string) =>
  bench.ask('PATCH', `${keysPath}/${name}`, { type: merge, body: { spec: { disabled: true } } });

describe('the revocation feed', () => {
  it('lists what is revoked, with the platform and its time', async () => {
    await withToken('listed');
    const uid = await uidOf('listed');
    const before = await bench.ask('GET', '/revocations', { key: agent });
    expect(before).toMatchObject({ code: 200, headers: { 'cache-control': 'no-store' } });
    expect(before.text).not.toContain(uid);
    await disable('listed');
    const { body } = await bench.ask('GET', agentPath, { key: agent });
    expect(body).toMatchObject({
      kind: 'RevocationList',
      issuer: 'https://localhost:8443',
      time: expect.stringMatching(/^\d{4}-/),
      metadata: { resourceVersion: expect.stringMatching(/./) },
      items: [{ key: uid, generation: expect.any(Number), expires: expect.stringMatching(/^\d{4}-/) }],
    });
  });

  it('tells a change within a second, after the entries that there are and a bookmark', async () => {
    await withToken('told');
    const stream = await bench.follow('/revocations?watch=true', agent);
    await until(() => stream.events.some(({ type }) => String(type) === 'BOOKMARK'), 'the first bookmark');
    const first = stream.events.length;
    const startedMs = performance.now();
    await disable('told');
    await until(() => stream.events.length > first, 'the revocation');
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    expect(stream.events[first]).toMatchObject({
      type: 'REVOKED',
      object: { key: await uidOf('told'), generation: expect.any(Number) },
    });
    stream.stop();
  });

  it('goes on after a resourceVersion, and begins anew with one that it does not know', async () => {
    await withToken('earlier');
    await disable('earlier');
    const { body } = await bench.ask('GET', '/revocations', { key: agent });
    await withToken('later');
    await disable('later');
    const version = String(body['metadata']?.['resourceVersion']);
    const keysAfter = async (resourceVersion: string) => {
      const stream = await bench.follow(`/revocations?watch=1&resourceVersion=${resourceVersion}`, agent);
      await until(() => stream.events.some(({ type }) => String(type) === 'BOOKMARK'), 'the bookmark');
      stream.stop();
      return stream.events.flatMap(({ object }) => (object?.['key'] === undefined ? [] : [String(object['key'])]));
    };
    expect(await keysAfter(version)).toEqual([await uidOf('later')]);
    const both = expect.arrayContaining([await uidOf('earlier'), await uidOf('later')]);
    for (const unknown of ['other-7', version.replace(/-.*/, '-1e400'), version.replace(/-.*/, '-999999'), 'x'])
      expect(await keysAfter(unknown)).toEqual(both);
  });

  it('shows a sign of life every few seconds, and ends when it was asked to', async () => {
    const stream = await bench.follow('/revocations?watch=true&timeoutSeconds=3', agent);
    const marks = () => stream.events.filter(({ type }) => String(type) === 'BOOKMARK');
    await until(() => marks().length === 1, 'the first bookmark');
    clock.fire(heartbeatMs);
    await until(() => marks().length === 2, 'the heartbeat');
    expect(marks()[1]).toMatchObject({ object: { time: expect.stringMatching(/^\d{4}-/) } });
    clock.fire(3_000);
    await stream.ended;
    await until(() => bench.api.issuing.feed.readers === 0, 'the end of the reader');
  });

  it('writes nothing behind its end, although the client has not read all of it yet', async () => {
    const stream = await bench.follow('/revocations?watch=true&timeoutSeconds=4', agent);
    await until(() => stream.events.length > 0, 'the first bookmark');
    clock.fire(4_000);
    clock.fire(heartbeatMs);
    await stream.ended;
    await until(() => bench.api.issuing.feed.readers === 0, 'the end of the reader');
  });

  it('ends for a reader whose key no longer counts', async () => {
    const key = await bench.keyFor('agent-2', { user: 'admin', scope: { roles: [{ role: 'agent' }] } });
    const stream = await bench.follow(`${agentPath}?watch=true`, key);
    const startedMs = performance.now();
    await disable('agent-2');
    await stream.ended;
    expect(performance.now() - startedMs).toBeLessThan(1_000);
  });

  it('is for administrators and agents; a narrowed agent reads that of its clusters', async () => {
    const narrow = await bench.keyFor('narrow', {
      user: 'admin',
      scope: { roles: [{ role: 'agent', projects: ['shop'] }] },
    });
    const alice = await bench.keyFor('alice', { user: 'alice' });
    const codes = async (key: string | undefined) =>
      Promise.all(
        ['/revocations', agentPath, '/kubernetes/management/agent/c2/revocations'].map(
          async (path) => (await bench.ask('GET', path, { key })).code,
        ),
      );
    expect(await codes(bench.admin)).toEqual([200, 200, 200]);
    expect(await codes(agent)).toEqual([200, 200, 200]);
    expect(await codes(narrow)).toEqual([403, 200, 403]);
    expect(await codes(alice)).toEqual([403, 403, 403]);
    expect(await codes(undefined)).toEqual([401, 401, 401]);
    expect((await bench.ask('POST', '/revocations', { key: agent, body: {} })).code).toBe(405);
  });

  it.each([['watch=yes'], ['watch=1&timeoutSeconds=0'], ['watch=1&timeoutSeconds=4000'], ['timeoutSeconds=x']])(
    'refuses ?%s with the values that it takes',
    async (query) => {
      const { code, body } = await bench.ask('GET', `/revocations?${query}`, { key: agent });
      expect([code, body['message']]).toEqual([400, expect.stringContaining('want ')]);
    },
  );
});

describe('a feed of more revocations than fit into the buffer of one reader', () => {
  it('reaches its readers as a whole: those that there were, and those of one change', async () => {
    const count = 30_000;
    const wide = new VirtualClock('2026-01-01T00:00:00Z');
    const nowMs = () => wide.wallTime().getTime();
    const store = new MemoryStore({ clock: wide });
    await store.start();
    const line = { generation: 1, expiresMs: nowMs() + 3_600_000, view: 'dead: deleted' };
    const uids = Array.from({ length: count }, (_, at) => `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`);
    const stored = uids.map((uid): [string, string] => [
      `tokens/${uid}`,
      JSON.stringify({ ...line, name: uid, hasRevoked: true }),
    ]);
    await store.writeSideValues(new Map(stored));
    let areGone = false;
    const facts = (uid: string) => ({ record: { uid }, isDeleted: true }) as KeyFacts;
    const world = { key: (name: string) => (areGone ? undefined : facts(name)) } as never;
    const ledger = new TokenLedger({ store, world, nowMs, failed: (error) => expect.unreachable(String(error)) });
    await ledger.start(false);
    const feed = new RevocationFeed({ ledger, issuer: 'x', clock: wide, mayRead: () => ({ allowed: true }) });
    const paths = feed.paths(async () => false);
    const trail = { streamStarts: async () => undefined, ends: async () => undefined };
    const target = parseTarget('GET', '/agent/c1/revocations?watch=1');
    const server = createServer((request, response) => {
      void paths(target, request, response, { name: 'x', groups: [] }, trail as never);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const known = new Map<string, number>();
    const watch = new RevocationWatch({
      open: () =>
        new Promise((resolve, reject) => {
          get({ host: '127.0.0.1', port, path: '/?watch=1', agent: false }, resolve).on('error', reject);
        }),
      taken: ({ key, generation }) => void known.set(key, generation),
      ...{ silenceMs: 30_000, clock: wide, log: silentLog },
    });
    watch.start();
    await until(() => watch.trouble === undefined, 'the first bookmark');
    expect(known.size).toBe(count);
    areGone = true;
    ledger.reviewAll();
    await until(() => [...known.values()].every((generation) => generation > 1), 'all of the change');
    await watch.stop();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await store.stop();
  });
});
