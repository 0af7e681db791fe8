import { afterEach, describe, expect, it } from 'vitest';
import { SuppliedValues, suppliedPrefix } from '../../../src/management/keys/book/supplied-values.ts';
import { MemoryStore } from '../../../src/store/memory-store.ts';
import { settle, VirtualClock } from '../../virtual-clock.ts';

const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function twoReplicas(have = true) {
  const clock = new VirtualClock();
  const store = new MemoryStore({ clock });
  await store.start();
  endings.push(() => store.stop());
  const secret = Buffer.alloc(32, 7);
  const sweeps = [true, false];
  const living = ['replica-0', 'replica-1'];
  const both = sweeps.map(
    (_, at) =>
      new SuppliedValues({
        ...{ store, secret, clock, followers: { have: () => have } },
        mayAct: () => sweeps[at] === true,
        replica: `replica-${at}`,
        others: () => living.filter((one) => one !== `replica-${at}`).map((replica) => ({ replica })),
      }),
  );
  for (const one of both) endings.push(() => one.stop());
  const records = async () => {
    const page = await store.list(suppliedPrefix);
    return page.kind === 'page' ? page.records : [];
  };
  return { clock, store, sweeps, living, records, both: both as [SuppliedValues, SuppliedValues] };
}

describe('reservations of supplied values', () => {
  it('have one holder of several that ask at once, and tell nothing of the value', async () => {
    const { both, records } = await twoReplicas();
    const asked = Array.from({ length: 6 }, (_, n) => (both[n % 2] as SuppliedValues).reserve(`uid-${n}`, 'a-value'));
    expect((await Promise.all(asked)).filter((isHeld) => isHeld)).toHaveLength(1);
    expect(await both[0].reserve('uid-7', 'another-value')).toBe(true);
    expect(JSON.stringify(await records())).not.toContain('a-value');
  });

  it('are free again when the key is there or will not be made', async () => {
    const { both, records } = await twoReplicas();
    expect(await both[0].reserve('one', 'a-value')).toBe(true);
    // Somebody else's key.
    both[1].release('one');
    expect(await both[1].reserve('two', 'a-value')).toBe(false);
    both[0].release('one');
    await settle();
    expect(await records()).toEqual([]);
    expect(await both[1].reserve('two', 'a-value')).toBe(true);
  });

  it('refuse for a moment while this replica does not know every key', async () => {
    const { both } = await twoReplicas(false);
    await expect(both[0].reserve('one', 'a-value')).rejects.toMatchObject({ status: { code: 503 } });
    both[0].release('one');
    await settle();
    await expect(both[0].reserve('two', 'a-value')).rejects.toMatchObject({ status: { code: 503 } });
  });

  it('of a replica that died are removed after an hour, by the one that sweeps', async () => {
    const { both, clock, records, store, sweeps } = await twoReplicas();
    await store.write(`${suppliedPrefix}damaged`, { expect: 0, value: '{' });
    await both[0].reserve('dead', 'a-value');
    sweeps[0] = false;
    both[1].start();
    await clock.advance(2 * 60 * 60 * 1000);
    expect(await records()).toHaveLength(2);
    sweeps[1] = true;
    await clock.advance(60 * 60 * 1000);
    expect(await records()).toEqual([]);
  });

  it('of a replica whose heartbeat is gone are removed after two minutes, and those of a living one are kept', async () => {
    const { both, clock, records, sweeps, living } = await twoReplicas();
    await both[0].reserve('dead', 'a-value');
    await both[1].reserve('under-way', 'another-value');
    [sweeps[0], sweeps[1]] = [false, true];
    both[1].start();
    await clock.advance(3 * 60 * 1000);
    expect(await records()).toHaveLength(2);
    living.splice(0, 1);
    await clock.advance(30_000);
    expect((await records()).map(({ value }) => JSON.parse(value).uid)).toEqual(['under-way']);
  });
});
