import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { afterEach, describe, expect, it } from 'vitest';
import { type Bench, keysPath, movedClock, openBench, people, until } from '../../server/bench.ts';

const tokensPath = '/kubernetes/management/apis/management.platform/v1/directclusterendpointtokens';
const revocationsPath = '/kubernetes/management/apis/management.platform/v1/revocations';
const merge = 'application/merge-patch+json';

interface Revocation {
  metadata: { name: string };
  spec: { generation: number };
}

let bench: Bench;
const clock = movedClock();
afterEach(() => bench.stop());

async function tokenOf(key: string): Promise<{ keyUid: string; generation: number }> {
  const { body, text } = await bench.ask('POST', tokensPath, { key, body: { spec: {} } });
  if (body['status']?.['token'] === undefined) throw new Error(text);
  const { akid, gen } = decodeJwt(String(body['status']['token']));
  return { keyUid: String(akid), generation: Number(gen) };
}

async function listed(): Promise<{ key: string; generation: number }[]> {
  const { body } = await bench.ask('GET', revocationsPath);
  return (body['items'] as unknown as Revocation[]).map(({ metadata, spec }) => ({ key: metadata.name, ...spec }));
}

/** What verifiers read agrees with what the server knows itself. */
async function isRevoked(token: { keyUid: string; generation: number }): Promise<boolean> {
  const { ledger } = bench.api.issuing;
  await until(async () => {
    const isListed = (await listed()).some(
      ({ key, generation }) => key === token.keyUid && token.generation < generation,
    );
    return isListed === ledger.isRevoked(token);
  }, 'the list of revocations');
  return ledger.isRevoked(token);
}

const change = (name: string, body: object) => bench.ask('PATCH', `${keysPath}/${name}`, { type: merge, body });

const spaces = ['s', 'other'].map((name) => ({ name, cluster: 'c1', namespace: `n-${name}` }));
const teamOf = (left: readonly unknown[]) =>
  [{ ...(people.projects[0] as object), members: [{ team: 'red', role: 'user' }], spaces: left }] as never;

