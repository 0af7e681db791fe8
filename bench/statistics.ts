// The statistics of the benchmarks: percentiles, medians, and confidence intervals of medians.

/** Nearest rank; NaN for an empty list. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Of an even number of values the mean of the two in the middle: taking the larger one would flatter every ratio. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  if (!Number.isInteger(middle)) return sorted[Math.floor(middle)] as number;
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

const resamples = 2_000;

/** 95 % bootstrap interval of the median. The same values give the same interval, because the random numbers are seeded. */
export function medianInterval(values: readonly number[]): { low: number; high: number } {
  let seed = 0x2545f491;
  const next = (): number => {
    seed ^= seed << 13;
    seed ^= seed >>> 17;
    seed ^= seed << 5;
    return (seed >>> 0) / 2 ** 32;
  };
  const medians = Array.from({ length: resamples }, () =>
    median(values.map(() => values[Math.floor(next() * values.length)] as number)),
  );
  return { low: percentile(medians, 0.025), high: percentile(medians, 0.975) };
}

export interface Spread {
  p50: number;
  p90: number;
  p99: number;
  p999: number;
  max: number;
  samples: number;
}

export function spread(values: readonly number[]): Spread {
  const at = (share: number): number => round(percentile(values, share));
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), max: at(1), samples: values.length };
}

export function round(value: number, digits = 2): number {
  const factor = 10 ** digits;
  return Math.round(value * factor) / factor;
}
