// Runs an expression on sample values, to judge a configuration before there is any object.

import type { EvaluationError } from '../../../expression/evaluate/evaluation-error.ts';
import type { Evaluator } from '../../../expression/evaluate/evaluator.ts';
import type { CompiledExpression } from '../../../expression/language/compile.ts';
import type { JsonMap } from '../../../expression/path/path.ts';
import type { SyncedKind } from '../../plan/kind.ts';

export interface Trial {
  evaluator: Evaluator;
  kind: SyncedKind;
  /** Asked between patches: the rest of the patches is not tried. */
  isTimeUp(): boolean;
}

export function sampleObjectOf({ apiVersion, kind, samplePayload }: SyncedKind): JsonMap {
  const metadata = { name: 'sample', namespace: 'default', labels: { app: 'web' }, annotations: { note: 'sample' } };
  return { apiVersion, kind, metadata, ...samplePayload };
}

export type SampleResult = { value: unknown } | { error: EvaluationError };

export async function runOnSamples(
  { evaluator, kind }: Trial,
  expression: CompiledExpression,
  { values, path }: { values: readonly unknown[]; path: string },
): Promise<SampleResult[]> {
  // A private copy: expressions may change the members of what they get.
  const group = { expression, values: structuredClone(values) as unknown[], paths: values.map(() => path) };
  const sample = sampleObjectOf(kind);
  const request = { hostObject: sample, virtualObject: sample, groups: [group] };
  const [result] = await evaluator.evaluate(request);
  const errors = new Map(result?.errors.map(({ at, error }) => [at, error]));
  return values.map((_, at): SampleResult => {
    const error = errors.get(at);
    return error === undefined ? { value: result?.results[at] ?? null } : { error };
  });
}
