import { describe, expect, it } from 'vitest';
import { median, medianInterval, percentile, spread } from '../../bench/statistics.ts';
import { Chance } from '../rig/play/random.ts';

describe('median()', () => {
  it('is in the middle, of an even number between the two there', () => {
    expect([median([3, 1, 2]), median([4, 1, 3, 2]), median([])]).toEqual([2, 2.5, Number.NaN]);
  });
});

describe('medianInterval()', () => {
  it('holds the median of what the samples were drawn from, nearly always, and is the same for the same samples', () => {
    const chance = new Chance(1, 'bootstrap');
    const trials = Array.from({ length: 60 }, () => Array.from({ length: 9 }, () => 10 + chance.next() ** 2));
    const intervals = trials.map(medianInterval);
    expect(medianInterval(trials[0] as number[])).toEqual(intervals[0]);
    const held = intervals.filter(({ low, high }) => low <= 10.25 && 10.25 <= high).length;
    expect(held / trials.length).toBeGreaterThan(0.9);
    for (const [nth, { low, high }] of intervals.entries()) {
      const middle = median(trials[nth] as number[]);
      expect([low <= middle, middle <= high]).toEqual([true, true]);
    }
  });
  it('is wide for what scatters and narrow for what does not', () => {
    expect(medianInterval([5, 5, 5, 5, 5])).toEqual({ low: 5, high: 5 });
    const { low, high } = medianInterval([1, 9, 2, 8, 5, 3, 7]);
    expect(high - low).toBeGreaterThan(3);
  });
});

describe('spread()', () => {
  it('has the percentiles of all samples', () => {
    const values = Array.from({ length: 1000 }, (_, nth) => 1000 - nth);
    expect(spread(values)).toEqual({ p50: 501, p90: 901, p99: 991, p999: 1000, max: 1000, samples: 1000 });
    expect(percentile([], 0.5)).toBeNaN();
  });
});
