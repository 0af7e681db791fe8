import { describe, expect, it } from 'vitest';
import { readAnswers } from '../../src/expression/answer.ts';
import { realmLimits } from '../../src/expression/limits.ts';

/** Asked about one group of two values. */
const read = (answer: unknown) => readAnswers(JSON.stringify(answer), [2]);
const fault = (at: unknown, kind: unknown = 'threw', message: unknown = 'm', offset: unknown = -1) => [
  0,
  ['a', 'b'],
  [[at, kind, message, offset]],
];

describe('an answer of the sandbox', () => {
  it.each<[name: string, answer: [unknown, unknown[], unknown[]]]>([
    ['all values', [0, ['a', 'b'], []]],
    ['those that changed', [[1], ['b'], []]],
    ['none', [[], [], []]],
  ])('may have %s', (_name, [changed, results, faults]) => {
    expect(read([[changed, results, faults]])).toEqual([{ changed, results, faults }]);
  });

  it.each(['threw', 'size', 'type'])('may say of a value: %s', (kind) => {
    expect(read([fault(1, kind, 'm', 7)])?.[0]?.faults).toEqual([{ at: 1, kind, message: 'm', offset: 7 }]);
  });

  it('may say of all values at once that they are too large', () => {
    const said = { kind: 'size', message: 'm', offset: -1 };
    expect(read([[[], [], 'm']])).toEqual([
      { changed: [], results: [], faults: [0, 1].map((at) => ({ at, ...said })) },
    ]);
  });

  it('may hold results as deep as the realm makes them, and none that are deeper', () => {
    const nested = (levels: number) => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`;
    const answer = (levels: number) => readAnswers(`[[[1],[${nested(levels)}],[]]]`, [2]);
    expect(answer(realmLimits.resultDepth)?.[0]?.changed).toEqual([1]);
    expect(answer(realmLimits.resultDepth + 2)).toBeUndefined();
    expect(answer(200_000)).toBeUndefined();
  });

  it('is none when it is no JSON', () => {
    expect(readAnswers('[', [2])).toBeUndefined();
  });

  it.each<[name: string, answer: unknown]>([
    ['no list', { 0: [0, ['a', 'b'], []], length: 1 }],
    ['null', null],
    ['nothing for a group', []],
    [
      'more than was asked',
      [
        [0, ['a', 'b'], []],
        [0, [], []],
      ],
    ],
    ['a group that is none', [{ 0: 0, 1: ['a', 'b'], 2: [], length: 3 }]],
    ['a group that is null', [null]],
    ['a group with a part too few', [[0, ['a', 'b']]]],
    ['a group with a part too many', [[0, ['a', 'b'], [], 1]]],
    ['results that are no list', [[0, 'ab', []]]],
    ['faults that are no list', [[0, ['a', 'b'], { length: 0 }]]],
    ['a result too few', [[0, ['a'], []]]],
    ['a result too many', [[0, ['a', 'b', 'c'], []]]],
    ['changes that are no list', [['1', ['b'], []]]],
    ['more changes than results', [[[0, 1], ['a'], []]]],
    ['a change beyond the values', [[[2], ['c'], []]]],
    ['a change before them', [[[-1], ['c'], []]]],
    ['a change between them', [[[0.5], ['c'], []]]],
    ['a change that is no number', [[['length'], ['c'], []]]],
    ['a fault beyond the values', [fault(2)]],
    ['a fault before them', [fault(-1)]],
    ['a fault that is no list', [[0, ['a', 'b'], [{ 0: 0, 1: 'threw', 2: 'm', 3: 1 }]]]],
    ['a fault that is null', [[0, ['a', 'b'], [null]]]],
    ['a fault of another kind', [fault(0, 'crash')]],
    ['a fault without words', [fault(0, 'threw', null)]],
    ['a fault at no number', [fault(0, 'threw', 'm', '1')]],
    ['a fault between characters', [fault(0, 'threw', 'm', 0.5)]],
    ['a fault in too many words', [fault(0, 'threw', 'm'.repeat(201))]],
    ['words for all values, and a result', [[[0], ['a'], 'm']]],
    ['too many words for all values', [[[], [], 'm'.repeat(201)]]],
    ['words for all values, and no lists', [[0, [], 'm']]],
  ])('is none with %s', (_name, answer) => {
    expect(read(answer)).toBeUndefined();
  });
});