describe('what ends the tokens of a key', () => {
  it.each([
    ['a narrower scope', () => change('k', { spec: { scope: { clusters: [{ cluster: 'c1' }] } } })],
    ['other groups', () => change('k', { spec: { groups: ['devs'] } })],
    ['being disabled', () => change('k', { spec: { disabled: true } })],
    ['another ttl', () => change('k', { spec: { ttl: 5_000 } })],
    [
      'other networks',
      () => change('k', { metadata: { annotations: { 'hostward.dev/allowed-cidrs': '10.0.0.0/8' } } }),
    ],
    ['rotation', () => bench.ask('POST', `${keysPath}/k/rotate`, { body: {} })],
    ['deletion', () => bench.ask('DELETE', `${keysPath}/k`)],
    [
      'a team that its owner left',
      () => bench.api.apply({ ...people, teams: [{ name: 'red', users: [], groups: [] }] }),
    ],
    ['a cluster that its owner left', () => bench.api.apply({ ...people, clusters: [{ name: 'c1', members: [] }] })],
    [
      'a space that its owner loses beside another one, with the team',
      () => bench.api.apply({ ...people, projects: teamOf([spaces[1]]) }),
    ],
    [
      'a space with another namespace, with the team',
      () => bench.api.apply({ ...people, projects: teamOf([{ ...spaces[0], namespace: 'other' }, spaces[1]]) }),
    ],
    [
      'an owner who is disabled',
      () => bench.api.apply({ ...people, users: people.users.map((user) => ({ ...user, disabled: true })) }),
    ],
  ])('%s', async (what, end) => {
    const settings = { ...people, ...(what.includes('team') ? { projects: teamOf(spaces) } : {}) };
    bench = await openBench({ clock, settings });
    const token = await tokenOf(await bench.keyFor('k', { user: 'alice', ttl: 10_000 }));
    expect(await isRevoked(token)).toBe(false);
    const answer = await end();
    if (answer !== undefined) expect(answer.code).toBeLessThan(300);
    await until(() => isRevoked(token), 'the revocation');
  });

  it.each([
    ['disabled', 401, () => change('k', { spec: { disabled: true } })],
    ['deleted', 401, () => bench.ask('DELETE', `${keysPath}/k`)],
    ['narrowed', 403, () => change('k', { spec: { scope: {} } })],
    ['rotated', 401, () => bench.ask('POST', `${keysPath}/k/rotate`, { body: {} })],
  ])('a key that is %s while its token is made gets none', async (_what, code, end) => {
    bench = await openBench({ clock });
    const key = await bench.keyFor('k', { user: 'alice' });
    await tokenOf(key);
    const { keys } = bench.api.issuing;
    const sign = keys.sign.bind(keys);
    keys.sign = async (...of: Parameters<typeof sign>) => {
      expect((await end()).code).toBeLessThan(300);
      return sign(...of);
    };
    expect(await bench.ask('POST', tokensPath, { key, body: { spec: {} } })).toMatchObject({ code });
  });

  it('texts, labels and another reading of the same file end nothing', async () => {
    bench = await openBench({ clock });
    const token = await tokenOf(await bench.keyFor('k', { user: 'alice' }));
    await change('k', { spec: { displayName: 'other' }, metadata: { labels: { a: 'b' } } });
    await bench.api.apply({ ...people });
    // The ledger reads changes in their order, so a later revocation shows that it has read these.
    const later = await tokenOf(await bench.keyFor('later', { user: 'alice' }));
    await bench.ask('DELETE', `${keysPath}/later`);
    await until(() => isRevoked(later), 'the later revocation');
    expect(await isRevoked(token)).toBe(false);
  });

  it('the end of the key, which nobody tells', async () => {
    bench = await openBench({ clock });
    const token = await tokenOf(await bench.keyFor('k', { user: 'alice', ttl: 600 }));
    const shorter = await tokenOf(await bench.keyFor('shorter', { user: 'alice', ttl: 570 }));
    clock.moveSeconds(580);
    await until(() => isRevoked(shorter), 'the revocation of the shorter key');
    expect(await isRevoked(token)).toBe(false);
    clock.moveSeconds(20);
    await until(() => isRevoked(token), 'the revocation');
  });

  it('the end of the key that made the key', async () => {
    bench = await openBench({ clock });
    const rules = [
      { verbs: ['create'], resources: [{ group: 'management.platform', resources: ['ownedaccesskeys'] }] },
    ];
    const maker = await bench.keyFor('maker', { user: 'alice', scope: { clusters: [{ cluster: 'c1' }], rules } });
    const scope = { clusters: [{ cluster: 'c1' }] };
    const made = await bench.ask('POST', keysPath, {
      key: maker,
      body: { metadata: { name: 'made' }, spec: { scope } },
    });
    const token = await tokenOf(String(made.body['spec']?.['key']));
    await bench.ask('DELETE', `${keysPath}/maker`);
    await until(() => isRevoked(token), 'the revocation');
  });

  it('a change while the server did not run', async () => {
    bench = await openBench({ clock });
    const token = await tokenOf(await bench.keyFor('k', { user: 'alice' }));
    await bench.restart();
    expect(await isRevoked(token)).toBe(false);
    await bench.restart({ clusters: [] });
    expect(await isRevoked(token)).toBe(true);
    await bench.restart();
    // The membership is back, and the tokens from before stay dead.
    expect(await isRevoked(token)).toBe(true);
  });

  it('a token made after the change is of the new generation, and lives', async () => {
    bench = await openBench({ clock });
    const key = await bench.keyFor('k', { user: 'alice' });
    const old = await tokenOf(key);
    await change('k', { spec: { ttl: 5_000 } });
    await until(() => isRevoked(old), 'the revocation');
    const young = await tokenOf(key);
    expect([await isRevoked(old), await isRevoked(young)]).toEqual([true, false]);
  });

  it('new keys that sign, as after a restored backup', async () => {
    bench = await openBench({ clock });
    const key = await bench.keyFor('k', { user: 'alice' });
    const token = await tokenOf(key);
    rmSync(join(bench.folder, 'token-keys.json'));
    await bench.restart();
    expect(await isRevoked(token)).toBe(true);
    const young = await tokenOf(key);
    expect(await isRevoked(young)).toBe(false);
    expect(young.generation).toBeGreaterThan(token.generation);
  });

  it('an entry is forgotten some time after its last token', async () => {
    bench = await openBench({ clock });
    const older = await tokenOf(await bench.keyFor('older', { user: 'alice' }));
    await bench.ask('DELETE', `${keysPath}/older`);
    await until(() => isRevoked(older), 'the older revocation');
    clock.moveSeconds(200);
    const token = await tokenOf(await bench.keyFor('k', { user: 'alice' }));
    await bench.ask('DELETE', `${keysPath}/k`);
    await until(() => isRevoked(token), 'the revocation');
    clock.moveSeconds(3_600 + 3_500);
    await until(async () => (await listed()).every(({ key }) => key !== older.keyUid), 'the end of the older entry');
    expect(await isRevoked(token)).toBe(true);
    clock.moveSeconds(200);
    await until(async () => (await listed()).length === 0, 'the end of the entry');
    await bench.restart();
    expect(await listed()).toEqual([]);
  });
});
