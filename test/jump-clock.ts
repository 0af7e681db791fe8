import type { Clock, Timer } from '../src/clock.ts';
import { settle } from './virtual-clock.ts';

/** A jump has steps of this size, so that work of every second runs as often as in real time. */
const stepMs = 500;
/** Turns of the event loop after each step, because a request and its answer on loopback take a few turns. */
const turnsPerStep = 12;

interface Waiting {
  atMs: number;
  run: () => void;
  handle: NodeJS.Timeout;
}

/**
 * The system's clock, but a test can jump ahead. It serves daemons that talk over real sockets and wait for seconds. Timers
 * that a jump makes due run in their order.
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

  /** Moves only this clock; the peers of the sockets keep their own time. */
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
