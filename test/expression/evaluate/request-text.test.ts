import { expect, it } from 'vitest';
import type { EvaluationRequest, ValueGroup } from '../../../src/expression/evaluate/request.ts';
import { RequestWriter } from '../../../src/expression/evaluate/request-text.ts';
import { compiled } from '../evaluator-fixture.ts';

const sources = ['value', 'context.path', 'context.virtualObject.a', 'context.virtualObject.b', 'context.hostObject.c'];
const expressions = sources.map(compiled);
const writer = new RequestWriter(expressions);
const objects = { hostObject: { c: 3, d: 4 }, virtualObject: { a: 1, b: 2, d: 4 } };

const groupOf = (at: number, rest: Partial<ValueGroup> = {}): ValueGroup => ({
  expression: expressions[at] as ValueGroup['expression'],
  values: ['v'],
  ...rest,
});

const cases: [claim: string, groups: ValueGroup[], text: unknown[]][] = [
  ['numbers the expressions', [groupOf(0)], [null, null, 0, ['v']]],
  [
    'marks missing values',
    [groupOf(0, { values: ['v', 'w'], missing: new Set([1]), paths: ['p', 'q'] })],
    [null, null, -1, ['v', 'w'], [1, 0], 0],
  ],
  [
    'adds the path only for an expression that reads it',
    [groupOf(0, { paths: ['p'] }), groupOf(1, { paths: ['p'] })],
    [null, null, 0, ['v'], -2, ['v'], 0, ['p']],
  ],
  ['sends the fields of an object that any expression reads', [groupOf(2)], [null, { a: 1, b: 2 }, 2, ['v']]],
  ['sends an object only when a group reads it', [groupOf(4), groupOf(0)], [{ c: 3 }, null, 4, ['v'], 0, ['v']]],
];

it.each(cases)('textOf() %s', (_, groups, text) => {
  expect(JSON.parse(writer.textOf({ ...objects, groups }))).toEqual(text);
});

it('textOfOne() holds only the fields that the expression of the group reads', () => {
  const request: EvaluationRequest = { ...objects, groups: [groupOf(2), groupOf(3)] };
  expect(JSON.parse(writer.textOfOne(groupOf(2), request))).toEqual([null, { a: 1 }, 2, ['v']]);
});

it('textOf() refuses an expression of another configuration', () => {
  const groups = [{ expression: compiled('1'), values: ['v'] }];
  expect(() => writer.textOf({ ...objects, groups })).toThrow('wanted an expression of this configuration, found "1"');
});
