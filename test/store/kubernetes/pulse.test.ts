import { expect, it } from 'vitest';
import { Pulse } from '../../../src/store/kubernetes/pulse.ts';
import { VirtualClock } from '../../virtual-clock.ts';

it('a deaf pulse opens the stream again at once, then with growing pauses, and at once in the next silence', async () => {
  const clock = new VirtualClock();
  await clock.advance(1);
  let isDeaf = false;
  let version = 0;
  const opened: number[] = [];
  const pulse = new Pulse({
    clock,
    write: async () => ++version,
    reached: async () => {
      if (!isDeaf) return;
      await new Promise<void>((_, reject) => clock.after(5_000, () => reject(new Error('silent'))));
    },
    isDeaf: () => opened.push(clock.now()),
  });
  pulse.start();
  await clock.advance(1_000);
  isDeaf = true;
  await clock.advance(180_000);
  const pauses = opened.slice(1).map((ms, at) => ms - (opened[at] as number));
  expect(opened[0]).toBeLessThan(9_000);
  // Each look comes after two more seconds.
  expect(pauses.map((ms) => Math.round(ms / 1_000))).toEqual([6, 10, 20, 40, 60]);
  isDeaf = false;
  await clock.advance(10_000);
  isDeaf = true;
  const before = opened.length;
  await clock.advance(10_000);
  expect(opened.length).toBeGreaterThan(before);
  const stopped = pulse.stop();
  await clock.advance(10_000);
  await stopped;
});
