// Finds expressions that break a limit of the sandbox on every sample, for example endless loops: their patches can only
// fail. In: a patch set and an evaluator. Out: the expressions without a result on any sample.

import type { CompiledExpression } from '../../../expression/language/compile.ts';
import type { SyncedKind } from '../../plan/kind.ts';
import type { CompiledPatch } from '../set/patch-set.ts';
import { runOnSamples, sampleObjectOf, type Trial } from './sample-run.ts';

export interface Endless {
  patch: CompiledPatch;
  field: 'expression' | 'reverseExpression';
  limit: 'timeout' | 'memory' | 'size';
  /** The first sample. */
  value: unknown;
}

/** Stops when the time is up: an endless expression uses its whole time limit for every sample. */
export async function findEndless(patches: readonly CompiledPatch[], trial: Trial): Promise<Endless[]> {
  const found: Endless[] = [];
  for (const patch of patches) {
    if (trial.isTimeUp()) break;
    const values = samplesAt(patch, trial.kind);
    for (const [field, expression] of [
      ['expression', patch.forward],
      ['reverseExpression', patch.back],
    ] as const) {
      const limit = expression && (await limitOf(expression, { values, path: patch.path.canonical, trial }));
      if (limit !== undefined) found.push({ patch, field, limit, value: values[0] });
    }
  }
  return found;
}

/** One request for each sample: an endless evaluation costs all other samples of its request their results. */
async function limitOf(
  expression: CompiledExpression,
  { values, path, trial }: { values: readonly unknown[]; path: string; trial: Trial },
): Promise<Endless['limit'] | undefined> {
  let limit: Endless['limit'] | undefined;
  for (const value of values) {
    const [result] = await runOnSamples(trial, expression, { values: [value], path });
    const kind = result !== undefined && 'error' in result ? result.error.kind : undefined;
    if (kind !== 'timeout' && kind !== 'memory' && kind !== 'size') return undefined;
    limit ??= kind;
  }
  return limit;
}

/** The value at the path in a common object, or a text; and the empty text, on which most loops end early. */
function samplesAt({ path }: CompiledPatch, kind: SyncedKind): unknown[] {
  const [found = 'web'] = path.match(structuredClone(sampleObjectOf(kind))).values;
  return [found, ''];
}
