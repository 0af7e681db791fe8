import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { heartbeatMs } from '../../../src/management/direct-tokens/revocation-feed.ts';
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
    expect(await keysAfter('other-7')).toEqual(expect.arrayContaining([await uidOf('earlier'), await uidOf('later')]));
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
