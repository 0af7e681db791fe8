import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { syncStatus } from '../../../../src/sync/report/status.ts';
import { type FakeWorld, putPair } from '../../fake-sync.ts';
import { meta, setUp, start, world } from './stage.ts';

setUp();

describe('mass deletes', () => {
  const many = (w: FakeWorld) => {
    for (let i = 0; i < 30; i++) putPair(w, `web-${i}`);
  };

  it('deletes nothing after one empty list: a second list decides', async () => {
    await start({}, many);
    world.windows.virtual.nextList = [];
    await world.windows.virtual.relist();
    await world.quiet();
    await world.clock.advance(9_999);
    expect(world.windows.virtual.relists).toBe(1);
    await world.clock.advance(1);
    await world.quiet();
    expect(world.windows.virtual.relists).toBe(2);
    expect(world.host.list('endpoints')).toHaveLength(30);
    expect(doubts()).toEqual([]);
  });

  const doubts = () => syncStatus(world.sync).listsInDoubt ?? [];
  const lies = async (kind: string): Promise<number> => {
    const text = await world.sync.options.metrics.metrics();
    return Number(
      /\d+$/.exec(
        text.split('\n').find((line) => line.startsWith(`hostward_list_lies_total{kind="${kind}"}`)) ?? '',
      )?.[0],
    );
  };

  it.each(['virtual', 'services'] as const)(
    'a lie in the list of %s that lasts deletes nothing, and is called a lie',
    async (side) => {
      await start({}, many);
      const window = world.windows[side];
      window.laterLists = [];
      await window.relist();
      await world.quiet();
      expect(doubts()).toMatchObject([{ deletes: 30, isLie: false }]);
      await world.clock.advance(10_000);
      const kind = side === 'virtual' ? 'Endpoints' : 'Service';
      expect(doubts()).toMatchObject([
        { list: kind, deletes: 30, isLie: true, message: expect.stringContaining('is a lie') },
      ]);
      expect([window.finds.length, new Set(window.finds).size, await lies(kind)]).toEqual([5, 5, 1]);
      await world.clock.advance(300_000);
      expect(window.relists).toBeLessThan(10);
      expect(world.host.list('endpoints')).toHaveLength(30);
      window.laterLists = undefined;
      await world.clock.advance(60_000);
      await world.quiet();
      expect(doubts()).toEqual([]);
      expect(world.sync.massDelete.guard.size).toBe(0);
      expect(world.host.list('endpoints')).toHaveLength(30);
    },
  );

  it('deletes nothing while the server does not say whether the objects exist', async () => {
    await start({}, many);
    const { virtual } = world.windows;
    Object.assign(virtual, { laterLists: [], isSilent: true });
    await virtual.relist();
    await world.clock.advance(120_000);
    expect(doubts()).toMatchObject([{ isLie: false, message: expect.stringContaining('does not say') }]);
    expect([world.host.list('endpoints').length, await lies('Endpoints')]).toEqual([30, 0]);
  });

  it('two lists that lack different objects delete only the copies that both lack', async () => {
    await start({}, many);
    const { virtual } = world.windows;
    const isOneOf = (from: number, to: number) => (object: KubeObject) => {
      const at = Number(meta(object).name?.slice(4));
      return at < from || at >= to;
    };
    const all = world.virtual.list('endpoints');
    for (let i = 10; i < 20; i++) world.virtual.objects.delete(`endpoints/default/web-${i}`);
    virtual.nextList = all.filter(isOneOf(0, 20));
    await virtual.relist();
    virtual.nextList = all.filter(isOneOf(10, 30));
    await world.clock.advance(10_000);
    await world.quiet();
    const left = world.host.list('endpoints').map((object) => Number(/^web-(\d+)-/.exec(meta(object).name ?? '')?.[1]));
    expect(left.filter((at) => at >= 10 && at < 20)).toEqual([]);
    expect(left).toHaveLength(20);
    await world.clock.advance(60_000);
    expect(world.host.list('endpoints')).toHaveLength(20);
  });

  it('a key that an earlier list had brought back needs ten seconds of its own', async () => {
    await start({}, many);
    const { virtual } = world.windows;
    virtual.nextList = [];
    await virtual.relist();
    await world.clock.advance(5_000);
    await virtual.relist();
    for (let i = 0; i < 30; i++) world.virtual.objects.delete(`endpoints/default/web-${i}`);
    await virtual.relist();
    await world.clock.advance(6_000);
    await world.quiet();
    expect(world.host.list('endpoints')).toHaveLength(30);
    await world.clock.advance(15_000);
    await world.quiet();
    expect(world.host.list('endpoints')).toHaveLength(0);
  });

  it('a single object that a list lacks goes at once', async () => {
    await start({}, many);
    world.virtual.objects.delete('endpoints/default/web-7');
    await world.windows.virtual.relist();
    await world.quiet();
    expect(world.host.list('endpoints')).toHaveLength(29);
    expect(world.windows.virtual.finds).toEqual([]);
  });

  it('deletes nothing after a first empty list at the start either', async () => {
    await start({}, many);
    await world.stop();
    const [lied] = [world.virtual.list('services')];
    await world.run({});
    world.windows.services.nextList = lied.slice(0, 3);
    await world.windows.services.relist();
    await world.quiet();
    expect(world.host.list('endpoints')).toHaveLength(30);
  });

  it('deletes the copies of keys that both lists lack', async () => {
    await start({}, many);
    await world.stop();
    for (let i = 0; i < 30; i++) world.virtual.remove('endpoints', 'default', `web-${i}`);
    await world.run();
    await world.clock.advance(10_000);
    await world.quiet();
    expect(world.windows.virtual.relists).toBe(1);
    expect(world.windows.virtual.finds).toHaveLength(5);
    expect(world.host.list('endpoints')).toHaveLength(0);
  });

  it('deletes at once after watch events', async () => {
    await start({}, many);
    await world.change(() => {
      for (let i = 0; i < 30; i++) world.virtual.remove('endpoints', 'default', `web-${i}`);
    });
    expect(world.host.list('endpoints')).toHaveLength(0);
    expect(world.windows.virtual.relists).toBe(0);
  });
});
