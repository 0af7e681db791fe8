// Runs each patch on sample objects through the daemon's own executor, validator and address policy, and finds patches that have a good
// result for none: a number as an address, a text as a port, an address that the policy refuses, an expression that throws. In: a patch
// set and an evaluator. Out: for each such patch what is wrong. A patch with one good result is good: it may be made for other values
// than the samples.

import type { CompiledExpression } from '../../../expression/language/compile.ts';
import { useOf } from '../../../expression/language/context-use.ts';
import type { JsonMap } from '../../../expression/path/path.ts';
import { overlaps } from '../../../expression/path/path-overlap.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import type { AddressPolicy } from '../../plan/address-policy.ts';
import { draftHost, type Translation } from '../../plan/draft.ts';
import type { Payload } from '../../plan/kind.ts';
import type { PatchFailure } from '../../plan/step.ts';
import { ReferenceNames } from '../../references/reference-names.ts';
import { faultOfValue } from '../back/wrong-value.ts';
import { Patcher } from '../run/patcher.ts';
import { createPatchCounts } from '../set/patch-metrics.ts';
import { type CompiledPatch, patchSetOf } from '../set/patch-set.ts';
import { domainOf, textsFor } from './round-trip.ts';
import { samplesFor, shapedTexts, valueIn } from './sample-objects.ts';
import { runOnSamples, type Trial } from './sample-run.ts';

export interface InvalidResult {
  kind: 'invalid';
  patch: CompiledPatch;
  field: 'expression' | 'reverseExpression';
  message: string;
  /** Whether the result depends on nothing but the value and the configuration: then every object has it. */
  isCertain: boolean;
}

/** An expression that throws on every sample. */
export interface AlwaysThrows {
  kind: 'throws';
  patch: CompiledPatch;
  field: 'expression' | 'reverseExpression';
  /** The first sample. */
  value: unknown;
  message: string;
}

/** A patch that turns every sample into an address that the policy refuses, though the sample itself is let through. */
export interface RefusedAddress {
  kind: 'refused';
  patch: CompiledPatch;
  field: 'expression';
  value: unknown;
  address: string;
  rule: string;
}

export type WrongResult = InvalidResult | AlwaysThrows | RefusedAddress;

export type ResultTrial = Trial & { translation: Translation; policy: AddressPolicy; allowed: readonly string[] };

export async function findWrongResults(patches: readonly CompiledPatch[], trial: ResultTrial): Promise<WrongResult[]> {
  const found: WrongResult[] = [];
  for (const patch of patches) {
    if (trial.isTimeUp()) break;
    // Another entry on the same values may make the result good again.
    const together = patches.filter((one) => one === patch || overlaps(one.path, patch.path));
    const forward = patch.forward && (await forwardProblem(patch, [patch], trial));
    const isMended =
      together.length > 1 && forward !== undefined && (await forwardProblem(patch, together, trial)) === undefined;
    if (forward?.kind === 'invalid') found.push({ ...forward, isCertain: !isMended && !readsObjects(patch.forward) });
    else if (forward !== undefined && !isMended && !(forward.kind === 'throws' && readsObjects(patch.forward)))
      found.push(forward);
    const back =
      patch.back &&
      (await backProblem(patch, { trial, isUntried: patch.forward === undefined || forward?.kind === 'throws' }));
    const isOnlyBack = together.every((one) => one === patch || one.back === undefined);
    if (back?.kind === 'invalid') found.push({ ...back, isCertain: isOnlyBack && !readsObjects(patch.back) });
    else if (back !== undefined && !readsObjects(patch.back)) found.push(back);
  }
  return found;
}

/** The samples know nothing of the objects that an expression may look at. */
function readsObjects(expression: CompiledExpression | undefined): boolean {
  return ['virtualObject', 'hostObject'].some(
    (name) => expression !== undefined && useOf(expression.context, name) !== undefined,
  );
}

