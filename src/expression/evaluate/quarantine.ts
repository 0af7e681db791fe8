// Keeps expressions that could not finish from costing everyone time. First the value that an expression could not finish on
// is set aside, so that its object fails and no other; an object that keeps bringing new ones is set aside with that
// expression as a whole; and only when several objects in a row have that fate, and none succeeds in between, it is the
// expression that is at fault. Pauses double; one success ends that of the expression.
import type { Clock } from '../../clock.ts';
import { quarantineLimits } from '../limits.ts';

/** Who asked what: an opaque name of the object, and what tells its values from others. */
export interface Suspicion {
  subject: string;
  key: string;
}

interface Pause {
  untilMs: number;
  lengthMs: number;
}

interface Subject {
  /** Values that it could not be finished on, with the time. */
  failures: Map<string, number>;
  pause: Pause | undefined;
}

interface Suspect {
  values: Map<string, Pause>;
  subjects: Map<string, Subject>;
  /** Objects that failed since one last succeeded, with the time. */
  failed: Map<string, number>;
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

  /** Milliseconds for which this must not be tried; 0 when it may. */
  remainingMs(expression: number, { subject, key }: Suspicion): number {
    const suspect = this.#suspects.get(expression);
    if (suspect === undefined) return 0;
    const pauses = [suspect.pause, suspect.subjects.get(subject)?.pause, suspect.values.get(key)];
    const untilMs = Math.max(0, ...pauses.map((pause) => pause?.untilMs ?? 0));
    return Math.max(0, untilMs - this.#clock.now());
  }

  failed(expression: number, { subject, key }: Suspicion): void {
    const now = this.#clock.now();
    const suspect = this.#suspects.get(expression) ?? {
      values: new Map(),
      subjects: new Map(),
      failed: new Map(),
      pause: undefined,
    };
    this.#suspects.set(expression, suspect);
    put(suspect.values, key, next(suspect.values.get(key), now, quarantineLimits.lastOfValueMs));
    this.#failedFor(suspect, { subject, key });
    const failed = recent(suspect.failed, now);
    put(failed, subject, now);
    suspect.failed = failed;
    if (failed.size < quarantineLimits.objects) return;
    suspect.pause = next(suspect.pause, now, quarantineLimits.lastOfExpressionMs);
    // Whoever is tried first when the pause is over may be the guilty one: that alone must not begin the next.
    suspect.failed = new Map();
  }

  #failedFor(suspect: Suspect, { subject, key }: Suspicion): void {
    const now = this.#clock.now();
    const before = suspect.subjects.get(subject);
    const failures = recent(before?.failures ?? new Map<string, number>(), now);
    put(failures, key, now);
    const isNew = failures.size >= quarantineLimits.valuesOfObject;
    const pause = isNew ? next(before?.pause, now, quarantineLimits.lastOfObjectMs) : before?.pause;
    put(suspect.subjects, subject, { failures, pause });
  }

  /** Good values between bad ones do not clear an object that brings both: its pause is forgotten with time. */
  succeeded(expression: number, { subject, key }: Suspicion): void {
    const suspect = this.#suspects.get(expression);
    if (suspect === undefined) return;
    suspect.values.delete(key);
    suspect.failed.clear();
    suspect.pause = undefined;
    const own = suspect.subjects.get(subject);
    if (own !== undefined && isForgotten(own, this.#clock.now())) suspect.subjects.delete(subject);
    if (suspect.values.size === 0 && suspect.subjects.size === 0) this.#suspects.delete(expression);
  }
}

function next(before: Pause | undefined, nowMs: number, lastMs: number): Pause {
  const isFresh =
    before === undefined || nowMs - before.untilMs >= Math.max(quarantineLimits.windowMs, before.lengthMs);
  const lengthMs = isFresh ? quarantineLimits.firstMs : Math.min(before.lengthMs * 2, lastMs);
  return { untilMs: nowMs + lengthMs, lengthMs };
}

function isForgotten({ failures, pause }: Subject, nowMs: number): boolean {
  const isQuiet = pause === undefined || nowMs - pause.untilMs >= quarantineLimits.windowMs;
  return isQuiet && recent(failures, nowMs).size === 0;
}

function recent(failures: ReadonlyMap<string, number>, nowMs: number): Map<string, number> {
  return new Map([...failures].filter(([, atMs]) => nowMs - atMs < quarantineLimits.windowMs));
}

/** As the newest; the oldest are forgotten. */
function put<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > quarantineLimits.remembered) map.delete(map.keys().next().value as string);
}
