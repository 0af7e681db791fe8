import fc from 'fast-check';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { createExpressionMetrics } from '../../../src/expression/evaluate/expression-metrics.ts';
import type { SandboxSetup } from '../../../src/expression/realm/harness.ts';
import type { Sandbox, SandboxOutcome } from '../../../src/expression/sandbox/sandbox.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { compiled, evaluateOne, run, startEvaluator } from '../evaluator-fixture.ts';
import { InProcessSandbox } from '../in-process-sandbox.ts';

/** Records the requests, and can answer in place of the sandbox. */
class RecordingSandbox implements Sandbox {
  readonly sent: string[] = [];
  readonly alone: boolean[] = [];
  readonly setup: SandboxSetup;
  readonly #inner: InProcessSandbox;
  answers: (SandboxOutcome | undefined)[] = [];

  constructor(setup: SandboxSetup) {
    this.setup = setup;
    this.#inner = new InProcessSandbox(setup);
  }

  start = () => this.#inner.start();
  stop = () => this.#inner.stop();

  async run(text: string, { alone = false } = {}): Promise<SandboxOutcome> {
    this.sent.push(text);
    this.alone.push(alone);
    return this.answers.shift() ?? this.#inner.run(text);
  }
}

async function openRecorded(sources: string[], options: Partial<Parameters<typeof startEvaluator>[0]> = {}) {
  const expressions = sources.map(compiled);
  let sandbox: RecordingSandbox | undefined;
  const openSandbox = (setup: SandboxSetup) => (sandbox = new RecordingSandbox(setup));
  const evaluator = await startEvaluator({ expressions, openSandbox, ...options });
  return { evaluator, expressions, sandbox: sandbox as unknown as RecordingSandbox };
}

const noObjects = { hostObject: null, virtualObject: null };

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

