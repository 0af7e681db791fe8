import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Ask, type Bench, keysPath, movedClock, openBench, people } from '../../server/bench.ts';

const tokensPath = '/kubernetes/management/apis/management.platform/v1/directclusterendpointtokens';
const issuer = 'https://localhost:8443';
const [project] = people.projects;
const settings = {
  projects: [
    { ...project, name: 'shop', spaces: [{ name: 's1', cluster: 'c2', namespace: 'shop-s1' }] } as never,
    ...people.projects.slice(1),
  ],
  clusters: [...people.clusters, { name: 'c2', members: [] }, { name: 'c3', members: [] }],
};

let bench: Bench;
const clock = movedClock();
beforeAll(async () => {
  bench = await openBench({ clock, settings });
});
afterAll(() => bench.stop());

function create(body: object | string, how: Ask = {}) {
  return bench.ask('POST', tokensPath, { body, ...how });
}

async function claimsOf(token: unknown) {
  const { body } = await bench.ask('GET', '/.well-known/jwks.json', { key: undefined });
  const keys = createLocalJWKSet(body as unknown as JSONWebKeySet);
  const options = { issuer, algorithms: ['EdDSA'], typ: 'dct+jwt', currentDate: clock.wallTime() };
  return (await jwtVerify(String(token), keys, options)).payload;
}

const empty = { apiVersion: 'management.platform/v1', kind: 'DirectClusterEndpointToken', metadata: {}, spec: {} };

