// Expressions that break a limit of the sandbox whatever they are given, as loops without an end do: a patch with one can only
// fail. In: a patch set and whoever evaluates. Out: those that came to no result on any sample.

import type { Evaluator } from '../../../expression/evaluate/evaluator.ts';
import type { CompiledExpression } from '../../../expression/language/compile.ts';
import type { CompiledPatch } from '../set/patch-set.ts';
import { runOnSamples, sampleObject } from './sample-run.ts';

export interface Endless {
  patch: CompiledPatch;
  field: 'expression' | 'reverseExpression';
  limit: 'timeout' | 'memory' | 'size';
  /** One of the samples. */
  value: unknown;
}

/** Until the time is up: each that has no end takes all that the sandbox gives it, once a sample. */
export async function findEndless(
  patches: readonly CompiledPatch[],
  { evaluator, isTimeUp }: { evaluator: Evaluator; isTimeUp(): boolean },
): Promise<Endless[]> {
  const found: Endless[] = [];
  for (const patch of patches) {
    if (isTimeUp()) break;
    const values = samplesAt(patch);
    for (const [field, expression] of [
      ['expression', patch.forward],
      ['reverseExpression', patch.back],
    ] as const) {
      const limit = expression && (await limitOf(expression, { values, path: patch.path.canonical, evaluator }));
      if (limit !== undefined) found.push({ patch, field, limit, value: values[0] });
    }
  }
  return found;
}

/** One by one: of several in one request none has a result when one of them has no end. */
async function limitOf(
  expression: CompiledExpression,
  { values, path, evaluator }: { values: readonly unknown[]; path: string; evaluator: Evaluator },
): Promise<Endless['limit'] | undefined> {
  let limit: Endless['limit'] | undefined;
  for (const value of values) {
    const [result] = await runOnSamples(evaluator, expression, { values: [value], path });
    const kind = result !== undefined && 'error' in result ? result.error.kind : undefined;
    if (kind !== 'timeout' && kind !== 'memory' && kind !== 'size') return undefined;
    limit ??= kind;
  }
  return limit;
}

/** What stands there in Endpoints as they are, or a text that may; and nothing much, on which loops are soon over. */
function samplesAt({ path }: CompiledPatch): unknown[] {
  const [found = 'web'] = path.match(structuredClone(sampleObject)).values;
  return [found, ''];
}
