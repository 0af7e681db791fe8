import { afterEach, expect, it, vi } from 'vitest';
import { systemClock } from '../src/clock.ts';

afterEach(() => vi.useRealTimers());

const dayMs = 24 * 60 * 60 * 1000;

it('a timer of months waits for months, where one of the runtime would fire at once', () => {
  vi.useFakeTimers();
  const run = vi.fn();
  systemClock.after(100 * dayMs, run);
  vi.advanceTimersByTime(100 * dayMs - 1);
  expect(run).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(run).toHaveBeenCalledOnce();
});

it('a timer of months is cancelled at any time', () => {
  vi.useFakeTimers();
  const run = vi.fn();
  const timer = systemClock.after(100 * dayMs, run);
  vi.advanceTimersByTime(60 * dayMs);
  timer.cancel();
  vi.advanceTimersByTime(100 * dayMs);
  expect(run).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(0);
});

it('a time that has passed needs no warning of the runtime', () => {
  vi.useFakeTimers();
  const set = vi.spyOn(globalThis, 'setTimeout');
  systemClock.after(-5, () => undefined);
  expect(set).toHaveBeenCalledWith(expect.any(Function), 0);
  set.mockRestore();
});
