import { describe, expect, it } from 'vitest';
import { readAnswers } from '../../../src/expression/evaluate/answer.ts';
import { realmLimits } from '../../../src/expression/limits.ts';

/** One group of two values. */
const asked = [{ values: ['x', 'y'] }];
const read = (answer: unknown) => readAnswers(JSON.stringify(answer), asked);
const none: unknown[] = [];
const other = (parts: { changed?: unknown; results?: unknown; faults?: unknown }) => [
  { changed: none, results: none, faults: none, ...parts },
];
const fault = (at: unknown, kind: unknown = 'threw', message: unknown = 'm', offset: unknown = -1) =>
  other({ faults: [[at, kind, message, offset]] });

describe('an answer of the sandbox', () => {
  it('may be the results of all values', () => {
    expect(read([['a', 'b']])).toEqual([['a', 'b']]);
  });

  it.each<[name: string, parts: { changed: unknown[]; results: unknown[] }]>([
    ['all values', { changed: [0, 1], results: ['a', 'b'] }],
    ['those that changed', { changed: [1], results: ['b'] }],
    ['none', { changed: [], results: [] }],
  ])('may be the results of %s', (_name, parts) => {
    expect(read(other(parts))).toEqual(other(parts));
  });

  it.each(['threw', 'size', 'type'])('may say of a value: %s', (kind) => {
    expect(read(fault(1, kind, 'm', 7))).toEqual(other({ faults: [{ at: 1, kind, message: 'm', offset: 7 }] }));
  });

  it('may say of all values at once that they are too large', () => {
    const said = { kind: 'size', message: 'm', offset: -1 };
    expect(read(other({ faults: 'm' }))).toEqual(other({ faults: [0, 1].map((at) => ({ at, ...said })) }));
  });

  it.each(['all results', 'a result'])('may hold %s as deep as the realm makes them, and none deeper', (name) => {
    const nested = (levels: number) => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`;
    const answer = (levels: number) =>
      name === 'a result'
        ? readAnswers(`[{"changed":[1],"results":[${nested(levels)}],"faults":[]}]`, asked)
        : readAnswers(`[[0,${nested(levels)}]]`, asked);
    expect(answer(realmLimits.resultDepth)).toBeDefined();
    expect(answer(realmLimits.resultDepth + 2)).toBeUndefined();
    expect(answer(200_000)).toBeUndefined();
  });

  it('is none when it is no JSON', () => {
    expect(readAnswers('[', asked)).toBeUndefined();
  });

  it('is none when it is longer than any that the realm writes', () => {
    const ofLength = (length: number) =>
      readAnswers(JSON.stringify([['x'.repeat(length - '[[""]]'.length)]]), [{ values: ['x'] }]);
    expect(ofLength(realmLimits.answer)).toBeDefined();
    expect(ofLength(realmLimits.answer + 1)).toBeUndefined();
  });

  it.each<[name: string, answer: unknown]>([
    ['no list', { 0: ['a', 'b'], length: 1 }],
    ['null', null],
    ['nothing for a group', []],
    ['more than was asked', [['a', 'b'], []]],
    ['a group that is none', ['ab']],
    ['a group that is null', [null]],
    ['a group that only looks like a list', [{ 0: 'a', 1: 'b', length: 2 }]],
    ['a group with a part too few', [{ changed: [], results: [] }]],
    ['a group with a part too many', [{ changed: [], results: [], faults: [], more: 1 }]],
    ['a result too few', [['a']]],
    ['a result too many', [['a', 'b', 'c']]],
    ['results that are no list', other({ results: '' })],
    ['faults that are no list', other({ faults: { length: 0 } })],
    ['changes that are no list', other({ changed: '1', results: ['b'] })],
    ['changes that are a number', other({ changed: 0, results: ['a', 'b'] })],
    ['more changes than results', other({ changed: [0, 1], results: ['a'] })],
    ['more results than changes', other({ changed: [0], results: ['a', 'b'] })],
    ['a change beyond the values', other({ changed: [2], results: ['c'] })],
    ['a change before them', other({ changed: [-1], results: ['c'] })],
    ['a change between them', other({ changed: [0.5], results: ['c'] })],
    ['a change that is no number', other({ changed: ['length'], results: ['c'] })],
    ['more faults than values', other({ faults: Array(3).fill([0, 'threw', 'm', 1]) })],
    [
      'more changes and faults than values',
      other({ changed: [0, 1], results: ['a', 'b'], faults: [[0, 'threw', 'm', 1]] }),
    ],
    ['a fault beyond the values', fault(2)],
    ['a fault before them', fault(-1)],
    ['a fault that is no list', other({ faults: [{ 0: 0, 1: 'threw', 2: 'm', 3: 1 }] })],
    ['a fault that is null', other({ faults: [null] })],
    ['a fault of another kind', fault(0, 'crash')],
    ['a fault without words', fault(0, 'threw', null)],
    ['a fault at no number', fault(0, 'threw', 'm', '1')],
    ['a fault between characters', fault(0, 'threw', 'm', 0.5)],
    ['a fault in too many words', fault(0, 'threw', 'm'.repeat(201))],
    ['words for all values, and a result', other({ changed: [0], results: ['a'], faults: 'm' })],
    ['too many words for all values', other({ faults: 'm'.repeat(201) })],
    ['words for all values, and no lists', other({ changed: 0, faults: 'm' })],
  ])('is none with %s', (_name, answer) => {
    expect(read(answer)).toBeUndefined();
  });
});
