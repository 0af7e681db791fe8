import { describe, expect, it } from 'vitest';
import { MemoryStore } from '../../src/store/memory-store.ts';
import { storeContract } from '../contract/store/store.ts';
import { VirtualClock } from '../virtual-clock.ts';

storeContract('memory store', (settings) => new MemoryStore(settings), { modelRuns: 300 });

describe('memory store', () => {
  it('ends every timer and watch at stop()', async () => {
    const clock = new VirtualClock();
    const store = new MemoryStore({ clock });
    await store.start();
    await store.watch('/', 0);
    expect([clock.pendingTimers, store.watchCount]).toEqual([1, 1]);
    await store.stop();
    expect([clock.pendingTimers, store.watchCount]).toEqual([0, 0]);
  });

  it('passes the same event object to all watches', async () => {
    const store = new MemoryStore({ clock: new VirtualClock() });
    await store.start();
    const [one, other] = await Promise.all([store.watch('/', 0), store.watch('/a', 0)]);
    if ('kind' in one || 'kind' in other) throw new Error('Expected watches');
    await store.write('/a', { expect: 0, value: 'x' });
    const first = await one.events()[Symbol.asyncIterator]().next();
    const second = await other.events()[Symbol.asyncIterator]().next();
    expect(first.value?.[0]).toBe(second.value?.[0]);
    await store.stop();
  });
});
