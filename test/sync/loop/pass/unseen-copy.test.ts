// Events of the host get lost, and a copy that stands is unknown to the daemon. An answer shows it, and what is asked again after that is in vain.
import { describe, expect, it } from 'vitest';
import { endpoints, FakeWorld, ipOf, putPair } from '../../fake-sync.ts';

const copyName = 'web-x-default-x-vc';
const namespace = 'vcluster-vc';

/** The watch comes further than the lost event. */
function loseOnHost<T>(world: FakeWorld, act: () => T): T {
  const { host } = world.windows;
  host.isLosing = true;
  const done = act();
  host.isLosing = false;
  world.host.put('endpoints', endpoints('other', '10.9.9.9', { namespace }));
  return done;
}

const creates = ({ host }: FakeWorld): number =>
  host.writes.filter((one) => one === `create endpoints ${copyName}`).length;

describe('a copy whose making was lost on its way', () => {
  it('is known again after one refused create, and gets the change of the tenant', async () => {
    const world = new FakeWorld();
    putPair(world, 'web', '10.0.0.1');
    await world.run();
    const copy = structuredClone(world.copy('web'));
    if (copy === undefined) throw new Error('wanted a copy of web, found none');
    await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
    loseOnHost(world, () => world.host.put('endpoints', copy));
    expect(world.windows.host.has(`${namespace}/${copyName}`)).toBe(false);
    const before = creates(world);
    await world.change(() => putPair(world, 'web', '10.0.0.2'));
    expect(creates(world) - before).toBe(1);
    expect(ipOf(world.copy('web'))).toBe('10.0.0.2');
    await world.stop();
  });

  it('by ourselves is known by the answer, and is not made again', async () => {
    const world = new FakeWorld();
    const writer = world.host.writer();
    const create: typeof writer.create = (...asked) => loseOnHost(world, () => writer.create(...asked));
    await world.run({ hostWriter: { ...writer, create } });
    await world.change(() => putPair(world, 'web', '10.0.0.1'));
    expect(creates(world)).toBe(1);
    await world.change(() => putPair(world, 'web', '10.0.0.2'));
    expect(creates(world)).toBe(1);
    expect(ipOf(world.copy('web'))).toBe('10.0.0.2');
    await world.stop();
  });
});

describe('an answer that contradicts what the window was shown', () => {
  it('ends the pass after one write, and the list that follows mends it', async () => {
    const world = new FakeWorld();
    putPair(world, 'web', '10.0.0.1');
    await world.run();
    const { host } = world.windows;
    const copy = structuredClone(world.copy('web'));
    if (copy === undefined) throw new Error('wanted a copy of web, found none');
    await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
    host.isLosing = true;
    world.host.put('endpoints', copy);
    host.isLosing = false;
    // A list lacks what the server has.
    host.nextList = [];
    await host.relist();
    const before = creates(world);
    await world.change(() => putPair(world, 'web', '10.0.0.2'));
    expect(creates(world) - before).toBe(1);
    await host.relist();
    await world.quiet();
    expect(ipOf(world.copy('web'))).toBe('10.0.0.2');
    expect(creates(world) - before).toBe(1);
    await world.stop();
  });
});