describe('an expression that runs out of time', () => {
  const timeout: SandboxOutcome = { kind: 'timeout' };

  it('has each group of the object tried by itself, so that only its own group fails', async () => {
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value', '"b" + value', '"c" + value']);
    sandbox.answers = [timeout, undefined, timeout];
    const results = await evaluator.evaluate({
      ...noObjects,
      groups: expressions.map((expression) => ({ expression, values: ['v'] })),
    });
    expect(results.map((result) => result.errors[0]?.error.kind ?? result.results[0])).toEqual(['av', 'timeout', 'cv']);
    expect(sandbox.sent).toHaveLength(4);
  });

  it('has only the failed value set aside, with pauses that double', async () => {
    const clock = new VirtualClock();
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value'], { clock });
    const ask = (value: string) => evaluateOne(evaluator, expressions[0] as never, { value });
    const failed = { error: { kind: 'timeout', message: expect.any(String), retryAfterMs: expect.any(Number) } };
    sandbox.answers = [timeout];
    expect(await ask('bad')).toEqual(failed);
    expect(await ask('good')).toEqual({ value: 'agood' });
    expect(await ask('bad')).toEqual({
      error: { kind: 'timeout', message: expect.stringContaining('set aside for a while'), retryAfterMs: 1_000 },
    });
    expect(sandbox.sent).toHaveLength(2);
    await clock.advance(1_001);
    sandbox.answers = [timeout];
    expect(await ask('bad')).toEqual(failed);
    await clock.advance(1_001);
    expect(await ask('bad')).toMatchObject({ error: { retryAfterMs: 999 } });
    await clock.advance(1_001);
    expect(await ask('bad')).toEqual({ value: 'abad' });
  });

  it('is set aside for all objects after failures on three objects in a row, until one succeeds', async () => {
    const clock = new VirtualClock();
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value', '"b" + value'], { clock });
    const ask = (value: string, at = 0) =>
      evaluateOne(evaluator, expressions[at] as never, { value, subject: `default/${value}` });
    expect(await ask('remembered')).toEqual({ value: 'aremembered' });
    sandbox.answers = Array.from({ length: 3 }, () => timeout);
    for (const value of ['one', 'two']) await ask(value);
    expect(evaluator.quarantined.expressions).toBe(0);
    await ask('three');
    expect(evaluator.quarantined).toEqual({ expressions: 1, values: 3 });
    expect(await ask('four')).toMatchObject({ error: { kind: 'timeout', retryAfterMs: 1_000 } });
    expect(await ask('remembered')).toEqual({ value: 'aremembered' });
    expect(await ask('four', 1)).toEqual({ value: 'bfour' });
    await clock.advance(1_001);
    expect(await ask('four')).toEqual({ value: 'afour' });
    expect(evaluator.quarantined.expressions).toBe(0);
  });

  it('leaves the other expressions of its object to be remembered', async () => {
    const clock = new VirtualClock();
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value', '"b" + value', '"c" + value'], {
      clock,
    });
    const groups = expressions.map((expression) => ({ expression, values: ['v'] }));
    const ask = async () =>
      (await evaluator.evaluate({ ...noObjects, groups })).map(({ results, errors }) => [results, errors[0]]);
    // The whole request times out, the first group succeeds alone, and the second group times out alone.
    sandbox.answers = [timeout, undefined, timeout];
    await ask();
    const setAside = { at: 0, error: expect.objectContaining({ kind: 'timeout', retryAfterMs: 1_000 }) };
    const expected = [
      [['av'], undefined],
      [['v'], setAside],
      [['cv'], undefined],
    ];
    expect(await ask()).toEqual(expected);
    expect(sandbox.sent).toHaveLength(5);
    expect(await ask()).toEqual(expected);
    expect(sandbox.sent).toHaveLength(5);
    // After the pause only the second group is sent; the results of the others are remembered.
    await clock.advance(1_001);
    sandbox.answers = [timeout];
    await ask();
    expect(sandbox.sent).toHaveLength(6);
  });

  it('is not set aside for all objects because of one object, however many bad values the object brings', async () => {
    const clock = new VirtualClock();
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value'], { clock });
    const ask = (subject: string, value: string) => evaluateOne(evaluator, expressions[0] as never, { value, subject });
    for (let at = 0; at < 40; at++) {
      sandbox.answers = [timeout];
      expect(await ask('default/evil', `bad ${at}`)).toMatchObject({ error: { kind: 'timeout' } });
      sandbox.answers = [];
      expect(await ask('default/good', `good ${at}`)).toEqual({ value: `agood ${at}` });
      await clock.advance(100);
    }
    // The first two values are tried once each, and one more value after each pause; the pauses double.
    expect(sandbox.sent.length - 40).toBeLessThan(12);
    expect(await ask('default/evil', 'harmless')).toMatchObject({
      error: { retryAfterMs: expect.any(Number), message: expect.stringContaining('set aside') },
    });
    await clock.advance(5_000);
    expect(await ask('default/evil', 'harmless')).toEqual({ value: 'aharmless' });
  });

  it('causes digests neither for other expressions, nor for values of another length, nor after it is forgotten', async () => {
    const clock = new VirtualClock();
    let digests = 0;
    const digestOf = (text: string) => {
      digests++;
      return text;
    };
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value', '"b" + value'], { clock, digestOf });
    const ask = (value: string, at = 0) =>
      evaluateOne(evaluator, expressions[at] as never, { value, subject: 'default/web' });
    sandbox.answers = [timeout];
    await ask('bad');
    expect(digests).toBeGreaterThan(0);
    digests = 0;
    for (let at = 0; at < 20; at++) await ask(`good ${at}`, 1);
    for (let at = 0; at < 20; at++) await ask(`a good value of another length ${at}`);
    expect(digests).toBe(0);
    await clock.advance(200_000);
    for (let at = 0; at < 20; at++) await ask(`${at + 100}`);
    expect(digests).toBe(0);
  });

  it('is counted by the metrics while it is set aside', async () => {
    const clock = new VirtualClock();
    const registry = new Registry();
    const metrics = createExpressionMetrics(registry);
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value'], { clock, metrics });
    metrics.quarantined(() => evaluator.quarantined);
    sandbox.answers = [timeout];
    await evaluateOne(evaluator, expressions[0] as never, { value: 'bad' });
    expect(await registry.metrics()).toContain('hostward_expression_quarantined{what="values"} 1');
    await clock.advance(1_001);
    expect(await registry.metrics()).toContain('hostward_expression_quarantined{what="values"} 0');
    expect(await registry.metrics()).toContain('hostward_expression_quarantined{what="expressions"} 0');
  });

  it('has a value that failed before sent alone, and only that value', async () => {
    const clock = new VirtualClock();
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value'], { clock });
    const ask = (value: string) => evaluateOne(evaluator, expressions[0] as never, { value });
    sandbox.answers = [timeout];
    await ask('bad');
    await clock.advance(1_001);
    await ask('bad');
    await ask('bed');
    expect(sandbox.alone).toEqual([false, true, false]);
  });

  it('is set aside for a second again when it fails after a quiet time', async () => {
    const clock = new VirtualClock();
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value'], { clock });
    const ask = (value: string) => evaluateOne(evaluator, expressions[0] as never, { value, subject: 'default/web' });
    for (const value of ['one', 'two', 'three']) {
      sandbox.answers = [timeout];
      expect(await ask(value)).toMatchObject({ error: { retryAfterMs: 1_000 } });
      await clock.advance(70_000);
    }
  });

  it('names the time of the next try when the sandbox is unavailable', async () => {
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value']);
    sandbox.answers = [{ kind: 'unavailable', message: 'the sandbox is not running' }];
    expect(await evaluateOne(evaluator, expressions[0] as never, { value: 'v' })).toEqual({
      error: { kind: 'crash', message: 'the sandbox is not running', retryAfterMs: 1_000 },
    });
  });

  it('ends after its time in a real isolate, and the next request succeeds', async () => {
    const expression = compiled('value === "bad" ? (() => { for (;;); })() : "a" + value');
    const evaluator = await startEvaluator({ expressions: [expression], softMs: 60 });
    const values = ['x', 'bad', 'y'];
    const [result] = await evaluator.evaluate({ ...noObjects, groups: [{ expression, values }] });
    expect(result?.errors.map(({ error }) => error.kind)).toEqual(['timeout', 'timeout', 'timeout']);
    expect(await evaluateOne(evaluator, expression, { value: 'x' })).toEqual({ value: 'ax' });
  });

  it('fails in the same way when it runs out of memory', async () => {
    const outcome = await run('(() => { const a = []; for (;;) a[a.length % 1e5] = [..."x".repeat(1e5)] })()');
    expect(outcome).toMatchObject({ error: { kind: expect.stringMatching(/memory|timeout/) } });
  });
});

