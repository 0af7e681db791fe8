import { expect, it } from 'vitest';
import { RecentSums } from '../../../src/apiserver/limits/recent-sums.ts';

const seconds = 10;
const names = ['a', 'b', 'c'];

it('has the sums of the window at every second, also after a pause and after a clock that was set back', () => {
  const sums = new RecentSums(seconds);
  /** What has left the window stays away. */
  let kept: { second: number; name: string; amount: number }[] = [];
  const steps = [0, 0, 1, 0, 1, 3, 0, 1, 1, 5, 0, 12, 0, 1, -4, 0, 1, 2, 40, 0, -30, 1, 9, 1];
  let now = 100;
  for (const [at, step] of steps.entries()) {
    now += step;
    const [name, amount] = [names[at % names.length] as string, (at * 7919) % 1_000];
    sums.add(now, name, amount);
    kept = [...kept, { second: now, name, amount }].filter(({ second }) => second > now - seconds && second <= now);
    const sumOf = (list: typeof kept) => list.reduce((sum, one) => sum + one.amount, 0);
    for (const each of names) {
      const mine = sumOf(kept.filter((one) => one.name === each));
      expect(sums.of(now, each)).toBe(mine);
      expect(sums.bySecond(now, each).reduce((sum, one) => sum + one, 0)).toBe(mine);
    }
    expect(sums.altogether(now)).toBe(sumOf(kept));
  }
});
