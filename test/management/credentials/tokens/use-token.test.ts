import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publishedAheadMs } from '../../../../src/management/credentials/tokens/token-keys.ts';
import { ownTime } from '../../../own-time.ts';
import { type Behind, openBehind } from '../../proxy/upstream.ts';
import { keysPath, until } from '../../server/bench.ts';
import { makeSigner, payloadIn, tokenOf, withOther, wronglySigned } from '../claims/token-bench.ts';

const tokensPath = '/kubernetes/management/apis/management.platform/v1/directclusterendpointtokens';
const merge = 'application/merge-patch+json';
const pods = '/api/v1/namespaces/default/pods';
const cluster = '/kubernetes/cluster/c1';
const instance = '/kubernetes/project/shop/virtualcluster/v1';

let behind: Behind;
beforeAll(async () => {
  behind = await openBehind();
});
afterAll(() => behind.stop());

async function tokenFor(name: string, spec: object = {}, tokenSpec: object = {}): Promise<string> {
  const key = await behind.bench.keyFor(name, { user: 'alice', ...spec });
  const { body, text } = await behind.bench.ask('POST', tokensPath, { key, body: { spec: tokenSpec } });
  if (body['status']?.['token'] === undefined) throw new Error(text);
  return String(body['status']['token']);
}

const change = (name: string, spec: object) =>
  behind.bench.ask('PATCH', `${keysPath}/${name}`, { type: merge, body: { spec } });
const get = (path: string, key: string) => behind.bench.ask('GET', path, { key });

describe('a direct token on the proxied paths of the management server', () => {
  it('acts as the owner of its key, under the name of the key', async () => {
    const token = await tokenFor('plain');
    behind.seen.length = 0;
    expect((await get(`${cluster}${pods}`, token)).code).toBe(200);
    const [seen] = behind.seen;
    expect(seen?.headers.get('impersonate-user')).toEqual(['hostward:user:alice']);
    expect(seen?.headers.get('impersonate-extra-hostward.dev%2fkey')).toEqual(['plain']);
    expect(JSON.stringify([...(seen?.headers ?? [])])).not.toContain(token);
  });

  it('is narrowed by its own scope and by that of its key', async () => {
    const scope = { clusters: [{ cluster: 'c1' }], virtualClusters: [{ project: 'shop', virtualCluster: 'v1' }] };
    const wide = await tokenFor('wide', { scope });
    const narrow = await tokenFor('narrow', { scope }, { scope: { clusters: [{ cluster: 'c1' }] } });
    const codes = async (token: string) => [
      (await get(`${cluster}${pods}`, token)).code,
      (await get(`${instance}${pods}`, token)).code,
      (await get(`/kubernetes/project/shop/virtualcluster/v2${pods}`, token)).code,
    ];
    const [first, second, third] = await codes(wide);
    expect([first, second]).toEqual([200, 200]);
    expect(third).toBeGreaterThanOrEqual(403);
    const [onCluster, onInstance] = await codes(narrow);
    expect(onCluster).toBe(200);
    expect(onInstance).toBeGreaterThanOrEqual(403);
  });

  it('of another platform, with another key, or of a changed text is 401', async () => {
    const token = await tokenFor('other');
    const refused = [tokenOf(), tokenOf({ by: makeSigner('x') }), withOther(token), `${token}x`, `x${token}`];
    for (const text of refused)
      expect(await get(`${cluster}${pods}`, text)).toMatchObject({ code: 401, body: { kind: 'Status' } });
  });

  it.each(wronglySigned)('%s is 401 that says so, though the platform signed it', async (what, claims, says) => {
    const token = await tokenFor(`signed-${wronglySigned.findIndex(([one]) => one === what)}`);
    const nowMs = Date.now();
    const payload = { ...payloadIn(token), ...claims(Math.floor(nowMs / 1000)) };
    const wrong = await behind.bench.api.issuing.keys.sign(payload, nowMs);
    behind.seen.length = 0;
    for (const place of [cluster, instance])
      expect(await get(`${place}${pods}`, wrong)).toMatchObject({
        code: 401,
        body: { kind: 'Status', reason: 'Unauthorized', message: expect.stringContaining(says) },
      });
    expect(behind.seen).toEqual([]);
    expect((await get(`${cluster}${pods}`, token)).code).toBe(200);
  });

  it.each([
    ['disabled', (name: string) => change(name, { disabled: true })],
    ['narrowed', (name: string) => change(name, { scope: { clusters: [{ cluster: 'c1' }] } })],
    ['rotated', (name: string) => behind.bench.ask('POST', `${keysPath}/${name}/rotate`, { body: {} })],
    ['deleted', (name: string) => behind.bench.ask('DELETE', `${keysPath}/${name}`)],
  ])('dies when its key is %s, and its open watch within a second', async (what, end) => {
    behind.answerWith((request, response) => {
      response.setHeader('content-type', 'application/json');
      if (request.url?.includes('watch') === true) response.write('{"type":"BOOKMARK","object":{}}\n');
      else response.end('{}');
    });
    const token = await tokenFor(`to-be-${what}`);
    const watch = await behind.bench.follow(`${cluster}${pods}?watch=true`, token);
    await until(() => watch.events.length === 1, 'the first event');
    // The cache has it.
    expect((await get(`${cluster}${pods}`, token)).code).toBe(200);
    const tookMs = ownTime();
    expect((await end(`to-be-${what}`)).code).toBeLessThan(300);
    await watch.ended;
    expect(tookMs()).toBeLessThan(1_000);
    expect(await get(`${cluster}${pods}`, token)).toMatchObject({
      code: 401,
      body: { message: expect.stringContaining('create a new token') },
    });
    behind.answerWith((_request, response) => void response.end('{}'));
  });

  it('the keys that sign change without a refused request', async () => {
    const { keys } = behind.bench.api.issuing;
    const key = await behind.bench.keyFor('rotating', { user: 'alice' });
    const make = async () => {
      const { body } = await behind.bench.ask('POST', tokensPath, { key, body: {} });
      return String(body['status']?.['token']);
    };
    let isOver = false;
    const codes = new Map<number, number>();
    const kids = new Set<string>();
    const load = async () => {
      for (let token = await make(); !isOver; token = await make()) {
        kids.add(
          String((JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }).kid),
        );
        for (let use = 0; use < 3; use++) {
          const { code } = await get(`${cluster}${pods}`, token);
          codes.set(code, (codes.get(code) ?? 0) + 1);
        }
      }
    };
    const loads = [load(), load(), load()];
    const startMs = Date.now();
    try {
      for (let round = 1; round <= 3; round++) {
        await until(() => kids.size === round, 'a token of the newest key');
        // As if it had been published in time: it signs from now on.
        await keys.rotate(startMs - publishedAheadMs - 1_000);
      }
      await until(() => kids.size === 4, 'a token of the last key');
    } finally {
      isOver = true;
    }
    await Promise.all(loads);
    expect([...codes.keys()]).toEqual([200]);
    expect(codes.get(200)).toBeGreaterThan(20);
    expect(kids.size).toBe(4);
  });
});
