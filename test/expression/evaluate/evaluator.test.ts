import fc from 'fast-check';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { createExpressionMetrics } from '../../../src/expression/evaluate/expression-metrics.ts';
import type { SandboxSetup } from '../../../src/expression/realm/harness.ts';
import type { Sandbox, SandboxOutcome } from '../../../src/expression/sandbox/sandbox.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { compiled, evaluateOne, evaluator, run } from '../fixture.ts';
import { InProcessSandbox } from '../in-process-sandbox.ts';

/** Counts and shows what is sent, and can answer in place of the sandbox. */
class Tap implements Sandbox {
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

async function tapped(sources: string[], options: Partial<Parameters<typeof evaluator>[0]> = {}) {
  const expressions = sources.map(compiled);
  let tap: Tap | undefined;
  const openSandbox = (setup: SandboxSetup) => (tap = new Tap(setup));
  const on = await evaluator({ expressions, openSandbox, ...options });
  return { on, expressions, tap: tap as unknown as Tap };
}

const none = { hostObject: null, virtualObject: null };

describe('evaluate()', () => {
  it('opens no sandbox when there is no expression', async () => {
    const on = await evaluator({
      expressions: [],
      openSandbox: () => {
        throw new Error('opened');
      },
    });
    expect(await on.evaluate({ ...none, groups: [] })).toEqual([]);
  });

  it('sends all groups of an object in one request', async () => {
    const { on, expressions, tap } = await tapped(['value + 1', '"x" + value']);
    const groups = expressions.map((expression, at) => ({ expression, values: [at, at + 1] }));
    const results = await on.evaluate({ ...none, groups });
    expect(results.map((result) => result.results)).toEqual([
      [1, 2],
      ['x1', 'x2'],
    ]);
    expect(tap.sent).toHaveLength(1);
  });

  it('remembers results, and hands out objects that nobody else holds', async () => {
    const { on, expressions, tap } = await tapped(['({a: [value]})']);
    const request = { ...none, groups: [{ expression: expressions[0] as never, values: ['x', 'x'] }] };
    const [first] = await on.evaluate(request);
    const [second] = await on.evaluate(request);
    expect(tap.sent).toHaveLength(1);
    expect(second?.results).toEqual([{ a: ['x'] }, { a: ['x'] }]);
    expect(new Set([...(first?.results ?? []), ...(second?.results ?? [])]).size).toBe(4);
  });

  it('answers at once when it remembers everything', async () => {
    const { on, expressions } = await tapped(['value + 1', '"x" + value']);
    const groups = expressions.map((expression) => ({ expression, values: [1] }));
    const first = on.evaluate({ ...none, groups });
    expect(first).toBeInstanceOf(Promise);
    const results = await first;
    expect(on.evaluate({ ...none, groups })).toEqual(results);
  });

  it('tells apart by what an expression can see, and by nothing else', async () => {
    const source = 'value + context.virtualObject.metadata.name + valueExists + context.path';
    const { on, expressions, tap } = await tapped([source]);
    const [expression] = expressions as [never];
    const virtualObject = { metadata: { name: 'n', resourceVersion: '1' }, spec: 1 };
    const ask = (inputs: object) => evaluateOne(on, expression, { value: 'v', virtualObject, path: 'p', ...inputs });
    expect(await ask({})).toEqual({ value: 'vntruep' });
    await ask({ virtualObject: { metadata: { name: 'n', resourceVersion: '2' }, spec: 2 } });
    expect(tap.sent).toHaveLength(1);
    expect(await ask({ path: 'q' })).toEqual({ value: 'vntrueq' });
    expect(await ask({ valueExists: false })).toEqual({ value: 'vnfalsep' });
    expect(await ask({ virtualObject: { metadata: { name: 'm' } } })).toEqual({ value: 'vmtruep' });
    expect(await ask({ value: 'v\np' })).toEqual({ value: 'v\npntruep' });
    expect(tap.sent).toHaveLength(5);
  });

  it('sends of the context what is named and no more', async () => {
    const { on, expressions, tap } = await tapped([
      'context.virtualObject.a.b',
      'context.vcluster.config.a.b',
      'value',
    ]);
    expect(tap.setup.vcluster).toBe('{"config":{"a":{"b":"c"}}}');
    const groups = expressions.map((expression) => ({ expression, values: ['v'] }));
    await on.evaluate({ hostObject: { secret: 1 }, virtualObject: { a: { b: 1, c: 2 }, d: 3 }, groups });
    expect(tap.sent[0]).toContain('[null,{"a":{"b":1}},');
  });

  it('gives equal values of a list equal results, and each object to one of them alone', async () => {
    const { on, expressions } = await tapped(['value === "b" ? [value] : "x" + value']);
    const values = Array.from({ length: 100 }, (_, at) => (at % 3 === 0 ? 'b' : 'a'));
    const [result] = await on.evaluate({ ...none, groups: [{ expression: expressions[0] as never, values }] });
    expect(result?.results).toEqual(values.map((value) => (value === 'b' ? ['b'] : 'xa')));
    const objects = result?.results.filter((each) => typeof each === 'object');
    expect(new Set(objects).size).toBe(34);
  });

  it('reports errors at their values and leaves the others alone', async () => {
    const { on, expressions } = await tapped(['value.trim()', 'value']);
    const [expression, other] = expressions as [never, never];
    const groups = [
      { expression, values: [' a ', 1, ' b '] },
      { expression: other, values: [1] },
    ];
    const [result, untouched] = await on.evaluate({ ...none, groups });
    expect(result?.results).toEqual(['a', 1, 'b']);
    expect(result?.errors).toEqual([{ at: 1, error: { kind: 'threw', message: 'value.trim is not a function' } }]);
    expect(untouched).toEqual({ results: [1], errors: [] });
  });

  it('quotes no key that was made of a value, but what the expression names itself', async () => {
    const { on, expressions } = await tapped([
      'context.virtualObject[value.slice(1)].x',
      'value.missing.deep',
      'String.fromCodePoint(Number(value.slice(1)))',
    ]);
    const messages: unknown[] = [];
    for (const [at, value] of ['xhunter2-hunter2', 'xkey', 'x', 'x99999999'].entries()) {
      const expression = expressions[[0, 0, 1, 2][at] as number] as never;
      const outcome = await evaluateOne(on, expression, { value });
      messages.push('error' in outcome ? outcome.error.message : outcome);
    }
    expect(messages).toEqual([
      "Cannot read properties of null (reading 'hu…')",
      "Cannot read properties of null (reading '…')",
      "Cannot read properties of undefined (reading 'deep')",
      'Invalid code point',
    ]);
  });

  it('lets nothing of one evaluation be seen by the next', async () => {
    const { on, expressions } = await tapped([
      '(value.seen = (value.seen ?? 0) + 1, value)',
      '((o) => { o.n = (o.n || 0) + 1; return o.n })(/x/g)',
    ]);
    for (const expected of [1, 1]) {
      for (const value of [{}, { a: 1 }]) {
        expect(await evaluateOne(on, expressions[0] as never, { value })).toMatchObject({ value: { seen: expected } });
      }
      expect(await evaluateOne(on, expressions[1] as never, { value: String(Math.random()) })).toEqual({ value: 1 });
    }
  });

  it('keeps the values that it was given as they are', async () => {
    const { on, expressions } = await tapped(['(value.a = 2, value)']);
    const value = { a: 1 };
    const [result] = await on.evaluate({ ...none, groups: [{ expression: expressions[0] as never, values: [value] }] });
    expect([value, result?.results[0]]).toEqual([{ a: 1 }, { a: 2 }]);
  });

  it('refuses more than a request may hold', async () => {
    const { on, expressions, tap } = await tapped(['value']);
    const values = Array.from({ length: 20 }, (_, at) => `${at}`.repeat(200_000));
    const [result] = await on.evaluate({ ...none, groups: [{ expression: expressions[0] as never, values }] });
    expect(result?.errors).toHaveLength(20);
    expect(result?.errors[0]?.error.kind).toBe('size');
    expect(tap.sent).toEqual([]);
  });
});

describe('an expression that runs out of time', () => {
  const timeout: SandboxOutcome = { kind: 'timeout' };

  it('has each group of the object tried by itself, and only the guilty one fails', async () => {
    const { on, expressions, tap } = await tapped(['"a" + value', '"b" + value', '"c" + value']);
    tap.answers = [timeout, undefined, timeout];
    const results = await on.evaluate({
      ...none,
      groups: expressions.map((expression) => ({ expression, values: ['v'] })),
    });
    expect(results.map((result) => result.errors[0]?.error.kind ?? result.results[0])).toEqual(['av', 'timeout', 'cv']);
    expect(tap.sent).toHaveLength(4);
  });

  it('has its value set aside, with pauses that double, and no other value', async () => {
    const clock = new VirtualClock();
    const { on, expressions, tap } = await tapped(['"a" + value'], { clock });
    const ask = (value: string) => evaluateOne(on, expressions[0] as never, { value });
    const failed = { error: { kind: 'timeout', message: expect.any(String), retryAfterMs: expect.any(Number) } };
    tap.answers = [timeout];
    expect(await ask('bad')).toEqual(failed);
    expect(await ask('good')).toEqual({ value: 'agood' });
    expect(await ask('bad')).toEqual({
      error: { kind: 'timeout', message: expect.stringContaining('set aside for a while'), retryAfterMs: 1_000 },
    });
    expect(tap.sent).toHaveLength(2);
    await clock.advance(1_001);
    tap.answers = [timeout];
    expect(await ask('bad')).toEqual(failed);
    await clock.advance(1_001);
    expect(await ask('bad')).toMatchObject({ error: { retryAfterMs: 999 } });
    await clock.advance(1_001);
    expect(await ask('bad')).toEqual({ value: 'abad' });
  });

  it('is set aside as a whole when three objects in a row do it, until one succeeds', async () => {
    const clock = new VirtualClock();
    const { on, expressions, tap } = await tapped(['"a" + value', '"b" + value'], { clock });
    const ask = (value: string, at = 0) =>
      evaluateOne(on, expressions[at] as never, { value, subject: `default/${value}` });
    expect(await ask('remembered')).toEqual({ value: 'aremembered' });
    tap.answers = Array.from({ length: 3 }, () => timeout);
    for (const value of ['one', 'two']) await ask(value);
    expect(on.quarantined.expressions).toBe(0);
    await ask('three');
    expect(on.quarantined).toEqual({ expressions: 1, values: 3 });
    expect(await ask('four')).toMatchObject({ error: { kind: 'timeout', retryAfterMs: 1_000 } });
    expect(await ask('remembered')).toEqual({ value: 'aremembered' });
    expect(await ask('four', 1)).toEqual({ value: 'bfour' });
    await clock.advance(1_001);
    expect(await ask('four')).toEqual({ value: 'afour' });
    expect(on.quarantined.expressions).toBe(0);
  });

  it('leaves the other expressions of its object to be remembered', async () => {
    const clock = new VirtualClock();
    const { on, expressions, tap } = await tapped(['"a" + value', '"b" + value', '"c" + value'], { clock });
    const groups = expressions.map((expression) => ({ expression, values: ['v'] }));
    const ask = async () => (await on.evaluate({ ...none, groups })).map(({ results, errors }) => [results, errors[0]]);
    // All together, the first by itself, and the second one in vain.
    tap.answers = [timeout, undefined, timeout];
    await ask();
    const setAside = { at: 0, error: expect.objectContaining({ kind: 'timeout', retryAfterMs: 1_000 }) };
    const expected = [
      [['av'], undefined],
      [['v'], setAside],
      [['cv'], undefined],
    ];
    expect(await ask()).toEqual(expected);
    expect(tap.sent).toHaveLength(5);
    expect(await ask()).toEqual(expected);
    expect(tap.sent).toHaveLength(5);
    // Only the second one, when its pause is over; what the others come to is known.
    await clock.advance(1_001);
    tap.answers = [timeout];
    await ask();
    expect(tap.sent).toHaveLength(6);
  });

  it('is not set aside for all objects by the values of one, however many it brings', async () => {
    const clock = new VirtualClock();
    const { on, expressions, tap } = await tapped(['"a" + value'], { clock });
    const ask = (subject: string, value: string) => evaluateOne(on, expressions[0] as never, { value, subject });
    for (let at = 0; at < 40; at++) {
      tap.answers = [timeout];
      expect(await ask('default/evil', `bad ${at}`)).toMatchObject({ error: { kind: 'timeout' } });
      tap.answers = [];
      expect(await ask('default/good', `good ${at}`)).toEqual({ value: `agood ${at}` });
      await clock.advance(100);
    }
    // One try of the first two values each, and one more of each when a pause is over, which doubles.
    expect(tap.sent.length - 40).toBeLessThan(12);
    expect(await ask('default/evil', 'harmless')).toMatchObject({
      error: { retryAfterMs: expect.any(Number), message: expect.stringContaining('set aside') },
    });
    await clock.advance(5_000);
    expect(await ask('default/evil', 'harmless')).toEqual({ value: 'aharmless' });
  });

  it('costs other expressions, other values and the time after it no digest', async () => {
    const clock = new VirtualClock();
    let digests = 0;
    const digestOf = (text: string) => {
      digests++;
      return text;
    };
    const { on, expressions, tap } = await tapped(['"a" + value', '"b" + value'], { clock, digestOf });
    const ask = (value: string, at = 0) => evaluateOne(on, expressions[at] as never, { value, subject: 'default/web' });
    tap.answers = [timeout];
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

  it('is told by the metrics while it is set aside', async () => {
    const clock = new VirtualClock();
    const registry = new Registry();
    const metrics = createExpressionMetrics(registry);
    const { on, expressions, tap } = await tapped(['"a" + value'], { clock, metrics });
    metrics.quarantined(() => on.quarantined);
    tap.answers = [timeout];
    await evaluateOne(on, expressions[0] as never, { value: 'bad' });
    expect(await registry.metrics()).toContain('hostward_expression_quarantined{what="values"} 1');
    await clock.advance(1_001);
    expect(await registry.metrics()).toContain('hostward_expression_quarantined{what="values"} 0');
    expect(await registry.metrics()).toContain('hostward_expression_quarantined{what="expressions"} 0');
  });

  it('asks for a value that could not be finished on before alone, and no other', async () => {
    const clock = new VirtualClock();
    const { on, expressions, tap } = await tapped(['"a" + value'], { clock });
    const ask = (value: string) => evaluateOne(on, expressions[0] as never, { value });
    tap.answers = [timeout];
    await ask('bad');
    await clock.advance(1_001);
    await ask('bad');
    await ask('fixture');
    expect(tap.alone).toEqual([false, true, false]);
  });

  it('is set aside for a second when it fails again after a quiet time, as at first', async () => {
    const clock = new VirtualClock();
    const { on, expressions, tap } = await tapped(['"a" + value'], { clock });
    const ask = (value: string) => evaluateOne(on, expressions[0] as never, { value, subject: 'default/web' });
    for (const value of ['one', 'two', 'three']) {
      tap.answers = [timeout];
      expect(await ask(value)).toMatchObject({ error: { retryAfterMs: 1_000 } });
      await clock.advance(70_000);
    }
  });

  it('says when a sandbox that is not there may be asked again', async () => {
    const { on, expressions, tap } = await tapped(['"a" + value']);
    tap.answers = [{ kind: 'unavailable', message: 'the sandbox is not running' }];
    expect(await evaluateOne(on, expressions[0] as never, { value: 'v' })).toEqual({
      error: { kind: 'crash', message: 'the sandbox is not running', retryAfterMs: 1_000 },
    });
  });

  it('really does, in an isolate', async () => {
    const expression = compiled('value === "bad" ? (() => { for (;;); })() : "a" + value');
    const on = await evaluator({ expressions: [expression], softMs: 60 });
    const values = ['x', 'bad', 'y'];
    const [result] = await on.evaluate({ ...none, groups: [{ expression, values }] });
    expect(result?.errors.map(({ error }) => error.kind)).toEqual(['timeout', 'timeout', 'timeout']);
    expect(await evaluateOne(on, expression, { value: 'x' })).toEqual({ value: 'ax' });
  });

  it('fails by memory too', async () => {
    const outcome = await run('(() => { const a = []; for (;;) a[a.length % 1e5] = [..."x".repeat(1e5)] })()');
    expect(outcome).toMatchObject({ error: { kind: expect.stringMatching(/memory|timeout/) } });
  });
});

describe('the memory of an evaluator', () => {
  it('stays within its entries and keeps what is asked for', async () => {
    const { on, expressions, tap } = await tapped(['"x" + value'], { memory: { entries: 20 } });
    const ask = (value: string) => evaluateOne(on, expressions[0] as never, { value });
    for (let at = 0; at < 100; at++) {
      await ask(`v${at}`);
      expect(await ask('often')).toEqual({ value: 'xoften' });
    }
    expect(tap.sent).toHaveLength(101);
    await ask('v0');
    expect(tap.sent).toHaveLength(102);
  });

  it.each<[what: string, expression: string, value: unknown, likeIt: unknown]>([
    ['a number that does not change', 'value', Number.POSITIVE_INFINITY, null],
    ['a number in a value that fails', 'value.b.c', { a: [Number.POSITIVE_INFINITY] }, { a: [null] }],
  ])('tells null from what JSON writes as null: %s', async (_what, source, value, likeIt) => {
    // The file of an object may say 1e400.
    expect(JSON.stringify(value)).toBe(JSON.stringify(likeIt));
    for (const order of [
      [value, likeIt],
      [likeIt, value],
    ]) {
      const { on, expressions, tap } = await tapped([source]);
      for (const each of [...order, ...order]) {
        const groups = [{ expression: expressions[0] as never, values: [each] }];
        expect((await on.evaluate({ ...none, groups }))[0]?.results).toEqual([each]);
      }
      expect(tap.sent).toHaveLength(3);
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
    ['none and one of no value', [], [[0]]],
  ])('tells requests apart that are alike: %s', async (_what, one, other) => {
    const { on, expressions } = await tapped(['[value, typeof value].join()', '"second " + value']);
    const ask = async (...groups: typeof one) => {
      const asked = groups.map(([at, ...values]) => ({ expression: expressions[at] as never, values }));
      return (await on.evaluate({ ...none, groups: asked })).map(({ results }) => results);
    };
    const alone = async (...groups: typeof one) => {
      const fresh = await tapped(['[value, typeof value].join()', '"second " + value'], { memory: { entries: 0 } });
      const asked = groups.map(([at, ...values]) => ({ expression: fresh.expressions[at] as never, values }));
      return (await fresh.on.evaluate({ ...none, groups: asked })).map(({ results }) => results);
    };
    await ask(...one);
    expect(await ask(...other)).toEqual(await alone(...other));
    expect(await ask(...one)).toEqual(await alone(...one));
  });

  it('says of every request what the sandbox says of it', async () => {
    const sources = [
      'value',
      '"x" + value',
      'valueExists ? value : "made"',
      '({ at: context.path, value })',
      'value.a.b',
      'context.virtualObject.metadata.name + context.hostObject?.kind',
      'context.virtualObject.metadata.labels',
    ];
    const remembering = await tapped(sources, { memory: { entries: 200 } });
    const forgetful = await tapped(sources, { memory: { entries: 0 } });
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
        const askOf = ({ on, expressions }: typeof forgetful) =>
          on.evaluate({
            ...objects,
            groups: groups.map(({ at, ...rest }) => ({ expression: expressions[at] as never, ...rest })),
          });
        const wanted = await askOf(forgetful);
        expect(await askOf(remembering)).toEqual(wanted);
        const sent = remembering.tap.sent.length;
        expect(await askOf(remembering)).toEqual(wanted);
        if (remembering.tap.sent.length === sent) answered++;
      }),
      { numRuns },
    );
    expect(answered).toBeGreaterThan(numRuns / 2);
  });

  it('knows what threw, and the good values beside it', async () => {
    const { on, expressions, tap } = await tapped(['value.x.y', '"x" + value']);
    const groups = expressions.map((expression) => ({ expression, values: [{ x: { y: 1 } }, {}] }));
    const first = await on.evaluate({ ...none, groups });
    expect(first[0]?.errors).toEqual([{ at: 1, error: expect.objectContaining({ kind: 'threw' }) }]);
    expect(on.evaluate({ ...none, groups })).toEqual(first);
    expect(tap.sent).toHaveLength(1);
  });

  it('knows what takes too long only together with others', async () => {
    const { on, expressions, tap } = await tapped(['"a" + value', '"b" + value', '"c" + value']);
    const groups = expressions.map((expression) => ({ expression, values: ['v'] }));
    tap.answers = [{ kind: 'timeout' }];
    const first = await on.evaluate({ ...none, groups });
    expect(tap.sent).toHaveLength(4);
    expect(on.evaluate({ ...none, groups })).toEqual(first);
  });
});

describe('metrics', () => {
  it('count outcomes, and start at zero', async () => {
    const registry = new Registry();
    const metrics = createExpressionMetrics(registry);
    const { on, expressions } = await tapped(['value.x.y'], { metrics, clock: systemClock });
    expect(await registry.metrics()).toContain('hostward_expression_evaluations_total{outcome="memory"} 0');
    await evaluateOne(on, expressions[0] as never, { value: {} });
    await evaluateOne(on, expressions[0] as never, { value: { x: {} } });
    await evaluateOne(on, expressions[0] as never, { value: { x: {} } });
    const text = await registry.metrics();
    expect(text).toContain('hostward_expression_evaluations_total{outcome="threw"} 1');
    expect(text).toContain('hostward_expression_evaluations_total{outcome="value"} 1');
    expect(text).toContain('hostward_expression_remembered_total 1');
  });
});

describe('more values than the methods of arrays take', () => {
  const values = Array.from({ length: 150_000 }, () => '');
  const groupOf = async (source: string) => {
    const expression = compiled(source);
    const on = await evaluator({ expressions: [expression], softMs: 20_000 });
    const group = { expression, values, missing: new Set([0]) };
    const [result] = await on.evaluate({ hostObject: null, virtualObject: null, groups: [group] });
    return result;
  };

  it('end as too large when all their results are', async () => {
    const { errors = [] } = (await groupOf('"\\u0001".repeat(9)')) ?? {};
    expect(errors.length).toBe(values.length);
    expect(errors[149_999]).toMatchObject({ at: 149_999, error: { kind: 'size', message: /all results/ } });
  });

  it('end as faults when all of them throw', async () => {
    const { errors = [] } = (await groupOf('null.x')) ?? {};
    expect(errors.length).toBe(values.length);
    expect(errors[149_999]?.error.kind).toMatch(/^(size|threw)$/);
  });

  it('are looked at one by one when a result holds half a surrogate pair', async () => {
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
  it.each(answers)('of another shape is none: %s', async (text) => {
    const { on, expressions, tap } = await tapped(['value']);
    tap.answers = [{ kind: 'answer', text }];
    expect(await evaluateOne(on, expressions[0] as never, { value: 'v' })).toMatchObject({ error: { kind: 'crash' } });
  });
});
