import { describe, expect, it } from 'vitest';
import { silentLog } from '../../../../src/log.ts';
import { ManagementApi } from '../../../../src/management/server/server.ts';
import { createMetrics } from '../../../../src/metrics.ts';
import { type Bench, keysPath, type MovedClock, movedClock, people, until } from '../bench.ts';
import { bench, endings, folder, setUp } from './stage.ts';

setUp();

/** The answer to a GET of the key after the time and the chores of a minute. */
async function codeLater(one: Bench, clock: MovedClock, { seconds, name }: { seconds: number; name: string }) {
  clock.moveSeconds(seconds);
  const chores = clock.waitingFor(60_000);
  clock.fire(60_000);
  await until(() => clock.waitingFor(60_000) === chores, 'the chores of a minute');
  return (await one.ask('GET', `${keysPath}/${name}`)).code;
}

describe('what time does to keys', () => {
  it('an expired key stays readable for a week, and goes then', async () => {
    const clock = movedClock();
    const one = await bench({ clock });
    await one.keyFor('old', { user: 'alice', ttl: 60 });
    expect(await codeLater(one, clock, { seconds: 3_600, name: 'old' })).toBe(200);
    expect(await codeLater(one, clock, { seconds: 7 * 86_400, name: 'old' })).toBe(404);
  });

  it('a key without a maker stays readable for a week after its last use, and goes then', async () => {
    const clock = movedClock();
    const one = await bench({ clock });
    const scope = { rules: [{ resources: [{ group: 'management.platform', resources: ['ownedaccesskeys'] }] }] };
    const maker = await one.keyFor('maker', { user: 'alice', scope });
    const made = await one.ask('POST', keysPath, { key: maker, body: { metadata: { name: 'made' }, spec: { scope } } });
    await one.keyFor('other', { user: 'alice', scope });
    clock.moveSeconds(5 * 86_400);
    await one.ask('GET', keysPath, { key: String(made.body['spec']?.['key']) });
    await one.ask('DELETE', `${keysPath}/maker`);
    expect(await codeLater(one, clock, { seconds: 6 * 86_400, name: 'made' })).toBe(200);
    expect(await codeLater(one, clock, { seconds: 2 * 86_400, name: 'made' })).toBe(404);
    expect(await codeLater(one, clock, { seconds: 0, name: 'other' })).toBe(200);
  });

  it('what an expiring key makes ends no later', async () => {
    const one = await bench();
    const key = await one.keyFor('short', { user: 'alice', ttl: 1_000 });
    const make = (name: string, spec: object) => one.ask('POST', keysPath, { key, body: { metadata: { name }, spec } });
    const filled = await make('child-1', {});
    expect(Number(filled.body['spec']?.['ttl'])).toBeGreaterThan(900);
    expect(Number(filled.body['spec']?.['ttl'])).toBeLessThanOrEqual(1_000);
    expect([filled.headers['warning']].flat().join()).toContain('spec.ttl: set to');
    expect(await make('child-2', { ttl: 5_000 })).toMatchObject({ code: 422 });
  });

  it('a name that comes back after a week is somebody else', async () => {
    const clock = movedClock();
    const one = await bench({ clock });
    const key = await one.keyFor('bobs', { user: 'bob' });
    const code = async () => (await one.ask('GET', keysPath, { key })).code;
    const withoutBob = { ...people, users: people.users.filter(({ name }) => name !== 'bob') };
    await one.api.apply(withoutBob);
    clock.moveSeconds(6 * 86_400);
    await one.api.apply(people);
    expect(await code()).toBe(200);
    await one.api.apply(withoutBob);
    clock.moveSeconds(8 * 86_400);
    await one.api.apply(people);
    expect(await code()).toBe(401);
  });

  it('the limits of the configuration hold for new keys, at once', async () => {
    const one = await bench();
    await one.api.apply({ ...people, keys: { ...people.keys, maxTTL: 100, requireExpiry: true } });
    const make = (name: string, spec: object) => one.ask('POST', keysPath, { body: { metadata: { name }, spec } });
    expect(await make('filled', { user: 'alice' })).toMatchObject({ code: 201, body: { spec: { ttl: 100 } } });
    expect(await make('long', { user: 'alice', ttl: 101 })).toMatchObject({ code: 422 });
  });
});

