import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/clock.ts';
import { createExpressionMetrics } from '../../../../src/expression/evaluate/expression-metrics.ts';
import { compiled, evaluateOne, startEvaluator } from '../../evaluator-fixture.ts';
import { noObjects, openRecorded } from './stage.ts';

describe('evaluate()', () => {
  it('opens no sandbox without expressions', async () => {
    const evaluator = await startEvaluator({
      expressions: [],
      openSandbox: () => {
        throw new Error('opened');
      },
    });
    expect(await evaluator.evaluate({ ...noObjects, groups: [] })).toEqual([]);
  });

  it('sends all groups of an object in one request', async () => {
    const { evaluator, expressions, sandbox } = await openRecorded(['value + 1', '"x" + value']);
    const groups = expressions.map((expression, at) => ({ expression, values: [at, at + 1] }));
    const results = await evaluator.evaluate({ ...noObjects, groups });
    expect(results.map((result) => result.results)).toEqual([
      [1, 2],
      ['x1', 'x2'],
    ]);
    expect(sandbox.sent).toHaveLength(1);
  });

  it('remembers results, and returns new objects each time', async () => {
    const { evaluator, expressions, sandbox } = await openRecorded(['({a: [value]})']);
    const request = { ...noObjects, groups: [{ expression: expressions[0] as never, values: ['x', 'x'] }] };
    const [first] = await evaluator.evaluate(request);
    const [second] = await evaluator.evaluate(request);
    expect(sandbox.sent).toHaveLength(1);
    expect(second?.results).toEqual([{ a: ['x'] }, { a: ['x'] }]);
    expect(new Set([...(first?.results ?? []), ...(second?.results ?? [])]).size).toBe(4);
  });

  it('answers without a promise when it remembers every result', async () => {
    const { evaluator, expressions } = await openRecorded(['value + 1', '"x" + value']);
    const groups = expressions.map((expression) => ({ expression, values: [1] }));
    const first = evaluator.evaluate({ ...noObjects, groups });
    expect(first).toBeInstanceOf(Promise);
    const results = await first;
    expect(evaluator.evaluate({ ...noObjects, groups })).toEqual(results);
  });

  it('recalls an answer exactly when all inputs that the expression can see are the same', async () => {
    const source = 'value + context.virtualObject.metadata.name + valueExists + context.path';
    const { evaluator, expressions, sandbox } = await openRecorded([source]);
    const [expression] = expressions as [never];
    const virtualObject = { metadata: { name: 'n', resourceVersion: '1' }, spec: 1 };
    const ask = (inputs: object) =>
      evaluateOne(evaluator, expression, { value: 'v', virtualObject, path: 'p', ...inputs });
    expect(await ask({})).toEqual({ value: 'vntruep' });
    await ask({ virtualObject: { metadata: { name: 'n', resourceVersion: '2' }, spec: 2 } });
    expect(sandbox.sent).toHaveLength(1);
    expect(await ask({ path: 'q' })).toEqual({ value: 'vntrueq' });
    expect(await ask({ valueExists: false })).toEqual({ value: 'vnfalsep' });
    expect(await ask({ virtualObject: { metadata: { name: 'm' } } })).toEqual({ value: 'vmtruep' });
    expect(await ask({ value: 'v\np' })).toEqual({ value: 'v\npntruep' });
    expect(sandbox.sent).toHaveLength(5);
  });

  it('sends only the parts of the context that an expression names', async () => {
    const { evaluator, expressions, sandbox } = await openRecorded([
      'context.virtualObject.a.b',
      'context.vcluster.config.a.b',
      'value',
    ]);
    expect(sandbox.setup.vcluster).toBe('{"config":{"a":{"b":"c"}}}');
    const groups = expressions.map((expression) => ({ expression, values: ['v'] }));
    await evaluator.evaluate({ hostObject: { secret: 1 }, virtualObject: { a: { b: 1, c: 2 }, d: 3 }, groups });
    expect(sandbox.sent[0]).toContain('[null,{"a":{"b":1}},');
  });

  it('gives equal values of a list equal results, and each of them an object of its own', async () => {
    const { evaluator, expressions } = await openRecorded(['value === "b" ? [value] : "x" + value']);
    const values = Array.from({ length: 100 }, (_, at) => (at % 3 === 0 ? 'b' : 'a'));
    const [result] = await evaluator.evaluate({
      ...noObjects,
      groups: [{ expression: expressions[0] as never, values }],
    });
    expect(result?.results).toEqual(values.map((value) => (value === 'b' ? ['b'] : 'xa')));
    const objects = result?.results.filter((each) => typeof each === 'object');
    expect(new Set(objects).size).toBe(34);
  });

  it('reports errors at the values that failed and keeps the other results', async () => {
    const { evaluator, expressions } = await openRecorded(['value.trim()', 'value']);
    const [expression, other] = expressions as [never, never];
    const groups = [
      { expression, values: [' a ', 1, ' b '] },
      { expression: other, values: [1] },
    ];
    const [result, untouched] = await evaluator.evaluate({ ...noObjects, groups });
    expect(result?.results).toEqual(['a', 1, 'b']);
    expect(result?.errors).toEqual([{ at: 1, error: { kind: 'threw', message: 'value.trim is not a function' } }]);
    expect(untouched).toEqual({ results: [1], errors: [] });
  });

  it('quotes a key from the source of the expression, and only the beginning of a key from a value', async () => {
    const { evaluator, expressions } = await openRecorded([
      'context.virtualObject[value.slice(1)].x',
      'value.missing.deep',
      'String.fromCodePoint(Number(value.slice(1)))',
    ]);
    const messages: unknown[] = [];
    for (const [at, value] of ['xhunter2-hunter2', 'xkey', 'x', 'x99999999'].entries()) {
      const expression = expressions[[0, 0, 1, 2][at] as number] as never;
      const outcome = await evaluateOne(evaluator, expression, { value });
      messages.push('error' in outcome ? outcome.error.message : outcome);
    }
    expect(messages).toEqual([
      "Cannot read properties of null (reading 'hu…')",
      "Cannot read properties of null (reading '…')",
      "Cannot read properties of undefined (reading 'deep')",
      'Invalid code point',
    ]);
  });

  it('keeps no state from one evaluation to the next', async () => {
    const { evaluator, expressions } = await openRecorded([
      '(value.seen = (value.seen ?? 0) + 1, value)',
      '((o) => { o.n = (o.n || 0) + 1; return o.n })(/x/g)',
    ]);
    for (const expected of [1, 1]) {
      for (const value of [{}, { a: 1 }]) {
        expect(await evaluateOne(evaluator, expressions[0] as never, { value })).toMatchObject({
          value: { seen: expected },
        });
      }
      expect(await evaluateOne(evaluator, expressions[1] as never, { value: String(Math.random()) })).toEqual({
        value: 1,
      });
    }
  });

  it('leaves the given values unchanged', async () => {
    const { evaluator, expressions } = await openRecorded(['(value.a = 2, value)']);
    const value = { a: 1 };
    const [result] = await evaluator.evaluate({
      ...noObjects,
      groups: [{ expression: expressions[0] as never, values: [value] }],
    });
    expect([value, result?.results[0]]).toEqual([{ a: 1 }, { a: 2 }]);
  });

  it('refuses values beyond the size of a request', async () => {
    const { evaluator, expressions, sandbox } = await openRecorded(['value']);
    const values = Array.from({ length: 20 }, (_, at) => `${at}`.repeat(200_000));
    const [result] = await evaluator.evaluate({
      ...noObjects,
      groups: [{ expression: expressions[0] as never, values }],
    });
    expect(result?.errors).toHaveLength(20);
    expect(result?.errors[0]?.error.kind).toBe('size');
    expect(sandbox.sent).toEqual([]);
  });
});

