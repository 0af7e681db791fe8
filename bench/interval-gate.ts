// A gate that believes a figure only with its interval: it trips when the whole interval is on the wrong side or the figure itself is, and also when the
// interval is so wide that the figure says nothing.
import { median, medianInterval, round } from './statistics.ts';

export interface Limit {
  name: string;
  wanted: { atMost: number } | { atLeast: number };
  /** The widest interval that is believed: a share of the figure, or the same unit where the figure may be zero. */
  widest: { share: number } | { most: number };
}

export interface Gated {
  name: string;
  value: number;
  low: number;
  high: number;
  /** Undefined: it holds. */
  trips: string | undefined;
}

/** Of `npm run bench:quick`. Seen under loads of 20 to 40: 3.1 to 3.9, 1, and 140 to 190 bytes; with the planted faults 28, 2 and thousands. */
export const quickLimits = {
  cpu: { name: 'CPU of a change / bare writer', wanted: { atMost: 8 }, widest: { share: 0.8 } },
  requests: { name: 'requests per change', wanted: { atMost: 1.05 }, widest: { most: 0.05 } },
  leak: { name: 'bytes left by a change', wanted: { atMost: 500 }, widest: { most: 1_000 } },
} as const satisfies Record<string, Limit>;

export function gated(limit: Limit, samples: readonly number[]): Gated {
  const { name, wanted, widest } = limit;
  const value = median(samples);
  const { low, high } = medianInterval(samples);
  const figure = { name, value: round(value, 3), low: round(low, 3), high: round(high, 3) };
  const width = high - low;
  const mayBe = 'share' in widest ? widest.share * Math.abs(value) : widest.most;
  // Written so that a figure that is no number trips.
  const isGood = 'atMost' in wanted ? value <= wanted.atMost : value >= wanted.atLeast;
  if (!isGood)
    return {
      ...figure,
      trips: 'atMost' in wanted ? `wanted at most ${wanted.atMost}` : `wanted at least ${wanted.atLeast}`,
    };
  if (!(width <= mayBe))
    return {
      ...figure,
      trips: `its interval is too wide to say anything: wanted ${round(mayBe, 3)}, found ${round(width, 3)}`,
    };
  return { ...figure, trips: undefined };
}

/** The slopes between all pairs of points; their median is Theil's and Sen's, which single outliers do not move. */
export function slopes(points: readonly { x: number; y: number }[]): number[] {
  return points.flatMap((one, nth) => points.slice(nth + 1).map((other) => (other.y - one.y) / (other.x - one.x)));
}

/** Their median with the interval in which it lies 19 times of 20, after Kendall's count of pairs that rise and pairs that fall. */
export function theilSen(points: readonly { x: number; y: number }[]): { slope: number; low: number; high: number } {
  const sorted = slopes(points).toSorted((one, other) => one - other);
  const count = points.length;
  const wide = 1.96 * Math.sqrt((count * (count - 1) * (2 * count + 5)) / 18);
  const at = (nth: number) => sorted[Math.min(sorted.length - 1, Math.max(0, nth))] ?? Number.NaN;
  return {
    slope: median(sorted),
    low: at(Math.floor((sorted.length - wide) / 2)),
    high: at(Math.ceil((sorted.length + wide) / 2)),
  };
}

/**
 * The slopes between neighbours. One step, as when V8 drops code that nobody runs any more, is one outlier among them; among all pairs it would
 * be half of them.
 */
export function steps(points: readonly { x: number; y: number }[]): number[] {
  return points.slice(1).map(({ x, y }, before) => {
    const one = points[before] as { x: number; y: number };
    return (y - one.y) / (x - one.x);
  });
}
