import { describe, expect, it } from 'vitest';
import { objectKeys } from '../../../../src/sync/plan/keys/reserved-keys.ts';
import { edit, FakeWorld, ipOf, putPair } from '../../fake-sync.ts';
import { meta, setUp, start, use, world } from './stage.ts';

setUp();

describe('contested objects', () => {
  it('slows repairs after the fourth, names the other manager, and never slows the virtual side', async () => {
    await start({}, (w) => putPair(w, 'web'));
    world.host.writes.length = 0;
    const fight = () =>
      edit(world.host, world.copy('web'), (d) => {
        d['subsets'] = [];
        d.metadata.managedFields = [{ manager: 'rival', time: '2026-01-01T00:00:00Z' }];
      });
    for (let round = 0; round < 4; round++) await world.change(fight);
    expect(world.host.writes).toHaveLength(4);
    await world.change(fight);
    expect(world.host.writes).toHaveLength(4);
    await world.clock.advance(1000);
    await world.quiet();
    expect(world.host.writes).toHaveLength(5);
    expect(world.eventReasons()).toEqual(['Contested']);
    expect(String(world.virtual.list('events')[0]?.['message'])).toContain('"rival"');
    expect(world.sync.contest.contested()).toMatchObject([{ key: 'default/web', by: 'rival' }]);
    await world.change(() => putPair(world, 'web', '10.0.0.3'));
    expect(world.host.writes).toHaveLength(6);
    await world.clock.advance(60_000);
    expect(world.sync.contest.contested()).toEqual([]);
  });
});

describe('a webhook that changes our writes', () => {
  it('causes one write a second, not a busy loop', async () => {
    use(new FakeWorld());
    const put = world.host.put.bind(world.host);
    world.host.put = (resource, given) => {
      const object = structuredClone(given);
      if (resource === 'endpoints')
        object['subsets'] = [{ addresses: [{ ip: '192.168.0.1' }], ports: [{ port: 1, protocol: 'TCP' }] }];
      return put(resource, object);
    };
    putPair(world, 'web');
    await world.run();
    expect(world.host.writes.length).toBeLessThanOrEqual(6);
    await world.clock.advance(3000);
    expect(world.host.writes.length).toBeLessThanOrEqual(9);
    expect(world.eventReasons()).toEqual(['Contested']);
  });
});

describe('name collisions', () => {
  const older = { namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z' };
  const younger = { namespace: 'default-x-default', creationTimestamp: '2026-01-02T00:00:00Z' };
  const meet = (w: FakeWorld) => {
    putPair(w, 'api', '10.2.2.2', younger);
    putPair(w, 'api-x-default', '10.1.1.1', older);
  };
  const shared = 'api-x-default-x-default-x-vc';
  const holder = () => ipOf(world.host.get('endpoints', 'vcluster-vc', shared));

  it('the oldest gets the name, and the loser gets an event, and the name when the holder goes', async () => {
    await start({}, meet);
    expect(holder()).toBe('10.1.1.1');
    expect(world.eventReasons()).toEqual(['NameCollision']);
    expect(world.sync.ledger.entry('default-x-default/api')?.outcome).toMatchObject({ reason: 'NameCollision' });
    await world.change(() => world.virtual.remove('endpoints', 'default', 'api-x-default'));
    expect(holder()).toBe('10.2.2.2');
  });

  it('an incumbent keeps the name against an older rival, and after a restart', async () => {
    await start({}, (w) => putPair(w, 'api', '10.2.2.2', younger));
    await world.change(() => putPair(world, 'api-x-default', '10.1.1.1', older));
    expect(holder()).toBe('10.2.2.2');
    await world.restart();
    expect(holder()).toBe('10.2.2.2');
  });

  it('a holder with refused addresses loses the name to its rival', async () => {
    await start({}, meet);
    await world.change(() => putPair(world, 'api-x-default', '127.0.0.1', older));
    expect(holder()).toBe('10.2.2.2');
    expect(world.sync.ledger.entry('default/api-x-default')?.outcome).toMatchObject({ reason: 'AddressRefused' });
  });

  it.each([objectKeys.name, objectKeys.namespace, objectKeys.kind])(
    'a copy that has lost %s still belongs to its holder',
    async (key) => {
      // The younger object is the holder, so its age cannot decide for it.
      await start({}, (w) => putPair(w, 'api', '10.2.2.2', younger));
      await world.change(() => putPair(world, 'api-x-default', '10.1.1.1', older));
      await world.change(() =>
        edit(world.host, world.host.get('endpoints', 'vcluster-vc', shared), (d) => {
          delete d.metadata.annotations?.[key];
        }),
      );
      expect(holder()).toBe('10.2.2.2');
      expect(meta(world.host.get('endpoints', 'vcluster-vc', shared)).annotations[key]).toBeDefined();
    },
  );

  it('never overwrites the copy of one with the other, after any change to both', async () => {
    await start({}, meet);
    world.host.writes.length = 0;
    await world.change(() => putPair(world, 'api', '10.2.2.9', younger));
    expect(world.host.writes).toEqual([]);
    expect(holder()).toBe('10.1.1.1');
  });
});

describe('address policy', () => {
  it('one refused address refuses its object, and no other object', async () => {
    await start({ settings: { addressPolicy: { allow: [], deny: ['10.5.0.0/16'] } } }, (w) => {
      putPair(w, 'good', '10.0.0.1');
      putPair(w, 'bad', '10.5.1.1');
    });
    expect(world.copy('good')).toBeDefined();
    expect(world.copy('bad')).toBeUndefined();
    expect(world.eventReasons()).toEqual(['AddressRefused']);
    expect(String(world.virtual.list('events')[0]?.['message'])).toContain('"10.5.1.1" (denied by 10.5.0.0/16)');
  });

  it('removes the copy when an address becomes refused', async () => {
    await start({}, (w) => putPair(w, 'web'));
    await world.change(() => putPair(world, 'web', '127.0.0.1'));
    expect(world.copy('web')).toBeUndefined();
    await world.change(() => putPair(world, 'web', '10.0.0.1'));
    expect(world.copy('web')).toBeDefined();
  });
});
