import { expect, it } from 'vitest';
import { longTimer } from '../src/clock.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** Timers that fire at once when they are longer than those of the runtime, as those do. */
class FakeRuntime {
  nowMs = 0;
  waiting: { run: () => void; atMs: number } | undefined;

  set = (run: () => void, delayMs: number) => {
    this.waiting = { run, atMs: this.nowMs + (delayMs < 2 ** 31 ? delayMs : 1) };
    return this.waiting;
  };

  clear = (handle: object): void => {
    if (this.waiting === handle) this.waiting = undefined;
  };

  advanceTo(atMs: number): void {
    while (this.waiting !== undefined && this.waiting.atMs <= atMs) {
      const { run, atMs: dueMs } = this.waiting;
      this.nowMs = dueMs;
      this.waiting = undefined;
      run();
    }
    this.nowMs = atMs;
  }
}

function started(delayMs = 100 * dayMs) {
  const runtime = new FakeRuntime();
  const fired: number[] = [];
  const timer = longTimer(delayMs, () => fired.push(runtime.nowMs), runtime);
  return { runtime, fired, timer };
}

it('a timer of months waits for months, where one of the runtime would fire at once', () => {
  const { runtime, fired } = started();
  runtime.advanceTo(200 * dayMs);
  expect(fired).toEqual([100 * dayMs]);
});

it('a time that has passed needs no warning of the runtime', () => {
  expect(started(-5).runtime.waiting?.atMs).toBe(0);
});

it('a timer of months is cancelled at any time', () => {
  const { runtime, fired, timer } = started();
  runtime.advanceTo(60 * dayMs);
  timer.cancel();
  runtime.advanceTo(200 * dayMs);
  expect([fired, runtime.waiting]).toEqual([[], undefined]);
});
