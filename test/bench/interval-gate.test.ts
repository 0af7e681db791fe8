import { describe, expect, it } from 'vitest';
import { gated, slopes } from '../../bench/interval-gate.ts';

const limit = { name: 'drain / bare writer', wanted: { atLeast: 0.5 }, widest: { share: 0.4 } } as const;

describe('gated()', () => {
  it('holds for a good figure with a narrow interval', () => {
    expect(gated(limit, [0.7, 0.72, 0.69, 0.71, 0.7, 0.73, 0.7])).toEqual({
      ...{ name: 'drain / bare writer', value: 0.7, low: 0.7, high: 0.72, trips: undefined },
    });
  });
  it.each([
    ['a bad figure', limit, [0.3, 0.31, 0.3, 0.29, 0.3], 'wanted at least 0.5'],
    [
      'a good figure that scatters',
      limit,
      [0.3, 0.95, 0.51, 1.4, 0.2, 0.9, 0.55],
      /^its interval is too wide to say anything: wanted 0.22, found /,
    ],
    ['no samples', limit, [], 'wanted at least 0.5'],
    ['a figure that is no number', { ...limit, wanted: { atMost: 3 } }, [Number.NaN, Number.NaN], 'wanted at most 3'],
    ['a leak', { ...limit, wanted: { atMost: 400 }, widest: { most: 800 } }, [1900, 2000, 2100], 'wanted at most 400'],
    [
      'a slope that could be anything',
      { ...limit, wanted: { atMost: 400 }, widest: { most: 800 } },
      [-3000, 0, 3000, 50, -2000, 100, 2500],
      /too wide/,
    ],
  ] as const)('trips for %s', (_, given, samples, sentence) => {
    const { trips } = gated(given, samples);
    if (typeof sentence === 'string') expect(trips).toBe(sentence);
    else expect(trips).toMatch(sentence);
  });
});

describe('slopes()', () => {
  it('has a median that one outlier does not move', () => {
    const points = [0, 1, 2, 3, 4].map((x) => ({ x, y: x === 2 ? 90 : x * 3 }));
    const sorted = slopes(points).toSorted((one, other) => one - other);
    expect(sorted[sorted.length / 2]).toBe(3);
  });
});
