import { afterEach, describe, expect, it, vi } from 'vitest';
import { silentLog } from '../../../src/log.ts';
import { SweepingCollector } from '../../../src/management/server/host/sweeping-collector.ts';
import { MemoryStore } from '../../../src/store/memory-store.ts';
import { gadgetKind, gadgets, openGadgets } from '../../apiserver/shop/gadgets.ts';
import { settle, VirtualClock } from '../../virtual-clock.ts';

const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** Two collectors of one store, and which of them may act. */
async function twoReplicas() {
  const clock = new VirtualClock();
  const store = new MemoryStore({ clock });
  await store.start();
  endings.push(() => store.stop());
  const shop = await openGadgets({ store }, gadgetKind);
  endings.push(() => shop.stop());
  const sweeps = [false, false];
  const marked: string[][] = [[], []];
  for (const at of [0, 1]) {
    const chore = {
      marked: async ({ name }: { name: string }) => void marked[at]?.push(name),
      gone: async () => undefined,
      stop: () => undefined,
    };
    const sweeping = { mayAct: () => sweeps[at] === true, deletesPerSecond: 20 };
    const collector = new SweepingCollector({
      ...{ chore, sweeping, clock, log: silentLog },
      kit: { ...shop.server.kit, clock },
    });
    await collector.start();
    endings.push(() => collector.stop());
  }
  const put = (name: string, meta: object = {}) =>
    store.write(`/registry/gadgets/${name}`, {
      expect: undefined,
      value: JSON.stringify({ metadata: { name, uid: `uid-${name}`, ...meta }, spec: {} }),
    });
  const present = async () => {
    const page = await store.list('/registry/gadgets/');
    return page.kind === 'page' ? page.records.length : 0;
  };
  return { clock, shop, store, sweeps, marked, put, present };
}

const deletionTimestamp = '2026-01-01T00:00:00Z';

describe('the garbage collectors of several replicas', () => {
  it('act on the one that sweeps, and the next one finds what was left', async () => {
    const { clock, sweeps, marked, put } = await twoReplicas();
    await put('a', { deletionTimestamp });
    await clock.advance(5_000);
    expect(marked).toEqual([[], []]);
    sweeps[0] = true;
    await clock.advance(2_000);
    await put('b', { deletionTimestamp });
    await clock.advance(2_000);
    expect(marked).toEqual([['a', 'b'], []]);
    sweeps[0] = false;
    sweeps[1] = true;
    await clock.advance(2_000);
    await put('c', { deletionTimestamp });
    await clock.advance(2_000);
    expect(marked).toEqual([
      ['a', 'b'],
      ['a', 'b', 'c'],
    ]);
  });

  it('delete twenty objects a second at most', async () => {
    const { clock, shop, sweeps, put, present } = await twoReplicas();
    const owner = { apiVersion: 'shop.example/v1', kind: 'Gadget', name: 'owner', uid: 'uid-owner' };
    await put('owner');
    for (let n = 0; n < 100; n++) await put(`owned-${n}`, { ownerReferences: [owner] });
    sweeps[1] = true;
    await clock.advance(2_000);
    await shop.call('DELETE', `${gadgets}/owner`);
    await settle();
    await clock.advance(2_000);
    const left = await present();
    expect(left).toBeGreaterThanOrEqual(55);
    expect(left).toBeLessThanOrEqual(65);
    await clock.advance(4_000);
    expect(await present()).toBe(0);
  });

  it('read five hundred objects at a time', async () => {
    const { clock, store, sweeps, put } = await twoReplicas();
    for (let n = 0; n < 1_200; n++) await put(`one-${n}`);
    const listed = vi.spyOn(store, 'list');
    sweeps[0] = true;
    await clock.advance(2_000);
    await settle();
    const limits = listed.mock.calls.map(([, options]) => options?.limit);
    expect(limits.length).toBeGreaterThanOrEqual(3);
    expect(new Set(limits)).toEqual(new Set([500]));
  });

  it('leave an object that was made again while its delete waited for its turn', async () => {
    const { clock, shop, store, sweeps, put, present } = await twoReplicas();
    const owner = { apiVersion: 'shop.example/v1', kind: 'Gadget', name: 'owner', uid: 'uid-owner' };
    await put('owner');
    for (let n = 0; n < 40; n++) await put(`owned-${n}`, { ownerReferences: [owner] });
    sweeps[0] = true;
    await clock.advance(2_000);
    await shop.call('DELETE', `${gadgets}/owner`);
    await settle();
    for (let n = 30; n < 40; n++)
      await store.write(`/registry/gadgets/owned-${n}`, {
        expect: undefined,
        value: JSON.stringify({ metadata: { name: `owned-${n}`, uid: `again-${n}` }, spec: {} }),
      });
    await clock.advance(10_000);
    await settle();
    expect(await present()).toBe(10);
  });
});
