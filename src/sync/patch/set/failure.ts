// Describes a failed patch: its entry, the place in the object, the error, the place in the configuration, and enough of the
// value to recognise it but not to use it. Pure.

import type { EvaluationError } from '../../../expression/evaluate/evaluation-error.ts';
import type { Matches } from '../../../expression/path/path.ts';
import { inQuotes } from '../../../object/text/in-quotes.ts';
import { counted } from '../../../object/text/in-words.ts';
import { shownPlace } from '../../plan/excerpt.ts';
import type { ResultProblem } from '../../plan/kind.ts';
import type { PatchFailure } from '../../plan/step.ts';
import { isOfWholeMap } from './changed-parts.ts';
import type { CompiledPatch } from './patch-set.ts';

export interface Failed {
  patch: CompiledPatch;
  matches: Matches;
  errors: readonly PlaceError[];
  /** The error is that of all places together. */
  isOfAll?: boolean;
}

export interface PlaceError {
  at: number;
  error: EvaluationError;
}

/**
 * What is given up of patches that made an invalid object, with the reason: the whole patch, or single labels and annotations of one whose
 * onError lets the others go on.
 */
export type GivenUp = ReadonlyMap<CompiledPatch, string | ReadonlyMap<string, string>>;

/** Each try evaluates everything once more. */
const mostKeysGivenUp = 20;

export function faultOf(patch: CompiledPatch, matches: Matches, message: string, at = 0): Failed {
  return { patch, matches, errors: [{ at, error: { kind: 'type', message } }], isOfAll: true };
}

/** One label or annotation that fails says nothing of the others. */
function failsByKey({ forward, parts, path }: CompiledPatch): boolean {
  return forward !== undefined && !parts.includes('payload') && !isOfWholeMap(path);
}

/** Whether some values of the patch are good, and stay. */
export function isPartial({ patch, matches, errors, isOfAll }: Failed): boolean {
  return isOfAll !== true && failsByKey(patch) && errors.length < matches.values.length;
}

/** The places that have failed before for what they made of the object. */
export function errorsOf(givenUp: GivenUp, patch: CompiledPatch, { keys }: Matches): PlaceError[] {
  const reasons = givenUp.get(patch);
  if (reasons === undefined || typeof reasons === 'string') return [];
  return keys.flatMap((key, at) => {
    const message = reasons.get(String(key));
    return message === undefined ? [] : [{ at, error: { kind: 'type' as const, message } }];
  });
}

/** What to give up next; undefined = nothing that helps. */
export function giveUp(givenUp: GivenUp, patch: CompiledPatch, problem: ResultProblem): GivenUp | undefined {
  const before = givenUp.get(patch);
  if (typeof before === 'string') return undefined;
  const [, , key] = problem.place;
  const isNew = failsByKey(patch) && key !== undefined && before?.has(String(key)) !== true;
  const keys = isNew ? new Map([...(before ?? []), [String(key), problem.message] as const]) : undefined;
  return new Map([...givenUp, [patch, keys === undefined || keys.size > mostKeysGivenUp ? problem.message : keys]]);
}

/** What stands at the places of a failed patch whose onError lets its object go on. */
export function insteadOf(failed: Failed): string {
  const { patch, matches } = failed;
  const isOne = isPartial(failed) ? failed.errors.length === 1 : matches.values.length === 1;
  if (patch.entry.onError === 'skip')
    return isOne ? 'the value is left as it is' : 'all values of this patch are left as they are';
  return isOne && !patch.parts.includes('payload') ? 'the host keeps its value' : 'the host keeps its values';
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

/** Of patches that have made an invalid object. `blamed`: the one of them that did, if it is known. */
export function wrongObject(
  { message, place }: ResultProblem,
  { kind, blamed, source }: { kind: string; blamed: CompiledPatch | undefined; source: string | undefined },
): PatchFailure {
  const failure = { at: shownPlace(place.join('.')), class: 'type' };
  if (blamed === undefined)
    return { ...failure, message: `after all patches the object is no valid ${kind}: ${message}` };
  const { index, entry } = blamed;
  const said = `patch ${index} makes the object no valid ${kind}: ${message}`;
  return { ...failure, patch: index, path: entry.path, message: said, ...(source !== undefined && { source }) };
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
