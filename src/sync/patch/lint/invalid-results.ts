// Runs each patch on sample objects through the daemon's own executor and validator, and finds patches whose results no object may
// hold: a number as an address, a text as a port. In: a patch set and an evaluator. Out: for each such patch what is wrong with its
// result. A patch with one good result is good: it may be made for other values than the samples.
import { useOf } from '../../../expression/language/context-use.ts';
import type { JsonMap } from '../../../expression/path/path.ts';
import { overlaps } from '../../../expression/path/path-overlap.ts';
import { writeResults } from '../../../expression/path/write-results.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import { draftHost, type Translation } from '../../plan/draft.ts';
import type { PatchFailure } from '../../plan/step.ts';
import { ReferenceNames } from '../../references/reference-names.ts';
import { faultOfValue } from '../back/wrong-value.ts';
import { Patcher } from '../run/patcher.ts';
import { createPatchCounts } from '../set/patch-metrics.ts';
import { type CompiledPatch, patchSetOf } from '../set/patch-set.ts';
import { literalsIn, textsFor } from './round-trip.ts';
import { runOnSamples, sampleObjectOf, type Trial } from './sample-run.ts';

export interface InvalidResult {
  patch: CompiledPatch;
  field: 'expression' | 'reverseExpression';
  message: string;
  /** Whether the result depends on nothing but the value and the configuration: then every object has it. */
  isCertain: boolean;
}

export async function findInvalidResults(
  patches: readonly CompiledPatch[],
  trial: Trial & { translation: Translation },
): Promise<InvalidResult[]> {
  const found: InvalidResult[] = [];
  for (const patch of patches) {
    if (trial.isTimeUp()) break;
    const isAlone = patches.every((one) => one === patch || !overlaps(one.path, patch.path));
    for (const [field, expression, look] of [
      ['expression', patch.forward, invalidForward],
      ['reverseExpression', patch.back, invalidBack],
    ] as const) {
      const message = expression && (await look(patch, trial));
      if (expression === undefined || message === undefined) continue;
      const readsObjects = ['virtualObject', 'hostObject'].some(
        (name) => useOf(expression.context, name) !== undefined,
      );
      // Another entry on the same values may make the result good again.
      found.push({ patch, field, message, isCertain: isAlone && !readsObjects });
    }
  }
  return found;
}

/** The first problem when every sample with a result has one. */
async function invalidForward(patch: CompiledPatch, trial: Trial & { translation: Translation }) {
  const { evaluator, translation } = trial;
  let isDeleted = false;
  const patcher = new Patcher({
    set: patchSetOf([patch]),
    digests: { ofSet: '', ofKey: () => '' },
    evaluator,
    counts: createPatchCounts(undefined, [patch.index]),
    references: new ReferenceNames({ naming: () => 'generated' }),
    sourceOf: () => undefined,
    trace: ({ after }) => {
      isDeleted ||= after === null;
    },
  });
  const isConstant = patch.forward?.usesValue === false && patch.forward.context.keys.size === 0;
  let first: string | undefined;
  for (const object of samplesFor(patch, trial)) {
    if (trial.isTimeUp()) return undefined;
    isDeleted = false;
    const virtual = translation.kind.projectVirtual(object as unknown as KubeObject);
    const draft = draftHost(virtual, { namespace: 'host', name: 'sample' }, translation);
    const patched = await patcher.forward({ virtual, host: undefined, draft, translation });
    const failure: PatchFailure | undefined = patched.kind === 'failed' ? patched.failure : patched.lapse;
    if (failure === undefined) return undefined;
    // Each further sample would cost the whole limit again, and findEndless() tells of an expression that is endless everywhere.
    if (failure.class === 'timeout' || failure.class === 'memory') return undefined;
    // An expression that throws says nothing about its results, nor does one that does not know the sample.
    if (failure.class !== 'type' || (isDeleted && !isConstant)) continue;
    first ??= failure.message;
  }
  return first;
}

/** Sample objects in which the path matches, each with another value there. */
function* samplesFor(patch: CompiledPatch, { kind }: Trial): Generator<JsonMap> {
  const { path } = patch;
  const fresh = (): JsonMap => structuredClone(sampleObjectOf(kind));
  const texts = textsFor(patch, undefined);
  const isOfMetadata = texts.length > 0 && path.segments.length > 2;
  const values: unknown[] = isOfMetadata ? texts : literalsIn(patch.forward?.tree);
  if (!isOfMetadata) yield fresh();
  for (const value of values) {
    const object = fresh();
    const matches = path.match(object, { createMissing: isOfMetadata });
    if (matches.whole !== undefined) return;
    if (matches.values.some((one) => typeof one !== typeof value) && !isOfMetadata) continue;
    writeResults(
      matches,
      matches.values.map(() => value),
    );
    if (kind.problemOf(payloadIn(object, kind.payloadFields)) === undefined) yield object;
  }
}

function payloadIn(object: JsonMap, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(fields.map((field) => [field, object[field]]));
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
