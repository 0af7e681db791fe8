// The counts, the list and the metrics of one sync say the same, whoever writes.
import { afterEach, expect, it } from 'vitest';
import { setGauges } from '../../../src/daemon/gauges.ts';
import { createMetrics, type Metrics } from '../../../src/metrics.ts';
import { objectRemedies } from '../../../src/sync/report/attention/remedies.ts';
import { createPageFacts } from '../../../src/sync/report/look/page-facts.ts';
import { listObjects, objectCounts } from '../../../src/sync/report/object-list.ts';
import { syncStatus } from '../../../src/sync/report/status.ts';
import { edit, FakeWorld, putPair } from '../fake-sync.ts';

let world: FakeWorld;
let metrics: Metrics;
afterEach(() => world.stop());

async function stage() {
  const who: { leader?: string | undefined; why?: string | undefined } = {};
  world = new FakeWorld();
  metrics = createMetrics();
  for (const name of ['web', 'db', 'bad']) putPair(world, name);
  edit(world.virtual, world.virtual.get('endpoints', 'default', 'bad'), (object) => {
    object['subsets'] = [{ addresses: [{ ip: '127.0.0.1' }], ports: [{ port: 80 }] }];
  });
  await world.run({ metrics, standbyBehind: () => who.leader, leaderless: () => who.why });
  return who;
}

const rows = () => [...listObjects(world.sync, {})].map(({ object, state }) => `${object} ${state}`).sort();
const some = (counts: Record<string, number>) =>
  Object.fromEntries(Object.entries(counts).filter(([name, count]) => count > 0 && name !== 'virtual'));

async function gauges() {
  setGauges(world.sync, { isLeader: false });
  const lines = (await metrics.metrics()).matchAll(/^hostward_sync_objects\{.*state="(\w+)".*\} (\d+)$/gm);
  return some(Object.fromEntries([...lines].map(([, state, count]) => [state, Number(count)])));
}

it('of the replica that writes', async () => {
  await stage();
  expect(rows()).toEqual(['default/bad refused/AddressRefused', 'default/db inSync', 'default/web inSync']);
  expect(some(objectCounts(world.sync))).toEqual({ inSync: 2, refused: 1 });
  expect(await gauges()).toEqual({ inSync: 2, refused: 1 });
});

it('of a standby, which knows nothing of objects', async () => {
  const who = await stage();
  who.leader = 'hostward-1';
  expect(rows()).toEqual(['bad', 'db', 'web'].map((name) => `default/${name} left/Standby`));
  expect(some(objectCounts(world.sync))).toEqual({ left: 3 });
  // A dashboard sums over the pods.
  expect(await gauges()).toEqual({});
  const status = syncStatus(world.sync);
  expect([status.trouble, status.contested, status.troubleByState]).toEqual([[], [], undefined]);
});

it('while nobody is known to write: what is refused stays said, and the rest gives the reason and its remedy', async () => {
  const who = await stage();
  who.why = 'the lease cannot be read or renewed: Forbidden';
  expect(rows()).toEqual([
    'default/bad refused/AddressRefused',
    'default/db waiting/Leaderless',
    'default/web waiting/Leaderless',
  ]);
  expect(some(objectCounts(world.sync))).toEqual({ refused: 1, waiting: 2 });
  expect(await gauges()).toEqual({ refused: 1, waiting: 2 });
  const none = { clock: world.clock, contents: () => [], referrersOf: () => [] };
  const on = createPageFacts({ ...none, syncs: () => [world.sync] });
  const [web] = (await on.details('default/web')).objects;
  expect(web?.plan).toBe(`nothing is written: ${who.why}`);
  const { state = '', message = '' } = web?.status ?? {};
  const [remedy] = objectRemedies({ status: {}, address: undefined }, { object: 'default/web', state, message });
  expect(remedy?.command).toContain('doctor');
});

it('in a dry run, whose object to remove is no virtual object: with it the states make the sum', async () => {
  world = new FakeWorld();
  for (const name of ['web', 'db']) putPair(world, name);
  await world.run();
  await world.stop();
  world.virtual.remove('endpoints', 'default', 'db');
  world.virtual.remove('services', 'default', 'db');
  world.options = { ...world.options, isDryRun: true };
  await world.run();
  const { virtual = 0, onlyOnHost = 0, ...states } = syncStatus(world.sync).objects;
  expect([virtual, onlyOnHost]).toEqual([1, 1]);
  expect(Object.values(states).reduce((sum, count) => sum + count, 0)).toBe(rows().length);
  expect(rows()).toHaveLength(virtual + onlyOnHost);
});
