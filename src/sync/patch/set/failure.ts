// Describes a failed patch: its entry, the place in the object, the error, the place in the configuration, and enough of the
// value to recognise it but not to use it. Pure.

import type { EvaluationError } from '../../../expression/evaluate/evaluation-error.ts';
import type { Matches } from '../../../expression/path/path.ts';
import { inQuotes } from '../../../object/text/in-quotes.ts';
import { counted } from '../../../object/text/in-words.ts';
import { shownPlace } from '../../plan/excerpt.ts';
import type { PatchFailure } from '../../plan/step.ts';
import type { CompiledPatch } from './patch-set.ts';

export interface Failed {
  patch: CompiledPatch;
  matches: Matches;
  errors: readonly { at: number; error: EvaluationError }[];
}

export function faultOf(patch: CompiledPatch, matches: Matches, message: string, at = 0): Failed {
  return { patch, matches, errors: [{ at, error: { kind: 'type', message } }] };
}

/** The words about a patch that an earlier failure kept from being tried. */
export function notTriedAfter(patch: number): string {
  return `not tried, because patch ${patch} failed`;
}

export function failureOf({ patch, matches, errors }: Failed, source: string | undefined): PatchFailure {
  const [first = { at: 0, error: { kind: 'threw' as const, message: 'no result' } }] = errors;
  const { at, error } = first;
  const place = shownPlace(matches.paths?.[at] ?? patch.path.text);
  const more = errors.length > 1 ? `, and at ${counted(errors.length - 1, 'more place')}` : '';
  return {
    patch: patch.index,
    path: patch.entry.path,
    at: place,
    class: error.kind,
    message: `patch ${patch.index} failed at ${inQuotes(place)}${more}: ${error.message} (the value is ${redacted(matches.values[at])})`,
    ...(error.position && { position: error.position }),
    ...(source !== undefined && { source }),
    ...(error.retryAfterMs !== undefined && { retryAfterMs: error.retryAfterMs }),
    ...(error.isPassing && { isPassing: true }),
  };
}

/** The first characters of a shorter text could give it away. */
const shownFrom = 8;
const shownLength = 2;

/** Kind and size of a value, and the first two characters of a long text: two letters do not give a secret away. */
export function redacted(value: unknown): string {
  if (value === null || value === undefined) return 'missing';
  if (typeof value === 'string')
    return value.length < shownFrom
      ? `a text of ${counted(value.length, 'character')}`
      : `a text of ${counted(value.length, 'character')}, "${value.slice(0, shownLength)}…"`;
  if (typeof value === 'number' || typeof value === 'boolean') return `a ${typeof value}`;
  return Array.isArray(value)
    ? `a list of ${value.length}`
    : `an object of ${counted(Object.keys(value).length, 'key')}`;
}
