// The way back: runs reverse expressions for the labels and annotations that changed on the host, and for no others. In: the
// changed host values. Out: the new values of the virtual object, and the reason for each value that cannot be reversed. A
// removed key goes back as a removal and runs no patch.
import type { ValueGroup } from '../../../expression/evaluate/request.ts';
import { keyOf } from '../../../object/meta/object.ts';
import type { PatcherOptions } from '../entry/pass.ts';
import { matchesIn, runsOf, traceFailure, traceResults, withPlaces } from '../entry/runs.ts';
import { isOfWholeMap, mapsOnPath } from '../set/changed-parts.ts';
import { type Failed, failureOf } from '../set/failure.ts';
import type { CompiledPatch } from '../set/patch-set.ts';
import { hostObjectOf, virtualObjectOf } from '../set/view.ts';
import type { BackInput, BackwardRun, KeyView, Reversed } from './back-types.ts';
import { type ChangedKeys, changedKeysOf } from './changed-keys.ts';
import { referBack } from './refer-back.ts';
import { writeBack } from './write-back.ts';
import { faultOfLostKey, faultOfValue } from './wrong-value.ts';

export async function reverse(input: BackInput, options: PatcherOptions): Promise<Reversed> {
  const patches = options.set.patches.filter(
    (patch) => (patch.back !== undefined || patch.reference !== undefined) && mapsOnPath(patch.path).length > 0,
  );
  const changed = changedKeysOf(input);
  for (const run of runsOf(patches, options)) await runBack(run, changed, options);
  for (const key of changed.unfailed()) {
    const fault = faultOfValue(key, patches) ?? faultOfLostKey(key, input.virtual, options.set.patches);
    if (fault !== undefined) key.failure = fault;
  }
  return changed.result();
}

/** Patches of one run do not overlap, so one call of the sandbox serves them all. */
async function runBack(run: readonly CompiledPatch[], changed: ChangedKeys, options: PatcherOptions): Promise<void> {
  const asked = run.flatMap((patch) => {
    const view = isOfWholeMap(patch.path) ? changed.wholeView(patch) : changed.keyView(patch);
    return view === undefined ? [] : placesIn(view, patch, options);
  });
  for (const one of asked) if (one.patch.reference !== undefined) referBack(one, changed.input, options);
  await evaluateBack(
    asked.filter(({ patch }) => patch.back !== undefined),
    { changed, options, mayIsolate: true },
  );
}

function placesIn(view: KeyView, patch: CompiledPatch, { trace }: PatcherOptions): BackwardRun[] {
  const matches = matchesIn({ view: view.object, trace }, patch, 'back');
  return matches.values.length === 0 ? [] : [{ patch, view, matches, keys: view.keys }];
}

interface Evaluation {
  changed: ChangedKeys;
  options: PatcherOptions;
  /** False in the second try, which shows one key at a time. */
  mayIsolate: boolean;
}

async function evaluateBack(
  asked: readonly BackwardRun[],
  { changed, options, mayIsolate }: Evaluation,
): Promise<void> {
  if (asked.length === 0) return;
  const { virtual, host, translation } = changed.input;
  const groups = asked.map(
    ({ patch, view, matches }): ValueGroup => ({
      expression: patch.back as NonNullable<typeof patch.back>,
      values: matches.whole ? [view.object] : matches.values,
      paths: matches.paths,
    }),
  );
  const results = await options.evaluator.evaluate({
    subject: keyOf(virtual.namespace, virtual.name),
    hostObject: hostObjectOf(host, translation.kind),
    virtualObject: virtualObjectOf(virtual, translation.kind),
    groups,
  });
  const alone: BackwardRun[] = [];
  for (const [at, one] of asked.entries()) {
    const result = results[at];
    if (result === undefined) continue;
    const { patch, view, matches } = one;
    options.counts.evaluated(patch.index, matches.values.length);
    const failed = result.errors.length > 0 && withPlaces({ patch, matches, errors: result.errors }, view.object);
    if (failed === false) traceResults(patch, { matches, values: result.results }, options.trace);
    else if (mayIsolate && isWorthIsolating(failed, one)) {
      for (const key of one.keys) {
        const isolated = changed.wholeView(patch, key);
        if (isolated !== undefined) alone.push(...placesIn(isolated, patch, options));
      }
      continue;
    } else noteErrors(failed, one, options);
    options.counts.changed(patch.index, writeBack(one, result));
  }
  await evaluateBack(alone, { changed, options, mayIsolate: false });
}

/** More keys than this at once are held back together: each would be one more evaluation of the whole map. */
const isolatedKeys = 32;

/** One value can fail the expression of a whole map, and must not hold back the other keys of the map. */
function isWorthIsolating({ errors }: Failed, { patch, keys }: BackwardRun): boolean {
  // An expression that ran out of time or memory would do so once for every key.
  const isQuick = errors.every(({ error: { kind } }) => kind === 'threw');
  return isOfWholeMap(patch.path) && isQuick && keys.length > 1 && keys.length <= isolatedKeys;
}

function noteErrors(failed: Failed, { patch, view, matches, keys }: BackwardRun, options: PatcherOptions): void {
  const source = options.sourceOf(patch.index, 'reverseExpression');
  const first = failureOf(failed, source);
  options.counts.failed(patch.index, first.class, first.message);
  traceFailure(failed, options.trace);
  for (const error of failed.errors) {
    const failure = failureOf({ ...failed, errors: [error] }, source);
    for (const key of view.keysAt(matches, error.at, keys)) key.failure ??= failure;
  }
}
