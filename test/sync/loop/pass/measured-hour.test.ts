import { describe, expect, it } from 'vitest';
import { MeasuredHour } from '../../../../src/sync/loop/pass/measured-hour.ts';

describe('MeasuredHour', () => {
  it('stays within its memory and within its hour, however much is noted', () => {
    const hour = new MeasuredHour();
    for (let at = 0; at < 7_200_000; at += 1_000) {
      hour.noteWrite(at);
      hour.noteDelay(at % 977, at);
    }
    expect(hour.bytes).toBeLessThanOrEqual(256 * 1024);
    const points = hour.points(7_200_000);
    expect(points.length).toBeLessThanOrEqual(360);
    expect(points.every(({ atMs, writesPerSecond }) => atMs >= 3_600_000 && writesPerSecond === 1)).toBe(true);
  });

  it('knows percentiles to half of their value, and never tells less than the truth', () => {
    const hour = new MeasuredHour();
    for (let delay = 1; delay <= 1000; delay++) hour.noteDelay(delay, 0);
    const [point] = hour.points(0);
    expect(point?.p50Ms).toBeGreaterThanOrEqual(500);
    expect(point?.p50Ms).toBeLessThanOrEqual(750);
    expect(point?.p99Ms).toBeGreaterThanOrEqual(990);
    expect(point?.p99Ms).toBeLessThanOrEqual(1485);
  });

  it('leaves out times in which nothing happened, and tells no delay where only writes were', () => {
    const hour = new MeasuredHour();
    hour.noteWrite(0);
    hour.noteDelay(5, 60_000);
    expect(hour.points(60_000)).toEqual([
      { atMs: 0, writesPerSecond: 0.1 },
      { atMs: 60_000, writesPerSecond: 0, p50Ms: expect.any(Number), p99Ms: expect.any(Number) },
    ]);
  });
});
