import type { Clock, Timer } from '../src/clock.ts';

/** A clock that a test advances; timers fire in the order of their times. */
export class VirtualClock implements Clock {
  #nowMs = 0;
  #startWallMs: number;
  #timers: { atMs: number; order: number; run: () => void }[] = [];
  #order = 0;

  constructor(startWallTime = '2026-01-01T00:00:00Z') {
    this.#startWallMs = Date.parse(startWallTime);
  }

  now(): number {
    return this.#nowMs;
  }

  wallTime(): Date {
    return new Date(this.#startWallMs + this.#nowMs);
  }

  after(delayMs: number, run: () => void): Timer {
    const timer = { atMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, run };
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }

  get pendingTimers(): number {
    return this.#timers.length;
  }

  /** Advances the time. Between two timers, promise callbacks and completed I/O run. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.#nowMs + byMs;
    for (;;) {
      await settle();
      const next = this.#timers
        .filter((t) => t.atMs <= untilMs)
        .sort((a, b) => a.atMs - b.atMs || a.order - b.order)[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.run();
    }
    this.#nowMs = untilMs;
    await settle();
  }
}

/** Lets queued promise callbacks and ready I/O run. */
export async function settle(turns = 5): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}
