// Keeps expressions that could not finish from costing everyone time. A value that an expression could not finish on is set
// aside for a while, so that its object fails and no other; when several values in a short time have the same fate, it is
// the expression that is at fault, and it is set aside as a whole. Pauses double, and one success ends them.
import type { Clock } from '../clock.ts';
import { quarantineLimits } from './limits.ts';

interface Pause {
  untilMs: number;
  lengthMs: number;
}

interface Suspect {
  values: Map<string, Pause>;
  failures: { key: string; atMs: number }[];
  pause: Pause | undefined;
}

export class Quarantine {
  readonly #clock: Clock;
  readonly #suspects = new Map<number, Suspect>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many expressions are set aside as a whole. */
  get size(): number {
    const now = this.#clock.now();
    return [...this.#suspects.values()].filter(({ pause }) => pause !== undefined && pause.untilMs > now).length;
  }

  /** True when there is anything to look up at all; the common case costs one comparison. */
  get isEmpty(): boolean {
    return this.#suspects.size === 0;
  }

  /** Milliseconds for which this value must not be tried; 0 when it may. */
  remainingMs(expression: number, key: string): number {
    const suspect = this.#suspects.get(expression);
    if (suspect === undefined) return 0;
    const now = this.#clock.now();
    const untilMs = Math.max(suspect.pause?.untilMs ?? 0, suspect.values.get(key)?.untilMs ?? 0);
    return Math.max(0, untilMs - now);
  }

  failed(expression: number, key: string): void {
    const now = this.#clock.now();
    const suspect = this.#suspects.get(expression) ?? { values: new Map(), failures: [], pause: undefined };
    this.#suspects.set(expression, suspect);
    const before = suspect.values.get(key);
    suspect.values.delete(key);
    suspect.values.set(key, next(before, now));
    if (suspect.values.size > quarantineLimits.remembered) {
      for (const oldest of suspect.values.keys()) {
        suspect.values.delete(oldest);
        break;
      }
    }
    const recent = suspect.failures.filter(({ atMs }) => now - atMs < quarantineLimits.windowMs);
    suspect.failures = [...recent.filter((failure) => failure.key !== key), { key, atMs: now }].slice(
      -quarantineLimits.values,
    );
    if (suspect.failures.length >= quarantineLimits.values) suspect.pause = next(suspect.pause, now);
  }

  succeeded(expression: number, key: string): void {
    const suspect = this.#suspects.get(expression);
    if (suspect === undefined) return;
    suspect.values.delete(key);
    suspect.failures = [];
    suspect.pause = undefined;
    if (suspect.values.size === 0) this.#suspects.delete(expression);
  }
}

function next(before: Pause | undefined, nowMs: number): Pause {
  const lengthMs =
    before === undefined ? quarantineLimits.firstMs : Math.min(before.lengthMs * 2, quarantineLimits.lastMs);
  return { untilMs: nowMs + lengthMs, lengthMs };
}
