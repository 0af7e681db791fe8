import { describe, expect, it } from 'vitest';
import { gated, quickLimits, slopes, steps, theilSen } from '../../bench/interval-gate.ts';

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

describe('theilSen()', () => {
  const scattered = (slope: number) =>
    Array.from({ length: 40 }, (_, x) => ({ x, y: slope * x + 50 * Math.sin(x * 12.9898) }));
  it('has zero in its interval where nothing grows, and not where something does', () => {
    const flat = theilSen(scattered(0));
    expect([flat.low <= 0, flat.high >= 0]).toEqual([true, true]);
    const { slope, low, high } = theilSen(scattered(10));
    expect([low > 0, low <= slope, slope <= high, Math.abs(slope - 10) < 2]).toEqual([true, true, true, true]);
  });
});

describe('steps()', () => {
  it('has a median that one step down does not move', () => {
    const held = [26.52, 26.55, 26.56, 26.63, 25.2, 25.24, 25.23, 25.26, 25.29, 25.33];
    const points = held.map((mb, round) => ({ x: round * 200, y: mb * 1e6 }));
    expect(steps(points)).toHaveLength(9);
    expect(gated(quickLimits.leak, steps(points)).trips).toBeUndefined();
  });

  it('sees a leak beside a step down', () => {
    const held = [29.36, 29.83, 28.99, 29.47, 29.93, 30.45, 30.92, 31.4];
    const points = held.map((mb, round) => ({ x: round * 200, y: mb * 1e6 }));
    expect(gated(quickLimits.leak, steps(points)).low).toBeGreaterThan(500);
  });
});

describe('the limits of bench:quick', () => {
  it.each([
    ['cpu', [3.3, 2.6, 3.3, 2.8, 3.3]],
    ['cpu', [3.1, 3.9, 4.4, 3.5, 3.9]],
    ['requests', [1, 1, 1, 1, 1]],
    ['leak', [138, 108, 148, 191, 157]],
  ] as const)('hold for what the daemon was seen to do: %s', (figure, samples) => {
    expect(gated(quickLimits[figure], samples).trips).toBeUndefined();
  });

  it.each([
    ['2 ms more for each event', 'cpu', [26.9, 28.4, 34.1]],
    ['a GET more for each write', 'requests', [2, 2, 2]],
    ['an object left by each event', 'leak', [2242, 2306, 2464]],
  ] as const)('trip for what the planted builds were seen to do: %s', (_, figure, samples) => {
    expect(gated(quickLimits[figure], samples).trips).toMatch(/^wanted at most /);
  });
});
