// The one memory of offenders. Its evidence is "this expression on this value ran out of time or memory". The value is set aside for a
// pause that doubles, so that only its object fails. An object that brings more such values is set aside for the expression, and an
// expression on which several objects in a row ran out is set aside for a second while a crowd waits. As long as an expression has an
// offence on record, its requests wait at the back end of the sandbox's line.

import type { Clock } from '../../clock.ts';
import { backOffMs } from '../../pace/back-off.ts';
import { offenceLimits } from '../limits.ts';
import type { Quarantined } from './expression-metrics.ts';

/** The value under suspicion and its object. The text can be a megabyte, so only its digest is kept, and made only when needed. */
export interface Suspicion {
  /** An opaque name of the object; when undefined, each text counts as an object. */
  subject: string | undefined;
  text: string;
}

/** A value that ran out. */
interface Offence {
  subject: string;
  textLength: number;
  /** Failures in a row; none after a success, when the offence still counts against its object. */
  failures: number;
  lastMs: number;
  untilMs: number;
}

interface Offender {
  /** By the digest of the value, the newest failure last. */
  offences: Map<string, Offence>;
  /** Objects that failed since the last success of any object. */
  inRow: Set<string>;
  untilMs: number;
}

const { firstMs, lastOfValueMs, lastOfObjectMs, valuesOfObject, objects, crowd, remembered } = offenceLimits;

export class Offenders {
  readonly #clock: Clock;
  readonly #digestOf: (text: string) => string;
  readonly #offenders = new Map<number, Offender>();
  #sweptMs = 0;
  /** Requests that wait for the sandbox; whoever sends them counts. */
  waiting = 0;

  constructor(clock: Clock, digestOf: (text: string) => string) {
    this.#clock = clock;
    this.#digestOf = digestOf;
  }

  /** Counts only pauses that still run. */
  get sizes(): Quarantined {
    const now = this.#clock.now();
    const all = [...this.#offenders.values()];
    const values = all.flatMap(({ offences }) => [...offences.values()].filter(({ untilMs }) => untilMs > now));
    return { expressions: all.filter(({ untilMs }) => untilMs > now).length, values: values.length };
  }

  /** Whether the expression has an offence on record; without any offence at all the check is one comparison. */
  suspects(expression: number): boolean {
    if (this.#offenders.size === 0) return false;
    this.#sweep();
    return this.#offenders.has(expression);
  }

  /** The rest of the longest pause that applies; 0 when the value may be tried. */
  remainingMs(expression: number, { subject, text }: Suspicion): number {
    const offender = this.#offenders.get(expression);
    if (offender === undefined) return 0;
    const known = this.#known(offender, text);
    const ofObject = objectUntilMs(offender, subject ?? known?.subject, this.#clock.now());
    return Math.max(0, Math.max(offender.untilMs, ofObject, known?.untilMs ?? 0) - this.#clock.now());
  }

  /** Such a value is tried alone and with its whole time, so that no other request waits behind it. */
  hasFailedBefore(expression: number, { text }: Suspicion): boolean {
    const offender = this.#offenders.get(expression);
    return offender !== undefined && (this.#known(offender, text)?.failures ?? 0) > 0;
  }

  failed(expression: number, { subject: named, text }: Suspicion): void {
    const now = this.#clock.now();
    const key = this.#digestOf(text);
    const subject = named ?? key;
    const offender = this.#offenders.get(expression) ?? { offences: new Map(), inRow: new Set(), untilMs: 0 };
    this.#offenders.set(expression, offender);
    const { offences, inRow } = offender;
    const earlier = offences.get(key);
    const failures = (earlier === undefined || isForgotten(earlier, now) ? 0 : earlier.failures) + 1;
    const untilMs = now + backOffMs(failures, { firstMs, mostMs: lastOfValueMs });
    offences.delete(key);
    offences.set(key, { subject, textLength: text.length, failures, lastMs: now, untilMs });
    if (offences.size > remembered) offences.delete(offences.keys().next().value as string);
    inRow.add(subject);
    if (inRow.size < objects) return;
    // Start counting again: a bad object that happens to be tried first after the pause must not cause the next pause alone.
    inRow.clear();
    // A harmless value waits for the pause too. Without a crowd it comes before all that have had their slice, and need not wait.
    if (this.waiting >= crowd) offender.untilMs = now + firstMs;
  }

  /** Clears the value and the expression, but not the object: an object can bring good values between bad ones. */
  succeeded(expression: number, { text }: Suspicion): void {
    const offender = this.#offenders.get(expression);
    if (offender === undefined) return;
    const known = this.#known(offender, text);
    if (known !== undefined) Object.assign(known, { failures: 0, untilMs: 0 });
    offender.inRow.clear();
    offender.untilMs = 0;
  }

  /** A text of another length than every offence needs no digest. */
  #known({ offences }: Offender, text: string): Offence | undefined {
    for (const { textLength } of offences.values())
      if (textLength === text.length) return offences.get(this.#digestOf(text));
    return undefined;
  }

  /** At most once in the shortest pause, because it visits all offences. */
  #sweep(): void {
    const now = this.#clock.now();
    if (now - this.#sweptMs < firstMs) return;
    this.#sweptMs = now;
    for (const [expression, { offences }] of this.#offenders) {
      for (const [key, offence] of offences) if (isForgotten(offence, now)) offences.delete(key);
      if (offences.size === 0) this.#offenders.delete(expression);
    }
  }
}

/** The end of the pause of an object: it doubles with every further value of the object that ran out lately. */
function objectUntilMs({ offences }: Offender, subject: string | undefined, now: number): number {
  const lately = [...offences.values()].filter((one) => one.subject === subject && now - one.lastMs < lastOfObjectMs);
  const pauseMs = backOffMs(lately.length - valuesOfObject + 1, { firstMs, mostMs: lastOfObjectMs });
  return pauseMs === 0 ? 0 : (lately.at(-1)?.lastMs ?? 0) + pauseMs;
}

function isForgotten({ lastMs, untilMs }: Offence, now: number): boolean {
  return now - Math.max(lastMs, untilMs) >= Math.max(lastOfObjectMs, untilMs - lastMs);
}
