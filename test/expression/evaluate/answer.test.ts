import { describe, expect, it } from 'vitest';
import { readAnswers } from '../../../src/expression/evaluate/answer.ts';
import { realmLimits } from '../../../src/expression/limits.ts';

/** One group of two values. */
const asked = [{ values: ['x', 'y'] }];
const read = (answer: unknown) => readAnswers(JSON.stringify(answer), asked);
const empty: unknown[] = [];
const partial = (parts: { changed?: unknown; results?: unknown; faults?: unknown }) => [
  { changed: empty, results: empty, faults: empty, ...parts },
];
const fault = (at: unknown, kind: unknown = 'threw', message: unknown = 'm', offset: unknown = -1) =>
  partial({ faults: [[at, kind, message, offset]] });

describe('an answer of the sandbox', () => {
  it('may be a plain list of the results of all values', () => {
    expect(read([['a', 'b']])).toEqual([['a', 'b']]);
  });

  it.each<[name: string, parts: { changed: unknown[]; results: unknown[] }]>([
    ['all values', { changed: [0, 1], results: ['a', 'b'] }],
    ['the changed values', { changed: [1], results: ['b'] }],
    ['no value', { changed: [], results: [] }],
  ])('may hold the results of %s', (_name, parts) => {
    expect(read(partial(parts))).toEqual(partial(parts));
  });

  it.each(['threw', 'size', 'type'])('may report a fault of the kind %s for a value', (kind) => {
    expect(read(fault(1, kind, 'm', 7))).toEqual(partial({ faults: [{ at: 1, kind, message: 'm', offset: 7 }] }));
  });

  it('may report once that all values are too large', () => {
    const sizeFault = { kind: 'size', message: 'm', offset: -1 };
    expect(read(partial({ faults: 'm' }))).toEqual(partial({ faults: [0, 1].map((at) => ({ at, ...sizeFault })) }));
  });

  it.each(['all results', 'a result'])('may hold %s up to the depth limit of the realm, and no deeper', (name) => {
    const nested = (levels: number) => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`;
    const answer = (levels: number) =>
      name === 'a result'
        ? readAnswers(`[{"changed":[1],"results":[${nested(levels)}],"faults":[]}]`, asked)
        : readAnswers(`[[0,${nested(levels)}]]`, asked);
    expect(answer(realmLimits.resultDepth)).toBeDefined();
    expect(answer(realmLimits.resultDepth + 2)).toBeUndefined();
    expect(answer(200_000)).toBeUndefined();
  });

  it('is refused when it is not JSON', () => {
    expect(readAnswers('[', asked)).toBeUndefined();
  });

  it('is refused when it is longer than the limit of the realm', () => {
    const ofLength = (length: number) =>
      readAnswers(JSON.stringify([['x'.repeat(length - '[[""]]'.length)]]), [{ values: ['x'] }]);
    expect(ofLength(realmLimits.answer)).toBeDefined();
    expect(ofLength(realmLimits.answer + 1)).toBeUndefined();
  });

  it.each<[name: string, answer: unknown]>([
    ['an object that looks like a list', { 0: ['a', 'b'], length: 1 }],
    ['null', null],
    ['a missing group', []],
    ['more groups than the request', [['a', 'b'], []]],
    ['a group that is a text', ['ab']],
    ['a group that is null', [null]],
    ['a group that only looks like a list', [{ 0: 'a', 1: 'b', length: 2 }]],
    ['a group without faults', [{ changed: [], results: [] }]],
    ['a group with an unknown key', [{ changed: [], results: [], faults: [], more: 1 }]],
    ['a missing result', [['a']]],
    ['more results than values', [['a', 'b', 'c']]],
    ['results that are not a list', partial({ results: '' })],
    ['faults that are not a list', partial({ faults: { length: 0 } })],
    ['changes that are a text', partial({ changed: '1', results: ['b'] })],
    ['changes that are a number', partial({ changed: 0, results: ['a', 'b'] })],
    ['more changes than results', partial({ changed: [0, 1], results: ['a'] })],
    ['more results than changes', partial({ changed: [0], results: ['a', 'b'] })],
    ['a change beyond the values', partial({ changed: [2], results: ['c'] })],
    ['a negative change', partial({ changed: [-1], results: ['c'] })],
    ['a fractional change', partial({ changed: [0.5], results: ['c'] })],
    ['a change that is a text', partial({ changed: ['length'], results: ['c'] })],
    ['more faults than values', partial({ faults: Array(3).fill([0, 'threw', 'm', 1]) })],
    [
      'more changes and faults than values',
      partial({ changed: [0, 1], results: ['a', 'b'], faults: [[0, 'threw', 'm', 1]] }),
    ],
    ['a fault beyond the values', fault(2)],
    ['a fault at a negative index', fault(-1)],
    ['a fault that is an object', partial({ faults: [{ 0: 0, 1: 'threw', 2: 'm', 3: 1 }] })],
    ['a fault that is null', partial({ faults: [null] })],
    ['a fault of an unknown kind', fault(0, 'crash')],
    ['a fault without a message', fault(0, 'threw', null)],
    ['a fault with a text as offset', fault(0, 'threw', 'm', '1')],
    ['a fault with a fractional offset', fault(0, 'threw', 'm', 0.5)],
    ['a fault with a message that is too long', fault(0, 'threw', 'm'.repeat(201))],
    ['a message for all values beside a result', partial({ changed: [0], results: ['a'], faults: 'm' })],
    ['a message for all values that is too long', partial({ faults: 'm'.repeat(201) })],
    ['a message for all values without lists', partial({ changed: 0, faults: 'm' })],
  ])('is refused: %s', (_name, answer) => {
    expect(read(answer)).toBeUndefined();
  });
});
