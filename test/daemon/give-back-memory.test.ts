import { describe, expect, it } from 'vitest';
import { giveBackMemory, heapOf } from '../../src/daemon/give-back-memory.ts';
import { VirtualClock } from '../virtual-clock.ts';

const megabyte = 1024 * 1024;

function scene(
  shares: number[],
  heapBytes = 60 * megabyte,
): { clock: VirtualClock; collections: number[]; stop(): void } {
  const clock = new VirtualClock();
  const collections: number[] = [];
  const busy = () => shares.shift() ?? 0;
  const heap = { bytes: () => heapBytes, collect: () => void collections.push(clock.now()) };
  return { clock, collections, ...giveBackMemory({ clock, busy, heap }) };
}

describe('giveBackMemory()', () => {
  it('collects once when the process is quiet after work, and again only after new work', async () => {
    const { clock, collections } = scene([0.9, 0.1, 0.01, 0.01, 0.5, 0]);
    await clock.advance(60_000);
    expect(collections.map((atMs) => atMs - (collections[0] ?? 0))).toEqual([0, 6_000]);
  });

  it('never collects in a process that was never busy or is never quiet', async () => {
    const never = scene([0.1, 0.04, 0.19, 0]);
    await never.clock.advance(60_000);
    const always = scene(Array.from({ length: 50 }, () => 0.3));
    await always.clock.advance(60_000);
    expect([...never.collections, ...always.collections]).toEqual([]);
  });

  it('leaves a large heap to V8, because collecting it would stall the loop', async () => {
    const { clock, collections } = scene([0.9, 0], 500 * megabyte);
    await clock.advance(60_000);
    expect(collections).toEqual([]);
  });

  it('uses the collection of V8 that gives pages back to the system', () => {
    const asked: unknown[] = [];
    const gc = ((options: unknown) => void asked.push(options)) as NodeJS.GCFunction;
    const heap = heapOf(gc);
    heap?.collect();
    expect(asked).toEqual([{ type: 'major', execution: 'sync', flavor: 'last-resort' }]);
    expect(heap?.bytes()).toBeGreaterThan(megabyte);
  });

  it('collects nothing after the stop, and works without a collector', async () => {
    const { clock, collections, stop } = scene([0.9, 0, 0]);
    stop();
    await clock.advance(60_000);
    expect(collections).toEqual([]);
    expect(() => giveBackMemory({ clock, busy: () => 0, heap: heapOf(undefined) }).stop()).not.toThrow();
  });
});
