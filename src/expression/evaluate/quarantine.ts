// Keeps expressions that could not finish from costing everyone time. First the value that an expression could not finish on
// is set aside, so that its object fails and no other; an object that keeps bringing new ones is set aside with that
// expression as a whole; and only when several objects in a row have that fate, and none succeeds in between, the expression
// is set aside, for a second. The pauses of values and objects double. What is over is forgotten: an expression that nobody
// suspects any more costs one look into a map.
import type { Clock } from '../../clock.ts';
import { quarantineLimits } from '../limits.ts';
import type { Quarantined } from './expression-metrics.ts';

/** Who asked what. The text can be a megabyte, so it is remembered by its digest, which is made only where it is needed. */
export interface Suspicion {
  /** An opaque name of the object; undefined: each text counts as an object. */
  subject: string | undefined;
  text: string;
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
  values: Map<string, Pause & { textLength: number }>;
  /** How many of the values have a text of that length: most texts need no digest to be told from them. */
  lengths: Map<number, number>;
  subjects: Map<string, Subject>;
  /** Objects that failed since one last succeeded, with the time. */
  failed: Map<string, number>;
  pause: Pause | undefined;
}

/** Between two looks for what is over. */
const sweepMs = 1_000;

export class Quarantine {
  readonly #clock: Clock;
  readonly #digestOf: (text: string) => string;
  readonly #suspects = new Map<number, Suspect>();
  #sweptMs = 0;

  constructor(clock: Clock, digestOf: (text: string) => string) {
    this.#clock = clock;
    this.#digestOf = digestOf;
  }

  /** How many expressions are set aside as a whole, and how many values. */
  get sizes(): Quarantined {
    const now = this.#clock.now();
    let [expressions, values] = [0, 0];
    for (const { pause, values: own } of this.#suspects.values()) {
      if (pause !== undefined && pause.untilMs > now) expressions++;
      for (const { untilMs } of own.values()) if (untilMs > now) values++;
    }
    return { expressions, values };
  }

  /** Whether there is anything to look up for an expression; the common case costs one comparison. */
  suspects(expression: number): boolean {
    if (this.#suspects.size === 0) return false;
    this.#sweep();
    return this.#suspects.has(expression);
  }

  /** Milliseconds for which this must not be tried; 0 when it may. */
  remainingMs(expression: number, suspicion: Suspicion): number {
    const suspect = this.#suspects.get(expression);
    if (suspect === undefined) return 0;
    const key = this.#knownKey(suspect, suspicion.text);
    const subject = suspicion.subject ?? key;
    const pauses = [
      suspect.pause,
      subject === undefined ? undefined : suspect.subjects.get(subject)?.pause,
      key === undefined ? undefined : suspect.values.get(key),
    ];
    const untilMs = Math.max(0, ...pauses.map((pause) => pause?.untilMs ?? 0));
    return Math.max(0, untilMs - this.#clock.now());
  }

  /** Whether the value could not be finished on before: it is tried alone, so that nobody waits behind it. */
  isKnown(expression: number, { text }: Suspicion): boolean {
    const suspect = this.#suspects.get(expression);
    return suspect !== undefined && this.#knownKey(suspect, text) !== undefined;
  }

  failed(expression: number, { subject: named, text }: Suspicion): void {
    const now = this.#clock.now();
    const key = this.#digestOf(text);
    const subject = named ?? key;
    const suspect = this.#suspects.get(expression) ?? newSuspect();
    this.#suspects.set(expression, suspect);
    this.#setAside(suspect, { key, length: text.length });
    this.#failedFor(suspect, { subject, key });
    const failed = recent(suspect.failed, now);
    put(failed, subject, now);
    suspect.failed = failed;
    if (failed.size < quarantineLimits.objects) return;
    suspect.pause = next(suspect.pause, now, quarantineLimits.lastOfExpressionMs);
    // Whoever is tried first when the pause is over may be the guilty one: that alone must not begin the next.
    suspect.failed = new Map();
  }

  /** Good values between bad ones do not clear an object that brings both: its pause is forgotten with time. */
  succeeded(expression: number, { text }: Suspicion): void {
    const suspect = this.#suspects.get(expression);
    if (suspect === undefined) return;
    const key = this.#knownKey(suspect, text);
    if (key !== undefined) forget(suspect, key);
    suspect.failed.clear();
    suspect.pause = undefined;
    this.#drop(expression, suspect);
  }

  #knownKey({ values, lengths }: Suspect, text: string): string | undefined {
    if (!lengths.has(text.length)) return undefined;
    const key = this.#digestOf(text);
    return values.has(key) ? key : undefined;
  }

  #setAside(suspect: Suspect, { key, length }: { key: string; length: number }): void {
    const { values, lengths } = suspect;
    const before = values.get(key);
    const pause = { ...next(before, this.#clock.now(), quarantineLimits.lastOfValueMs), textLength: length };
    if (before === undefined) lengths.set(length, (lengths.get(length) ?? 0) + 1);
    values.delete(key);
    values.set(key, pause);
    const [oldest] = values.keys();
    if (values.size > quarantineLimits.remembered && oldest !== undefined) forget(suspect, oldest);
  }

  #failedFor(suspect: Suspect, { subject, key }: { subject: string; key: string }): void {
    const now = this.#clock.now();
    const before = suspect.subjects.get(subject);
    const failures = recent(before?.failures ?? new Map<string, number>(), now);
    put(failures, key, now);
    const isNew = failures.size >= quarantineLimits.valuesOfObject;
    const pause = isNew ? next(before?.pause, now, quarantineLimits.lastOfObjectMs) : before?.pause;
    put(suspect.subjects, subject, { failures, pause });
  }

  #sweep(): void {
    const now = this.#clock.now();
    if (now - this.#sweptMs < sweepMs) return;
    this.#sweptMs = now;
    for (const [expression, suspect] of this.#suspects) {
      for (const [key, pause] of suspect.values) if (isOver(pause, now)) forget(suspect, key);
      for (const [subject, own] of suspect.subjects) if (isForgotten(own, now)) suspect.subjects.delete(subject);
      suspect.failed = recent(suspect.failed, now);
      if (suspect.pause !== undefined && isOver(suspect.pause, now)) suspect.pause = undefined;
      this.#drop(expression, suspect);
    }
  }

  #drop(expression: number, { values, subjects, failed, pause }: Suspect): void {
    const isClear = values.size === 0 && subjects.size === 0 && failed.size === 0 && pause === undefined;
    if (isClear) this.#suspects.delete(expression);
  }
}

function newSuspect(): Suspect {
  return { values: new Map(), lengths: new Map(), subjects: new Map(), failed: new Map(), pause: undefined };
}

function forget({ values, lengths }: Suspect, key: string): void {
  const length = values.get(key)?.textLength;
  values.delete(key);
  if (length === undefined) return;
  const left = (lengths.get(length) ?? 0) - 1;
  if (left > 0) lengths.set(length, left);
  else lengths.delete(length);
}

function next(before: Pause | undefined, nowMs: number, lastMs: number): Pause {
  const isFresh = before === undefined || isOver(before, nowMs);
  const lengthMs = isFresh ? quarantineLimits.firstMs : Math.min(before.lengthMs * 2, lastMs);
  return { untilMs: nowMs + lengthMs, lengthMs };
}

/** So long past that the next failure is a first one again. */
function isOver({ untilMs, lengthMs }: Pause, nowMs: number): boolean {
  return nowMs - untilMs >= Math.max(quarantineLimits.windowMs, lengthMs);
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