describe('metrics', () => {
  it('count outcomes, and start at zero', async () => {
    const registry = new Registry();
    const metrics = createExpressionMetrics(registry);
    const { evaluator, expressions } = await openRecorded(['value.x.y'], { metrics, clock: systemClock });
    expect(await registry.metrics()).toContain('hostward_expression_evaluations_total{outcome="memory"} 0');
    await evaluateOne(evaluator, expressions[0] as never, { value: {} });
    await evaluateOne(evaluator, expressions[0] as never, { value: { x: {} } });
    await evaluateOne(evaluator, expressions[0] as never, { value: { x: {} } });
    const text = await registry.metrics();
    expect(text).toContain('hostward_expression_evaluations_total{outcome="threw"} 1');
    expect(text).toContain('hostward_expression_evaluations_total{outcome="value"} 1');
    expect(text).toContain('hostward_expression_remembered_total 1');
  });
});

describe('more values than array methods accept', () => {
  const values = Array.from({ length: 150_000 }, () => '');
  const groupOf = async (source: string) => {
    const expression = compiled(source);
    const evaluator = await startEvaluator({ expressions: [expression], softMs: 20_000 });
    const group = { expression, values, missing: new Set([0]) };
    const [result] = await evaluator.evaluate({ hostObject: null, virtualObject: null, groups: [group] });
    return result;
  };

  it('fail for their size when all their results together are too large', async () => {
    const { errors = [] } = (await groupOf('"\\u0001".repeat(9)')) ?? {};
    expect(errors.length).toBe(values.length);
    expect(errors[149_999]).toMatchObject({ at: 149_999, error: { kind: 'size', message: /all results/ } });
  });

  it('fail one by one when all of them throw', async () => {
    const { errors = [] } = (await groupOf('null.x')) ?? {};
    expect(errors.length).toBe(values.length);
    expect(errors[149_999]?.error.kind).toMatch(/^(size|threw)$/);
  });

  it('fail only where a result holds half a surrogate pair', async () => {
    const result = await groupOf('valueExists ? "x" : "\\ud800"');
    expect(result?.errors).toMatchObject([{ at: 0, error: { kind: 'type' } }]);
    expect(result?.results[149_999]).toBe('x');
  });
});

describe('an answer', () => {
  const answers = [
    '',
    'x',
    '{}',
    '[]',
    '[[]]',
    '[[0,[],[]]]',
    '[[[0],[],[]]]',
    '[[[1],["x"],[]]]',
    '[[[0.5],["x"],[]]]',
    '[[["0"],["x"],[]]]',
    '[[[],[],[[0,"other","m"]]]]',
    '[[[],[],[[0,"threw",1]]]]',
    '[[[],[],[[-1,"threw","m"]]]]',
    '[[[],[],[]],[[],[],[]]]',
    '[[[],["x"],"too large"]]',
    '[null]',
  ];
  it.each(answers)('of another shape is refused: %s', async (text) => {
    const { evaluator, expressions, sandbox } = await openRecorded(['value']);
    sandbox.answers = [{ kind: 'answer', text }];
    expect(await evaluateOne(evaluator, expressions[0] as never, { value: 'v' })).toMatchObject({
      error: { kind: 'crash' },
    });
  });
});
