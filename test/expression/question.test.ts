import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CompiledExpression } from '../../src/expression/compile.ts';
import { areSame } from '../../src/expression/question.ts';
import type { EvaluationRequest } from '../../src/expression/request.ts';
import { RequestWriter } from '../../src/expression/request-text.ts';
import { compiled } from './bed.ts';

const plain = compiled('value');
const second = compiled('value + 1');
const withPath = compiled('context.path + value');
const withName = compiled('context.virtualObject.metadata.name + value');
const withLabels = compiled('context.virtualObject.metadata.labels.app + context.virtualObject.metadata.labels.team');
const withHost = compiled('context.hostObject.metadata.annotations.owner');
const withWhole = compiled('value + JSON.stringify(context.virtualObject.metadata.labels)');

/** Few of everything, so that two of them are often the same, or nearly. */
const value = fc.constantFrom<unknown>('a', 'b', '', '1', 1, 0, null, true, { a: 1 }, { a: 2 }, [1]);
const labels = fc.constantFrom<unknown>({}, { app: 'a' }, { team: 'a' }, { app: 'a', team: 'a' }, 'a', null, ['a']);
const object = fc.oneof(
  fc.constantFrom<unknown>(null, {}, { metadata: 'a' }, { metadata: null }, ['a'], 'a'),
  fc.record(
    {
      metadata: fc.record(
        { name: fc.constantFrom<unknown>('a', null, {}), labels, annotations: labels },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  ),
);

function request(expressions: readonly CompiledExpression[]) {
  const group = fc
    .record({
      expression: fc.constantFrom(...expressions),
      values: fc.array(value, { maxLength: 2 }),
      paths: fc.option(fc.array(fc.constantFrom('a', 'b'), { minLength: 2, maxLength: 2 }), { nil: undefined }),
      isMissing: fc.boolean(),
    })
    .map(({ isMissing, ...rest }) => ({
      ...rest,
      missing: isMissing && rest.values.length > 0 ? new Set([0]) : undefined,
    }));
  return fc.record({ hostObject: object, virtualObject: object, groups: fc.array(group, { maxLength: 2 }) });
}

/** One that is often like another in all but one thing. */
function pairs(expressions: readonly CompiledExpression[]) {
  const one = request(expressions);
  const other = fc.record({
    part: fc.constantFrom('hostObject', 'virtualObject', 'groups' as const),
    from: one,
  });
  return fc.tuple(one, other).map(([first, { part, from }]) => [first, { ...first, [part]: from[part] }] as const);
}

const path = 'a/b/'.repeat(10);
const filling = 'x'.repeat(2_000);
const nameOf = (serial: number) => createHash('sha256').update(`${serial}`).digest('hex').slice(0, 24);

function asked(
  objects: Pick<EvaluationRequest, 'hostObject' | 'virtualObject'>,
  ...groups: [CompiledExpression, ...unknown[]][]
) {
  return { ...objects, groups: groups.map(([expression, ...values]) => ({ expression, values })) };
}

describe('what an answer is remembered by', () => {
  it.each([
    ['values and paths', [plain, withPath]],
    ['names of an object', [plain, withName]],
    ['more than one key of an object', [withName, withLabels, withHost]],
    ['whole maps', [plain, withLabels, withWhole]],
  ])('is the same for two requests when the sandbox is told the same: %s', (_what, expressions) => {
    const writer = new RequestWriter(expressions);
    fc.assert(
      fc.property(pairs(expressions), ([one, other]) => {
        const isSame = areSame(writer.questionOf(one).parts, writer.questionOf(other).parts);
        expect(isSame).toBe(writer.textOf(one) === writer.textOf(other));
      }),
      { numRuns: Number(process.env['HOSTWARD_FC_RUNS'] ?? 1_000) },
    );
  });

  const none = { hostObject: null, virtualObject: null };
  const named = (name: unknown) => ({ hostObject: null, virtualObject: { metadata: { name } } });
  it.each<[what: string, one: EvaluationRequest, other: EvaluationRequest]>([
    ['numbers and texts', asked(none, [plain, 1]), asked(none, [plain, '1'])],
    [
      'null and a number that JSON cannot hold',
      asked(none, [plain, null]),
      asked(none, [plain, Number.POSITIVE_INFINITY]),
    ],
    // The number of `second` is 1.
    ['a value and an expression', asked(none, [plain, 'a', 1, 0]), asked(none, [plain, 'a'], [second, 0])],
    ['an object and its name', asked(none, [withName, 'a']), asked(named(null), [withName, 'a'])],
    ['null and nothing', asked(named(null), [withName, 'a']), asked(named(undefined), [withName, 'a'])],
  ])('are not mistaken for each other: %s', (_what, one, other) => {
    const writer = new RequestWriter([plain, second, withName]);
    expect(areSame(writer.questionOf(one).parts, writer.questionOf(other).parts)).toBe(false);
  });

  it.each<[what: string, values: (serial: number) => unknown[], expression?: CompiledExpression]>([
    ['names that end alike', (serial) => [`web-${serial}-7d9f8b6c5`, 'http']],
    ['addresses of hosts that are alike', (serial) => [`https://db-${serial}.internal.svc.cluster.local:5432/${path}`]],
    ['names in long texts', (serial) => [`${filling}${nameOf(serial)}${filling}`]],
    ['addresses', (serial) => Array.from({ length: 3 }, (_, at) => `10.${serial >> 8}.${serial & 255}.${at}`)],
    ['long lists', (serial) => Array.from({ length: 1_000 }, (_, at) => `10.${serial >> 8}.${serial & 255}.${at}`)],
    [
      'lists with paths',
      (serial) => Array.from({ length: 100 }, (_, at) => `10.${serial >> 8}.${serial & 255}.${at}`),
      withPath,
    ],
    ['numbers', (serial) => [serial, 80]],
    ['fractions', (serial) => [serial / 100_000]],
    ['large numbers', (serial) => [serial * 2 ** 32]],
  ])('seldom has its place with others: %s', (_what, valuesOf, expression = plain) => {
    const writer = new RequestWriter([expression]);
    const keys = Array.from({ length: 1_000 }, (_, serial) => {
      const groups = [{ expression, values: valuesOf(1_000 + serial) }];
      return writer.questionOf({ hostObject: null, virtualObject: null, groups }).key;
    });
    expect(new Set(keys).size).toBeGreaterThan(100);
  });
});
