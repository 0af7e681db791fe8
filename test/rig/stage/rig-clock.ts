// The time of one run. Nothing moves it but the rig, and between two timers everything that is ready runs to its end.
// Each daemon has a clock of its own on top, which can be stopped for good (kill -9), held (SIGSTOP) and put forward (wall time).
import type { Clock, Timer } from '../../../src/clock.ts';

interface Waiting {
  atMs: number;
  order: number;
  run: () => void;
}

export class RigClock implements Clock {
  readonly #startWallMs = Date.parse('2026-01-01T00:00:00Z');
  #nowMs = 0;
  #order = 0;
  readonly #waiting = new Set<Waiting>();

  now(): number {
    return this.#nowMs;
  }

  wallTime(): Date {
    return new Date(this.#startWallMs + this.#nowMs);
  }

  after(delayMs: number, run: () => void): Timer {
    const waiting = { atMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, run };
    this.#waiting.add(waiting);
    return { cancel: () => void this.#waiting.delete(waiting) };
  }

  get pendingTimers(): number {
    return this.#waiting.size;
  }

  /** Moves the time to the next timer and fires it; false = no timer is due before `limitMs`, and the time is `limitMs` now. */
  step(limitMs: number): boolean {
    let next: Waiting | undefined;
    for (const one of this.#waiting)
      if (next === undefined || one.atMs < next.atMs || (one.atMs === next.atMs && one.order < next.order)) next = one;
    if (next === undefined || next.atMs > limitMs) {
      this.#nowMs = limitMs;
      return false;
    }
    this.#waiting.delete(next);
    this.#nowMs = Math.max(this.#nowMs, next.atMs);
    next.run();
    return true;
  }
}

export class DaemonClock implements Clock {
  readonly #base: RigClock;
  #state: 'running' | 'held' | 'dead' = 'running';
  #due: (() => void)[] = [];
  #wallAheadMs = 0;

  constructor(base: RigClock) {
    this.#base = base;
  }

  now(): number {
    return this.#base.now();
  }

  wallTime(): Date {
    return new Date(this.#base.wallTime().getTime() + this.#wallAheadMs);
  }

  after(delayMs: number, run: () => void): Timer {
    let isCancelled = false;
    const guarded = (): void => {
      if (isCancelled || this.#state === 'dead') return;
      if (this.#state === 'held') this.#due.push(guarded);
      else run();
    };
    const timer = this.#base.after(delayMs, guarded);
    return {
      cancel: () => {
        isCancelled = true;
        timer.cancel();
      },
    };
  }

  jumpWall(byMs: number): void {
    this.#wallAheadMs += byMs;
  }

  /** No timer of this clock fires any more. */
  kill(): void {
    this.#state = 'dead';
    this.#due = [];
  }

  hold(): void {
    if (this.#state === 'running') this.#state = 'held';
  }

  resume(): void {
    if (this.#state !== 'held') return;
    this.#state = 'running';
    for (const run of this.#due.splice(0)) run();
  }
}
