import { describe, expect, it } from 'vitest';
import { compileExpression } from '../../src/expression/language/compile.ts';
import { lintExpression } from '../../src/expression/language/lint.ts';
import { type JsonMap, parsePath } from '../../src/expression/path/path.ts';
import { writeResults } from '../../src/expression/path/write-results.ts';
import { compiled, evaluateOne, fixture, type Inputs, startEvaluator } from './evaluator-fixture.ts';

interface Evaluation extends Inputs {
  expression: string;
  result?: unknown;
  error?: { kind: string; message: string };
}

/** Some cases reach a limit of the realm only after a million steps, and the machine may be busy. */
const softMs = 10_000;

describe('evaluate()', () => {
  const rows = fixture<Evaluation[]>('evaluations.json');
  const expressions = rows.map((row) => compiled(row.expression));

  it('gives the result or the error of each case', async () => {
    const evaluator = await startEvaluator({ expressions, softMs });
    for (const [at, row] of rows.entries()) {
      const outcome = await evaluateOne(evaluator, expressions[at] as (typeof expressions)[0], row);
      const expected =
        row.error === undefined
          ? { value: row.result }
          : { error: { kind: row.error.kind, message: expect.stringContaining(row.error.message) } };
      expect({ expression: row.expression, ...outcome }).toEqual({ expression: row.expression, ...expected });
    }
  });

  it('gives the same results in another order and in another isolate', async () => {
    const forwards = await startEvaluator({ expressions, softMs, memory: { entries: 0 } });
    const backwards = await startEvaluator({ expressions, softMs, memory: { entries: 0 } });
    const once = await Promise.all(rows.map((row, at) => evaluateOne(forwards, expressions[at] as never, row)));
    const reversed = await Promise.all(
      [...rows.entries()].reverse().map(([at, row]) => evaluateOne(backwards, expressions[at] as never, row)),
    );
    expect(reversed.reverse()).toEqual(once);
  });
});

interface Example {
  example: number | string;
  where: string;
  path: string;
  expression?: string;
  reverseExpression?: string;
  object: JsonMap;
  onMissing?: 'create';
  virtualObject?: JsonMap;
  documented: unknown;
  ours?: JsonMap;
  fault?: { message: string; fix: string };
  warns?: string[];
}

describe('the examples of the vCluster documentation', () => {
  const rows = fixture<Example[]>('vcluster-examples.json');
  it.each(rows.map((row) => [row.example, row.where, row] as const))('%s, %s', async (_, __, row) => {
    const text = row.expression ?? row.reverseExpression ?? '';
    const result = compileExpression(text);
    if (result.kind === 'faults') {
      const { message, fix } = result.faults[0];
      expect({ message, fix }).toEqual({
        message: expect.stringContaining(row.fault?.message ?? 'no fault'),
        fix: row.fault?.fix,
      });
      return;
    }
    expect(row.fault).toBeUndefined();
    const { expression } = result;
    const direction = row.expression === undefined ? 'back' : 'forward';
    const warnings = lintExpression(expression, { direction, onMissing: row.onMissing ?? 'skip' });
    expect(warnings.map(({ rule }) => rule)).toEqual(row.warns ?? []);
    const parsed = parsePath(row.path);
    if (parsed.kind === 'fault') throw new Error(parsed.message);
    const root = structuredClone(row.object);
    const matches = parsed.path.match(root, {
      createMissing: row.onMissing === 'create',
      withPaths: expression.usesPath,
    });
    const evaluator = await startEvaluator({ expressions: [expression] });
    const request = {
      hostObject: null,
      virtualObject: row.virtualObject ?? null,
      groups: [{ expression, ...matches }],
    };
    const [outcome] = await evaluator.evaluate(request);
    expect(outcome?.errors).toEqual([]);
    writeResults(matches, outcome?.results ?? []);
    expect(root).toEqual(row.ours);
  });

  it('give a reason where our result differs from the documentation', () => {
    const unexplained = rows.filter(
      (row) =>
        JSON.stringify(row.documented) !== JSON.stringify(row.ours) && !('why' in row) && row.fault === undefined,
    );
    expect(unexplained.map(({ example, where }) => `${example}, ${where}`)).toEqual(['28, 0.27-0.29 docs']);
  });
});