describe('the memory of an evaluator', () => {
  it('stays within its entries and keeps a result that is asked for again', async () => {
    const { evaluator, expressions, sandbox } = await openRecorded(['"x" + value'], { memory: { entries: 20 } });
    const ask = (value: string) => evaluateOne(evaluator, expressions[0] as never, { value });
    for (let at = 0; at < 100; at++) {
      await ask(`v${at}`);
      expect(await ask('often')).toEqual({ value: 'xoften' });
    }
    expect(sandbox.sent).toHaveLength(101);
    await ask('v0');
    expect(sandbox.sent).toHaveLength(102);
  });

  it.each<[what: string, expression: string, value: unknown, likeIt: unknown]>([
    ['a number that does not change', 'value', Number.POSITIVE_INFINITY, null],
    ['a number in a value that fails', 'value.b.c', { a: [Number.POSITIVE_INFINITY] }, { a: [null] }],
  ])('distinguishes null from a number that JSON writes as null: %s', async (_what, source, value, likeIt) => {
    // JSON.parse() reads the number 1e400 of an object as Infinity.
    expect(JSON.stringify(value)).toBe(JSON.stringify(likeIt));
    for (const order of [
      [value, likeIt],
      [likeIt, value],
    ]) {
      const { evaluator, expressions, sandbox } = await openRecorded([source]);
      for (const each of [...order, ...order]) {
        const groups = [{ expression: expressions[0] as never, values: [each] }];
        expect((await evaluator.evaluate({ ...noObjects, groups }))[0]?.results).toEqual([each]);
      }
      expect(sandbox.sent).toHaveLength(3);
    }
  });

  it.each<[what: string, one: [at: number, ...values: unknown[]][], other: [at: number, ...values: unknown[]][]]>([
    ['numbers and texts', [[0, 1]], [[0, '1']]],
    ['null and its name', [[0, null]], [[0, 'null']]],
    ['booleans and texts', [[0, true]], [[0, 'true']]],
    ['one value and two', [[0, 'a","b']], [[0, 'a', 'b']]],
    [
      'a value and an expression',
      [[0, 'a', 1, 0]],
      [
        [0, 'a'],
        [1, 0],
      ],
    ],
    ['two expressions', [[0, 'a']], [[1, 'a']]],
    ['the order of values', [[0, 'a', 'b']], [[0, 'b', 'a']]],
    ['no group and a group without values', [], [[0]]],
  ])('distinguishes similar requests: %s', async (_what, one, other) => {
    const { evaluator, expressions } = await openRecorded(['[value, typeof value].join()', '"second " + value']);
    const ask = async (...groups: typeof one) => {
      const asked = groups.map(([at, ...values]) => ({ expression: expressions[at] as never, values }));
      return (await evaluator.evaluate({ ...noObjects, groups: asked })).map(({ results }) => results);
    };
    const alone = async (...groups: typeof one) => {
      const fresh = await openRecorded(['[value, typeof value].join()', '"second " + value'], {
        memory: { entries: 0 },
      });
      const asked = groups.map(([at, ...values]) => ({ expression: fresh.expressions[at] as never, values }));
      return (await fresh.evaluator.evaluate({ ...noObjects, groups: asked })).map(({ results }) => results);
    };
    await ask(...one);
    expect(await ask(...other)).toEqual(await alone(...other));
    expect(await ask(...one)).toEqual(await alone(...one));
  });

  it('gives the same results as the sandbox for every request', async () => {
    const sources = [
      'value',
      '"x" + value',
      'valueExists ? value : "made"',
      '({ at: context.path, value })',
      'value.a.b',
      'context.virtualObject.metadata.name + context.hostObject?.kind',
      'context.virtualObject.metadata.labels',
    ];
    const remembering = await openRecorded(sources, { memory: { entries: 200 } });
    const forgetful = await openRecorded(sources, { memory: { entries: 0 } });
    const value = fc.constantFrom<unknown>('a', '1', 1, 0, null, true, { a: { b: 1 } }, { a: 2 }, [1], 1 / 0);
    const labels = fc.constantFrom<unknown>({}, { app: 'a' }, null, ['a'], 'a');
    const object = fc.option(
      fc.record({
        kind: fc.constantFrom<unknown>('A', null),
        metadata: fc.record({ name: fc.constantFrom<unknown>('a', 'b', null, {}), labels }, { requiredKeys: [] }),
      }),
    );
    const group = fc.record({
      at: fc.nat(sources.length - 1),
      values: fc.array(value, { minLength: 1, maxLength: 2 }),
      paths: fc.constantFrom(['a', 'b'], ['b', 'a']),
      missing: fc.constantFrom(undefined, new Set([0])),
    });
    const request = fc.record({ hostObject: object, virtualObject: object, groups: fc.array(group, { maxLength: 2 }) });
    const numRuns = Number(process.env['HOSTWARD_FC_RUNS'] ?? 1_000);
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(request, async ({ groups, ...objects }) => {
        const askOf = ({ evaluator, expressions }: typeof forgetful) =>
          evaluator.evaluate({
            ...objects,
            groups: groups.map(({ at, ...rest }) => ({ expression: expressions[at] as never, ...rest })),
          });
        const wanted = await askOf(forgetful);
        expect(await askOf(remembering)).toEqual(wanted);
        const sent = remembering.sandbox.sent.length;
        expect(await askOf(remembering)).toEqual(wanted);
        if (remembering.sandbox.sent.length === sent) answered++;
      }),
      { numRuns },
    );
    expect(answered).toBeGreaterThan(numRuns / 2);
  });

  it('remembers errors and the good results beside them', async () => {
    const { evaluator, expressions, sandbox } = await openRecorded(['value.x.y', '"x" + value']);
    const groups = expressions.map((expression) => ({ expression, values: [{ x: { y: 1 } }, {}] }));
    const first = await evaluator.evaluate({ ...noObjects, groups });
    expect(first[0]?.errors).toEqual([{ at: 1, error: expect.objectContaining({ kind: 'threw' }) }]);
    expect(evaluator.evaluate({ ...noObjects, groups })).toEqual(first);
    expect(sandbox.sent).toHaveLength(1);
  });

  it('remembers the results of groups that are slow only together', async () => {
    const { evaluator, expressions, sandbox } = await openRecorded(['"a" + value', '"b" + value', '"c" + value']);
    const groups = expressions.map((expression) => ({ expression, values: ['v'] }));
    sandbox.answers = [{ kind: 'timeout' }];
    const first = await evaluator.evaluate({ ...noObjects, groups });
    expect(sandbox.sent).toHaveLength(4);
    expect(evaluator.evaluate({ ...noObjects, groups })).toEqual(first);
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
