import { describe, expect, it } from 'vitest';
import { Contest } from '../../../src/sync/world/contest.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const key = 'default/web';

/** Makes repairs with the given pauses, and returns the delay for the next repair. */
async function repaired(pausesMs: readonly number[]) {
  const clock = new VirtualClock();
  const contest = new Contest(clock);
  const news: boolean[] = [];
  for (const pauseMs of pausesMs) {
    await clock.advance(pauseMs);
    news.push(contest.noteRepair(key, 'rival'));
  }
  return { clock, contest, news };
}

const many = (count: number, pauseMs: number) => Array.from({ length: count }, () => pauseMs);

describe('the delay of the repair of a contested object', () => {
  it.each<[name: string, pausesMs: number[], delayMs: number]>([
    ['an object without repairs', [], 0],
    ['three quick repairs', many(3, 10), 0],
    ['four quick repairs: the fifth write waits', many(4, 10), 1000],
    ['four repairs, the first more than 10 s ago', [0, 5000, 4000, 1500], 0],
    ['a contested object with a slower rival', [...many(5, 10), 20_000], 1000],
  ])('%s', async (_, pausesMs, delayMs) => {
    const { contest } = await repaired(pausesMs);
    expect(contest.delayBeforeRepair(key)).toBe(delayMs);
  });

  it('allows one write a second', async () => {
    const { clock, contest } = await repaired(many(5, 10));
    await clock.advance(400);
    expect(contest.delayBeforeRepair(key)).toBe(600);
    await clock.advance(600);
    expect(contest.delayBeforeRepair(key)).toBe(0);
  });

  it('reports an object as contested once, at the fifth repair within 10 s, with the other manager', async () => {
    const { contest, news } = await repaired(many(7, 10));
    expect(news).toEqual([false, false, false, false, true, false, false]);
    expect(contest.contested()).toEqual([{ key, by: 'rival', sinceMs: expect.any(Number) }]);
  });

  it('ends after 60 quiet seconds, not before', async () => {
    const { clock, contest } = await repaired(many(5, 10));
    await clock.advance(59_000);
    expect(contest.contested()).toHaveLength(1);
    await clock.advance(1000);
    expect(contest.contested()).toEqual([]);
    expect(contest.delayBeforeRepair(key)).toBe(0);
    expect(contest.noteRepair(key, 'rival')).toBe(false);
  });

  it('sends at most 50 repairs a second over all contested objects, and each object at least one a minute', async () => {
    const clock = new VirtualClock();
    const contest = new Contest(clock);
    const repair = (from: number, to: number) => {
      for (let index = from; index < to; index++)
        for (let nth = 0; nth < 5; nth++) contest.noteRepair(`${index}`, 'hook');
    };
    const delays: number[] = [];
    for (const [from, to] of [
      [0, 50],
      [50, 500],
      [500, 10_000],
    ] as const) {
      repair(from, to);
      delays.push(contest.delayBeforeRepair('0'));
    }
    expect(delays).toEqual([1000, 10_000, 60_000]);
    await clock.advance(60_000);
    // An object that waited its turn is still contested, and not free for four quick repairs.
    expect(contest.rivalOf('0')).toBe('hook');
    contest.noteRepair('0', 'hook');
    expect(contest.delayBeforeRepair('0')).toBe(60_000);
    await clock.advance(120_000);
    expect(contest.contested()).toEqual([]);
    repair(0, 1);
    expect(contest.delayBeforeRepair('0')).toBe(1000);
  });

  it('counts each object separately, and forgets an object on request', async () => {
    const { contest } = await repaired(many(5, 10));
    expect(contest.delayBeforeRepair('default/other')).toBe(0);
    contest.forget(key);
    expect(contest.delayBeforeRepair(key)).toBe(0);
    expect(contest.contested()).toEqual([]);
  });
});
