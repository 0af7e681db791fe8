import type { Clock, Timer } from '../src/clock.ts';
import { settle } from './virtual-clock.ts';

/** A jump is made in steps of this size, so that periodic timers fire as often as in real time. */
const stepMs = 500;
/** Turns of the event loop after each step: a request over loopback and its answer need a few. */
const turnsPerStep = 12;

interface Waiting {
  atMs: number;
  run: () => void;
  handle: NodeJS.Timeout;
}

/**
 * The system's clock, which a test can move ahead: for daemons with real sockets and timers of many seconds. Timers that a
 * jump makes due run in the order of their times.
 */
export class JumpClock implements Clock {
  #aheadMs = 0;
  readonly #waiting = new Set<Waiting>();

  now(): number {
    return performance.now() + this.#aheadMs;
  }

  wallTime(): Date {
    return new Date(Date.now() + this.#aheadMs);
  }

  after(delayMs: number, run: () => void): Timer {
    const waiting: Waiting = {
      atMs: this.now() + delayMs,
      run,
      handle: setTimeout(() => this.#fire(waiting), delayMs),
    };
    this.#waiting.add(waiting);
    return { cancel: () => this.#forget(waiting) };
  }

  /** Advances this clock only; servers at the other end of a socket keep their own time. */
  async jump(byMs: number): Promise<void> {
    for (let left = byMs; left > 0; left -= stepMs) {
      this.#aheadMs += Math.min(left, stepMs);
      const due = [...this.#waiting].filter((one) => one.atMs <= this.now()).sort((a, b) => a.atMs - b.atMs);
      for (const one of due) if (this.#waiting.has(one)) this.#fire(one);
      await settle(turnsPerStep);
    }
  }

  #fire(waiting: Waiting): void {
    this.#forget(waiting);
    waiting.run();
  }

  #forget(waiting: Waiting): void {
    clearTimeout(waiting.handle);
    this.#waiting.delete(waiting);
  }
}
