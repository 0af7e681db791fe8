import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { endpointsKind } from '../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { createRules } from '../../../src/sync/loop/pass/rules.ts';
import { listObjects } from '../../../src/sync/report/object-list.ts';
import { objectStatus } from '../../../src/sync/report/object-status.ts';
import { syncStatus } from '../../../src/sync/report/status.ts';
import { settle } from '../../virtual-clock.ts';
import { defaultSettings, FakeWorld, putPair } from '../fake-sync.ts';

const key = 'default/web';
const hostPlace = ['vcluster-vc', 'web-x-default-x-vc'] as const;
let world: FakeWorld;

beforeEach(async () => {
  world = new FakeWorld();
  putPair(world, 'web');
  await world.run();
});
afterEach(() => world.stop());

const writes = () => world.host.writes.length + world.virtual.writes.length;

/** Both sides are proven at this time, the host last. */
async function prove(atMs: number): Promise<void> {
  await world.clock.advance(atMs - world.clock.now());
  world.windows.virtual.prove(atMs);
  world.windows.host.prove(atMs);
  await settle();
  await world.quiet();
}

describe('an object is proven', () => {
  test('when both clusters have the very pair that the last pass called equal', async () => {
    expect(world.sync.proven.provenMs(key)).toBeUndefined();
    await prove(10_000);
    expect(world.sync.proven.provenMs(key)).toBe(10_000);
    expect(world.sync.proven.summary).toEqual({ objects: 1, oldestMs: 10_000 });
  });

  test('at the earlier of the two times', async () => {
    await prove(10_000);
    await world.clock.advance(5_000);
    world.windows.host.prove(15_000);
    await settle();
    expect(world.sync.proven.provenMs(key)).toBe(10_000);
  });

  test('no longer after a change of either side, until the next proof', async () => {
    await prove(10_000);
    await world.change(() => putPair(world, 'web', '10.9.9.9'));
    expect(world.sync.proven.provenMs(key)).toBeUndefined();
    await prove(20_000);
    expect(world.sync.proven.provenMs(key)).toBe(20_000);
  });

  test('no longer under another configuration, until a pass has called the pair equal again', async () => {
    await prove(10_000);
    world.isLeader = false;
    world.sync.setRules(
      createRules(endpointsKind, { ...defaultSettings, backSync: 'none' }, { mapping: undefined, patcher: undefined }),
    );
    await world.quiet();
    expect(world.sync.proven.provenMs(key)).toBeUndefined();
    world.isLeader = true;
    world.sync.enqueueAll();
    await world.quiet();
    expect(world.sync.proven.provenMs(key)).toBe(10_000);
  });

  test('not while the pair is not in sync', async () => {
    await prove(10_000);
    await world.change(() => world.virtual.remove('services', 'default', 'web'));
    await prove(20_000);
    expect(world.sync.proven.provenMs(key)).toBeUndefined();
    expect(world.sync.proven.summary.objects).toBe(0);
  });

  test('after another pass without a write when only the version of the copy has changed', async () => {
    const copy = world.host.get('endpoints', ...hostPlace);
    world.windows.host.isHeld = true;
    world.host.put('endpoints', { ...(copy as object), metadata: { ...copy?.metadata } } as never);
    // The window takes the version, and tells nobody, as the real one does for a change without content.
    world.windows.host.remember(world.host.get('endpoints', ...hostPlace) as never);
    const before = writes();
    await prove(10_000);
    expect(world.sync.proven.provenMs(key)).toBe(10_000);
    await prove(20_000);
    expect(world.sync.proven.summary).toEqual({ objects: 1, oldestMs: 20_000 });
    expect(writes()).toBe(before);
  });
});

test('the status of the whole, of each row and of one object tell the time', async () => {
  expect(objectStatus(world.sync, key)).not.toHaveProperty('provenAt');
  expect(syncStatus(world.sync)).not.toHaveProperty('proven');
  await prove(10_000);
  await world.clock.advance(7_000);
  expect(objectStatus(world.sync, key)).toMatchObject({ provenAt: '2026-01-01T00:00:10Z', provenSecondsAgo: 7 });
  expect(syncStatus(world.sync)).toMatchObject({ proven: { objects: 1, oldestSecondsAgo: 7 } });
  expect([...listObjects(world.sync, {})]).toEqual([{ object: key, state: 'inSync', provenSecondsAgo: 7 }]);
});
