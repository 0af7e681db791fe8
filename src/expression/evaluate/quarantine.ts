// Limits the time that unfinished evaluations cost. A value that an expression ran out of time or memory on is set aside first,
// so that only its object fails. An object that brings more such values is set aside for that expression. An expression is set
// aside for all objects, for a second, after failures on several objects without a success in between. The pauses of values and
// objects double. Old failures are forgotten, so that an unsuspected expression costs one look-up in a map.
import type { Clock } from '../../clock.ts';
import { quarantineLimits } from '../limits.ts';
import type { Quarantined } from './expression-metrics.ts';

/** The value under suspicion and its object. The text can be a megabyte, so only its digest is kept, and made only when needed. */
export interface Suspicion {
  /** An opaque name of the object; when undefined, each text counts as an object. */
  subject: string | undefined;
  text: string;
}

interface Pause {
  untilMs: number;
  lengthMs: number;
}

interface Subject {
  /** Digests of the values of this object that failed, with the time of the failure. */
  failures: Map<string, number>;
  pause: Pause | undefined;
}

interface Suspect {
  values: Map<string, Pause & { textLength: number }>;
  /** Number of failed values by the length of their text: a text of another length needs no digest. */
  lengths: Map<number, number>;
  subjects: Map<string, Subject>;
  /** Objects that failed since the last success of any object, with the time of the failure. */
  failed: Map<string, number>;
  pause: Pause | undefined;
}

/** Time between two sweeps: a sweep visits all entries, so it must not run for every request. */
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

  /** Counts only pauses that still run. */
  get sizes(): Quarantined {
    const now = this.#clock.now();
    let [expressions, values] = [0, 0];
    for (const { pause, values: own } of this.#suspects.values()) {
      if (pause !== undefined && pause.untilMs > now) expressions++;
      for (const { untilMs } of own.values()) if (untilMs > now) values++;
    }
    return { expressions, values };
  }

  /** Whether the expression has failures on record; without any failure at all the check is one comparison. */
  suspects(expression: number): boolean {
    if (this.#suspects.size === 0) return false;
    this.#sweep();
    return this.#suspects.has(expression);
  }

  /** The rest of the longest pause that applies; 0 when the value may be tried. */
  remainingMs(expression: number, suspicion: Suspicion): number {
    const suspect = this.#suspects.get(expression);
    if (suspect === undefined) return 0;
    const key = this.#failedKey(suspect, suspicion.text);
    const subject = suspicion.subject ?? key;
    const pauses = [
      suspect.pause,
      subject === undefined ? undefined : suspect.subjects.get(subject)?.pause,
      key === undefined ? undefined : suspect.values.get(key),
    ];
    const untilMs = Math.max(0, ...pauses.map((pause) => pause?.untilMs ?? 0));
    return Math.max(0, untilMs - this.#clock.now());
  }

  /** Whether this value failed earlier. Such a value is tried alone, so that no other request waits behind it. */
  hasFailedBefore(expression: number, { text }: Suspicion): boolean {
    const suspect = this.#suspects.get(expression);
    return suspect !== undefined && this.#failedKey(suspect, text) !== undefined;
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
    putNewest(failed, subject, now);
    suspect.failed = failed;
    if (failed.size < quarantineLimits.objects) return;
    suspect.pause = nextPause(suspect.pause, now, quarantineLimits.lastOfExpressionMs);
    // Start counting again: a bad object that happens to be tried first after the pause must not cause the next pause alone.
    suspect.failed = new Map();
  }

  /** Clears the value and the expression, but not the object: an object can bring good values between bad ones. */
  succeeded(expression: number, { text }: Suspicion): void {
    const suspect = this.#suspects.get(expression);
    if (suspect === undefined) return;
    const key = this.#failedKey(suspect, text);
    if (key !== undefined) forget(suspect, key);
    suspect.failed.clear();
    suspect.pause = undefined;
    this.#dropIfClear(expression, suspect);
  }

  #failedKey({ values, lengths }: Suspect, text: string): string | undefined {
    if (!lengths.has(text.length)) return undefined;
    const key = this.#digestOf(text);
    return values.has(key) ? key : undefined;
  }

  #setAside(suspect: Suspect, { key, length }: { key: string; length: number }): void {
    const { values, lengths } = suspect;
    const earlier = values.get(key);
    const pause = { ...nextPause(earlier, this.#clock.now(), quarantineLimits.lastOfValueMs), textLength: length };
    if (earlier === undefined) lengths.set(length, (lengths.get(length) ?? 0) + 1);
    values.delete(key);
    values.set(key, pause);
    const [oldest] = values.keys();
    if (values.size > quarantineLimits.remembered && oldest !== undefined) forget(suspect, oldest);
  }

  #failedFor(suspect: Suspect, { subject, key }: { subject: string; key: string }): void {
    const now = this.#clock.now();
    const earlier = suspect.subjects.get(subject);
    const failures = recent(earlier?.failures ?? new Map<string, number>(), now);
    putNewest(failures, key, now);
    const isSuspicious = failures.size >= quarantineLimits.valuesOfObject;
    const pause = isSuspicious ? nextPause(earlier?.pause, now, quarantineLimits.lastOfObjectMs) : earlier?.pause;
    putNewest(suspect.subjects, subject, { failures, pause });
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
      this.#dropIfClear(expression, suspect);
    }
  }

  #dropIfClear(expression: number, { values, subjects, failed, pause }: Suspect): void {
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

function nextPause(earlier: Pause | undefined, nowMs: number, lastMs: number): Pause {
  const isFresh = earlier === undefined || isOver(earlier, nowMs);
  const lengthMs = isFresh ? quarantineLimits.firstMs : Math.min(earlier.lengthMs * 2, lastMs);
  return { untilMs: nowMs + lengthMs, lengthMs };
}

/** After this time the next failure counts as the first one. */
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

/** Inserts as the newest entry and drops the oldest above the limit. */
function putNewest<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > quarantineLimits.remembered) map.delete(map.keys().next().value as string);
}