/** The first problem when every sample with a result has one. `running` are the patches that run on the samples of one. */
async function forwardProblem(
  patch: CompiledPatch,
  running: readonly CompiledPatch[],
  trial: ResultTrial,
): Promise<WrongResult | undefined> {
  const { translation, policy, allowed } = trial;
  const { kind } = translation;
  const run = runOf(running, trial);
  const isConstant = patch.forward?.usesValue === false && patch.forward.context.keys.size === 0;
  const field = 'expression';
  let invalid: InvalidResult | undefined;
  let throws: AlwaysThrows | undefined;
  let refused: RefusedAddress | undefined;
  let isOpen = false;
  for (const object of samplesFor(patch, trial, allowed)) {
    if (trial.isTimeUp()) return undefined;
    const { before, payload, failure, isDeleted } = await run(object);
    if (failure === undefined) {
      if (policy.refusals(kind.addressesOf(before)).length > 0) continue;
      const [first] = policy.refusals(kind.addressesOf(payload));
      if (first === undefined) return undefined;
      refused ??= { kind: 'refused', patch, field, value: valueIn(object, patch), ...first };
      continue;
    }
    // Each further sample would cost the whole limit again, and findEndless() reports an expression that is endless everywhere.
    if (failure.class === 'timeout' || failure.class === 'memory') return undefined;
    if (failure.class === 'threw')
      throws ??= { kind: 'throws', patch, field, value: valueIn(object, patch), message: failure.message };
    // An expression that does not know the sample says nothing about its results.
    else if (failure.class !== 'type' || (isDeleted && !isConstant)) isOpen = true;
    else invalid ??= { kind: 'invalid', patch, field, message: failure.message, isCertain: true };
  }
  // Some samples have a result that the policy refuses, so the expression can make results of the right form.
  return refused ?? invalid ?? (isOpen ? undefined : throws);
}

interface SampleRun {
  /** The payload before the patches. */
  before: Payload;
  payload: Payload;
  failure: PatchFailure | undefined;
  /** Whether a value became nothing. */
  isDeleted: boolean;
}

function runOf(
  patches: readonly CompiledPatch[],
  { evaluator, translation }: ResultTrial,
): (object: JsonMap) => Promise<SampleRun> {
  let isDeleted = false;
  const patcher = new Patcher({
    set: patchSetOf([...patches]),
    digests: { ofSet: '', ofKey: () => '' },
    evaluator,
    counts: createPatchCounts(
      undefined,
      patches.map(({ index }) => index),
    ),
    references: new ReferenceNames({ naming: () => 'generated' }),
    sourceOf: () => undefined,
    trace: ({ after }) => {
      isDeleted ||= after === null;
    },
  });
  return async (object) => {
    isDeleted = false;
    const virtual = translation.kind.projectVirtual(object as unknown as KubeObject);
    const draft = draftHost(virtual, { namespace: 'host', name: 'sample' }, translation);
    const before = structuredClone(draft.payload);
    const patched = await patcher.forward({ virtual, host: undefined, draft, translation });
    const failure = patched.kind === 'failed' ? patched.failure : patched.lapse;
    const payload = patched.kind === 'failed' ? before : patched.draft.payload;
    return { before, payload, failure, isDeleted };
  };
}

async function backProblem(
  patch: CompiledPatch,
  { trial, isUntried }: { trial: Trial; isUntried: boolean },
): Promise<InvalidResult | AlwaysThrows | undefined> {
  const { back } = patch;
  const hosts = textsFor(patch, back);
  if (back === undefined || hosts.length === 0) return undefined;
  const message = await invalidBack(patch, trial);
  if (message !== undefined) return { kind: 'invalid', patch, field: 'reverseExpression', message, isCertain: true };
  // Otherwise the results of its expression are better samples, and findCounterExamples() has tried them.
  if (!isUntried) return undefined;
  const values = [...new Set([...hosts, ...domainOf(back.source, [...hosts, ...shapedTexts])])];
  const results = await runOnSamples(trial, back, { values, path: patch.path.canonical });
  const errors = results.flatMap((result) => ('error' in result ? [result.error] : []));
  const [first] = errors;
  if (first === undefined || errors.length < values.length || errors.some(({ kind }) => kind !== 'threw'))
    return undefined;
  return { kind: 'throws', patch, field: 'reverseExpression', value: values[0], message: first.message };
}

/** A tenant's label or annotation is a text. */
async function invalidBack(patch: CompiledPatch, trial: Trial): Promise<string | undefined> {
  const { segments } = patch.path;
  const map = (['labels', 'annotations'] as const).find(
    (name) => segments[1]?.kind === 'key' && segments[1].key === name,
  );
  const hosts = textsFor(patch, patch.back);
  if (patch.back === undefined || map === undefined || segments.length !== 3 || hosts.length === 0) return undefined;
  const results = await runOnSamples(trial, patch.back, { values: hosts, path: patch.path.canonical });
  const known = results.flatMap((result) => ('error' in result || result.value === null ? [] : [result.value]));
  const key = segments[2]?.kind === 'key' ? segments[2].key : '*';
  const faults = known.map((value) => faultOfValue({ map, key, hostKey: key, value, failure: undefined }, [patch]));
  return faults.every((one) => one !== undefined) ? faults[0]?.message : undefined;
}
