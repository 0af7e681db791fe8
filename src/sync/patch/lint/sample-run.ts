// Runs an expression on samples, for those who judge a configuration before there is any object.

import type { EvaluationError } from '../../../expression/evaluate/evaluation-error.ts';
import type { Evaluator } from '../../../expression/evaluate/evaluator.ts';
import type { CompiledExpression } from '../../../expression/language/compile.ts';

export const sampleObject = {
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: { name: 'sample', namespace: 'default', labels: { app: 'web' }, annotations: { note: 'sample' } },
  subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ name: 'http', port: 80, protocol: 'TCP' }] }],
};

export type SampleResult = { value: unknown } | { error: EvaluationError };

export async function runOnSamples(
  evaluator: Evaluator,
  expression: CompiledExpression,
  { values, path }: { values: readonly unknown[]; path: string },
): Promise<SampleResult[]> {
  // A private copy: expressions may change the members of what they get.
  const group = { expression, values: structuredClone(values) as unknown[], paths: values.map(() => path) };
  const request = { hostObject: sampleObject, virtualObject: sampleObject, groups: [group] };
  const [result] = await evaluator.evaluate(request);
  const errors = new Map(result?.errors.map(({ at, error }) => [at, error]));
  return values.map((_, at): SampleResult => {
    const error = errors.get(at);
    return error === undefined ? { value: result?.results[at] ?? null } : { error };
  });
}