describe('creating a direct token', () => {
  it('with the empty shape of the requirements, as JSON', async () => {
    const { code, body, headers } = await create(empty);
    expect(code).toBe(201);
    expect(headers['cache-control']).toBe('no-store');
    expect(body).toMatchObject({ kind: 'DirectClusterEndpointToken', spec: { ttl: 3600 } });
    const claims = await claimsOf(body['status']?.['token']);
    expect(claims).toMatchObject({
      aud: [issuer, 'c1', 'c2', 'c3'],
      jti: body['metadata']?.['uid'],
      kind: 'user',
      name: 'admin',
      admin: true,
      gen: expect.any(Number),
      scopes: [],
    });
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(3600);
    expect(claims.nbf).toBe(claims.iat);
  });

  it('as YAML, without Content-Type too', async () => {
    const text =
      'apiVersion: management.platform/v1\nkind: DirectClusterEndpointToken\nmetadata: {}\nspec:\n  ttl: 60\n';
    for (const headers of [{ 'content-type': 'application/yaml' }, { 'content-type': '' }]) {
      const { code, body } = await create(text, { headers });
      expect(code).toBe(201);
      expect(body['spec']).toEqual({ ttl: 60 });
    }
  });

  it('for a member: the cluster of the membership, and those of the spaces', async () => {
    const key = await bench.keyFor('alices', { user: 'alice' });
    const { body } = await create(empty, { key });
    expect(await claimsOf(body['status']?.['token'])).toMatchObject({
      aud: [issuer, 'c1', 'c2'],
      clusters: ['c1'],
      projects: { shop: 'user' },
      spaces: ['c2/shop/s1/shop-s1'],
      groups: ['devs'],
      name: 'alice',
      key: 'alices',
    });
  });

  it('takes the scope of the key where none is given, and both where one is', async () => {
    const scope = { clusters: [{ cluster: 'c1' }], virtualClusters: [{ project: 'shop', virtualCluster: 'v1' }] };
    const key = await bench.keyFor('narrow', { user: 'alice', scope });
    const copied = await create(empty, { key });
    expect(copied.body['spec']?.['scope']).toEqual(scope);
    expect(await claimsOf(copied.body['status']?.['token'])).toMatchObject({ scopes: [scope], aud: [issuer, 'c1'] });
    const own = { clusters: [{ cluster: 'c1' }] };
    const narrower = await create({ spec: { scope: own } }, { key });
    expect(await claimsOf(narrower.body['status']?.['token'])).toMatchObject({ scopes: [own, scope] });
  });

  it('refuses an entry outside of the scope of the key, by name', async () => {
    const key = await bench.keyFor('narrow-c1', { user: 'alice', scope: { clusters: [{ cluster: 'c1' }] } });
    const scope = { clusters: [{ cluster: 'c1' }, { cluster: 'c2' }], projects: [{ project: 'shop' }] };
    const { code, body } = await create({ spec: { scope } }, { key });
    expect([code, body['reason']]).toEqual([403, 'Forbidden']);
    const causes = (body['details']?.['causes'] ?? []) as unknown as { field: string }[];
    expect(causes.map(({ field }) => field)).toEqual(['spec.scope.projects[0]', 'spec.scope.clusters[1]']);
  });

  it('gives the role agent to nobody but administrators', async () => {
    const key = await bench.keyFor('alices-role', { user: 'alice' });
    const { code, body } = await create({ spec: { scope: { roles: [{ role: 'agent' }] } } }, { key });
    expect([code, body['message']]).toEqual([403, expect.stringContaining('spec.scope.roles[0].role')]);
  });

  it.each([[1], [59], [86_401], [-1], [2 ** 53]])('refuses a ttl of %d with the limits', async (ttl) => {
    const { code, body } = await create({ spec: { ttl, scope: { clusters: [{}] } } });
    expect(code).toBe(422);
    const causes = (body['details']?.['causes'] ?? []) as unknown as { field: string; message: string }[];
    expect(causes.map(({ field }) => field)).toEqual(['spec.ttl', 'spec.scope.clusters[0].cluster']);
    expect(causes[0]?.message).toContain('from 60 to 86400 seconds');
  });

  it('ends no later than its key: filled in with a warning, refused when asked for', async () => {
    const key = await bench.keyFor('short', { user: 'alice', ttl: 600 });
    const filled = await create(empty, { key });
    expect(filled.body['spec']?.['ttl']).toBeGreaterThan(590);
    expect(filled.body['spec']?.['ttl']).toBeLessThanOrEqual(600);
    expect(filled.headers['warning']).toMatch(/spec\.ttl: set to \d+, because the access key expires then/);
    const longer = await create({ spec: { ttl: 3600 } }, { key });
    expect([longer.code, longer.body['message']]).toEqual([422, expect.stringMatching(/at most 5\d\d|at most 600/)]);
  });

  it('ends no later than the key that made its key, which may have got a nearer end since', async () => {
    const scope = { clusters: [{ cluster: 'c1' }] };
    const rules = [
      { verbs: ['create'], resources: [{ group: 'management.platform', resources: ['ownedaccesskeys'] }] },
    ];
    const maker = await bench.keyFor('maker', { user: 'alice', ttl: 6000, scope: { ...scope, rules } });
    const spec = { scope, ttl: 5000 };
    const made = await bench.ask('POST', keysPath, { key: maker, body: { metadata: { name: 'made' }, spec } });
    expect(made.code).toBe(201);
    const patched = { body: { spec: { ttl: 300 } }, type: 'application/merge-patch+json' };
    expect(await bench.ask('PATCH', `${keysPath}/maker`, patched)).toMatchObject({ code: 200 });
    const filled = await create(empty, { key: String(made.body['spec']?.['key']) });
    expect(filled.body['spec']?.['ttl']).toBeLessThanOrEqual(300);
  });

  it('checks everything in a dry run, and answers without a token', async () => {
    const dry = await bench.ask('POST', `${tokensPath}?dryRun=All`, { body: empty });
    expect([dry.code, dry.body['status']]).toEqual([201, {}]);
    const bad = await bench.ask('POST', `${tokensPath}?dryRun=All`, { body: { spec: { ttl: 5 } } });
    expect(bad.code).toBe(422);
  });

  it('refuses a token of more than 6 KiB, and says what to do', async () => {
    const clusters = Array.from({ length: 200 }, (_, at) => ({ cluster: `a-cluster-with-a-long-name-${at}` }));
    const { code, body } = await create({ spec: { scope: { clusters } } });
    expect([code, body['message']]).toEqual([422, expect.stringContaining('at most 6144 bytes: name fewer entries')]);
  });

  it('says what it ignores, and keeps nothing', async () => {
    const named = await create({ ...empty, metadata: { name: 'mine' }, status: { token: 'x' } });
    expect(named.code).toBe(201);
    expect(named.headers['warning']).toContain('metadata.name: ignored');
    expect(named.body['status']?.['token']).not.toBe('x');
    for (const [method, path] of [
      ['GET', tokensPath],
      ['GET', `${tokensPath}/mine`],
      ['DELETE', `${tokensPath}/mine`],
    ] as const)
      expect((await bench.ask(method, path)).code).toBe(405);
  });

  it('is no credential of the management API: a token mints nothing', async () => {
    const { body } = await create(empty);
    const token = String(body['status']?.['token']);
    expect((await bench.ask('GET', '/kubernetes/management/api', { key: token })).code).toBe(401);
    expect((await create(empty, { key: token })).code).toBe(401);
  });

  it('is audited with its id and never with its text', async () => {
    const { body } = await create(empty);
    const audit = readFileSync(join(bench.folder, 'audit.log'), 'utf8');
    const token = String(body['status']?.['token']);
    expect(audit).toContain(`made the token ${String(body['metadata']?.['uid'])}, which expires at`);
    expect(audit).not.toContain(token);
    expect(audit).not.toContain(token.split('.')[2]);
  });

  it('shows public keys to everybody, and keeps the private ones for its owner', async () => {
    const { code, body, headers } = await bench.ask('GET', '/.well-known/jwks.json', { key: undefined });
    expect([code, headers['cache-control']]).toEqual([200, 'public, max-age=300']);
    expect(body['keys']).toEqual([
      { kty: 'OKP', crv: 'Ed25519', x: expect.any(String), kid: expect.any(String), alg: 'EdDSA', use: 'sig' },
    ]);
    expect(statSync(join(bench.folder, 'token-keys.json')).mode & 0o777).toBe(0o600);
  });
});
