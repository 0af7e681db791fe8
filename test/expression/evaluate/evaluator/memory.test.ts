import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evaluateOne } from '../../evaluator-fixture.ts';
import { noObjects, openRecorded } from './stage.ts';

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