describe('instances', () => {
  it('come and go with the configuration, and watches hear of it', async () => {
    const one = await bench();
    const path = '/kubernetes/management/apis/management.platform/v1/virtualclusterinstances';
    const before = await one.ask('GET', path);
    const version = before.body['metadata']?.['resourceVersion'];
    const watch = await one.follow(`${path}?watch=true&resourceVersion=${version}`, one.admin);
    const [shop, ...others] = people.projects;
    if (shop === undefined) throw new Error('want a project');
    await one.api.apply({
      ...people,
      projects: [{ ...shop, virtualClusters: shop.virtualClusters.slice(0, 1) }, ...others],
    });
    await one.api.apply(people);
    await until(() => watch.events.length === 2, 'two events');
    expect(watch.events).toMatchObject([
      { type: 'DELETED', object: { metadata: { name: 'v2' } } },
      { type: 'ADDED', object: { metadata: { name: 'v2' } } },
    ]);
    // It is the same virtual cluster as before.
    expect(watch.events[0]?.['object']?.['metadata']?.['uid']).toBe(watch.events[1]?.['object']?.['metadata']?.['uid']);
    watch.stop();
  });
});

describe('the state of a key', () => {
  it('says everywhere that its owner is disabled or missing, or that its maker has ended', async () => {
    const metrics = createMetrics();
    const one = await bench({ metrics });
    const warned = await one.ask('POST', keysPath, {
      body: { metadata: { name: 'of-carol' }, spec: { user: 'carol' } },
    });
    expect([warned.code, warned.headers['warning']]).toEqual([
      201,
      expect.stringContaining('the user carol is disabled'),
    ]);
    const ofAlice = await one.keyFor('of-alice', { user: 'alice', scope: { rules: [{}] } });
    await one.keyFor('of-bob', { user: 'bob' });
    await one.keyFor('of-red', { team: 'red', ttl: 60 });
    const child = { metadata: { name: 'child' }, spec: { scope: { rules: [{}] } } };
    expect((await one.ask('POST', keysPath, { key: ofAlice, body: child })).code).toBe(201);
    await one.ask('PATCH', `${keysPath}/of-alice`, {
      body: { spec: { disabled: true } },
      type: 'application/merge-patch+json',
    });
    const disabled = people.users.map((user) => ({ ...user, disabled: true }));
    await one.api.apply({ ...people, users: disabled.slice(1), teams: [] });
    const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    const rows = (await one.ask('GET', keysPath, { headers })).body['rows'] as unknown as { cells: string[] }[];
    expect(Object.fromEntries(rows.map(({ cells }) => [cells[0], cells[2]]))).toMatchObject({
      'of-alice': 'Disabled',
      child: 'Suspended',
      'of-bob': 'UserDisabled',
      'of-red': 'Suspended',
    });
    await one.api.apply({ ...people, users: [...people.users.slice(0, 1), ...disabled.slice(1)] });
    const again = (await one.ask('GET', keysPath, { headers })).body['rows'] as unknown as { cells: string[] }[];
    expect(again.find(({ cells }) => cells[0] === 'child')?.cells[2]).toBe('MakerInvalid');
    const text = await metrics.metrics();
    expect(text).toContain('hostward_access_keys{state="userDisabled"} 2');
    expect(text).toContain('hostward_access_keys{state="makerInvalid"} 1');
    expect(one.api.status()).toMatchObject({ keys: { userDisabled: 2, makerInvalid: 1, disabled: 1 } });
    const asked = `/kubernetes/management/hostward/explain?key=of-bob&request=${encodeURIComponent('GET /kubernetes/management/api')}`;
    expect((await one.ask('GET', asked)).body).toMatchObject({ state: 'UserDisabled', allowed: false });
  });
});

describe('the metrics', () => {
  it('count keys by state, and those that end soon', async () => {
    const metrics = createMetrics();
    const dataDir = folder();
    const server = { listen: '127.0.0.1:0', baseURL: 'https://localhost', dataDir, ingressListen: undefined };
    const log = silentLog;
    const clock = movedClock();
    const api = new ManagementApi({ settings: people, server, clock, log, version: '1.0.0', metrics });
    await api.open();
    endings.push(() => api.close());
    const week = 7 * 24 * 60 * 60;
    await api.createKey({ metadata: { name: 'a' }, spec: { user: 'alice', ttl: week + 1800 } });
    await api.createKey({ metadata: { name: 'b' }, spec: { user: 'alice', disabled: true } });
    await api.createKey({ metadata: { name: 'sooner' }, spec: { user: 'alice', ttl: week + 60 } });
    clock.moveSeconds(3600);
    // It ends as it was meant to: a person has nothing to do about it.
    await api.createKey({ metadata: { name: 'of-one-run' }, spec: { user: 'alice', ttl: 3600 } });
    await api.serve();
    const text = await metrics.metrics();
    expect(text).toContain('hostward_access_keys{state="active"} 3');
    expect(text).toContain('hostward_access_keys{state="disabled"} 1');
    expect(text).toContain('hostward_access_keys_expiring 2');
    expect(api.status()).toMatchObject({
      keys: { active: 3, disabled: 1 },
      expiringWithinSevenDays: 2,
      nextKeysToEnd: [{ key: 'sooner', endsAt: expect.stringMatching(/^\d{4}-.*Z$/) }, { key: 'a' }],
    });
  });
});
