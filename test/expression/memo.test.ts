import { describe, expect, it } from 'vitest';
import { Memo, question } from '../../src/expression/memo.ts';

type Asked = [values: unknown[], extra?: string];
const ask = ([values, extra = '']: Asked) => question(values, extra);

function memory(options?: { entries?: number; chars?: number }) {
  const memo = new Memo(options);
  const shelf = memo.shelf();
  return {
    keep: (asked: Asked, results: unknown[]) => memo.remember(shelf, ask(asked), results),
    recall: (asked: Asked) => memo.recall(shelf, ask(asked)),
    another: () => memo.shelf(),
    memo,
  };
}

const long = 'x'.repeat(64);
const alike: [Asked, Asked][] = [
  [[['a']], [['b']]],
  [[['a']], [['a'], 'seen']],
  [
    [['a'], 'seen'],
    [['a'], 'otherwise'],
  ],
  [[[1]], [['1']]],
  [[[null]], [['null']]],
  [[[true]], [['true']]],
  [[[{ a: 1 }]], [['[{"a":1}]']]],
  [[[{ a: 1 }]], [[{ a: 2 }]]],
  [[[{ a: 1 }]], [[{ a: 1 }], 'seen']],
  [[['a', 'b', 'c']], [['a', 'x', 'c']]],
  [[['a', 'c']], [['a', 'b', 'c']]],
  [[['a', 'b']], [['a']]],
  [[[`${long}1`, 'z']], [[`${long}2`, 'z']]],
  [[['z', `${long}1`]], [['z', `${long}2`]]],
  [
    [[`${long}1`], 'seen'],
    [[`${long}2`], 'seen'],
  ],
  [[['a|b']], [['a', 'b']]],
  [[[]], [['undefined|']]],
];

describe('what was asked', () => {
  it.each(alike)('%j is another question than %j', (one, other) => {
    for (const [first, second] of [
      [one, other],
      [other, one],
    ] as const) {
      const { keep, recall } = memory();
      keep(first, ['r']);
      expect(recall(second)).toBeUndefined();
      expect(recall(first)).toEqual(['r']);
      keep(second, ['s']);
      expect(recall(second)).toEqual(['s']);
      const small = memory({ entries: 2 });
      small.keep(first, ['r']);
      small.keep([['neither']], ['r']);
      expect(small.recall(second)).toBeUndefined();
    }
  });

  it('has a place of its own, however alike long texts are', () => {
    const { keep, recall } = memory();
    const texts = Array.from({ length: 20 }, (_, at) => `${long}${long}web-${10 + at}${long}${long}${long}`);
    for (const text of texts) keep([[text]], [text]);
    expect(texts.filter((text) => recall([[text]]) === undefined)).toEqual([]);
  });

  it('is answered from its own shelf', () => {
    const { keep, memo, another } = memory();
    keep([['a']], ['r']);
    expect(memo.recall(another(), ask([['a']]))).toBeUndefined();
  });

  it('is known again when its list has changed since', () => {
    for (const length of [2, 16]) {
      const { keep, recall } = memory();
      const values: unknown[] = Array(length).fill('a');
      keep([values], ['r']);
      values[0] = 'other';
      expect(recall([Array(length).fill('a')])).toEqual(['r']);
    }
  });
});

describe('what is remembered', () => {
  it('are the results, with new objects each time', () => {
    const { keep, recall } = memory();
    const results = ['text', 1, true, null, { a: [1] }, [2]];
    keep([[1, 2, 3, 4, 5, 6]], results);
    const [first, second] = [recall([[1, 2, 3, 4, 5, 6]]), recall([[1, 2, 3, 4, 5, 6]])];
    expect([first, second]).toEqual([results, results]);
    expect(first?.[4]).not.toBe(second?.[4]);
    expect(first?.[4]).not.toBe(results[4]);
  });

  it('goes when it was not asked for during a generation, and stays otherwise', () => {
    const { keep, recall } = memory({ entries: 4 });
    keep([['a']], ['1']);
    keep([['b']], ['2']);
    keep([['c']], ['3']);
    expect(recall([['a']])).toEqual(['1']);
    keep([['d']], ['4']);
    expect([recall([['a']]), recall([['b']]), recall([['c']]), recall([['d']])]).toEqual([
      ['1'],
      undefined,
      ['3'],
      ['4'],
    ]);
  });

  it.each<[what: string, asked: Asked, results: unknown[]]>([
    ['a value', [['x'.repeat(100)]], ['r']],
    ['what was seen', [['a'], 'x'.repeat(100)], ['r']],
    ['a value that is an object', [[{ a: 'x'.repeat(100) }]], ['r']],
    ['a result', [['a']], ['x'.repeat(100)]],
    ['a result that is an object', [['a']], [{ a: 'x'.repeat(100) }]],
    ['a result beside an object', [['a', 'b']], [{}, 'x'.repeat(100)]],
  ])('is nothing with %s that is longer than there is room', (_what, asked, results) => {
    for (const [chars, isKept] of [
      [400, true],
      [190, false],
    ] as const) {
      const { keep, recall } = memory({ chars });
      keep(asked, results);
      expect(recall(asked)).toEqual(isKept ? results : undefined);
    }
  });

  it('is nothing of a list that is longer than there is room, and nothing without room', () => {
    for (const [entries, isKept] of [
      [6, true],
      [4, false],
      [0, false],
    ] as const) {
      const { keep, recall } = memory({ entries });
      keep([['a', 'b', 'c']], ['1', '2', '3']);
      expect(recall([['a', 'b', 'c']])).toEqual(isKept ? ['1', '2', '3'] : undefined);
      keep([[]], []);
      expect(recall([[]])).toEqual(entries > 0 ? [] : undefined);
    }
  });

  it('goes by the characters of all, too', () => {
    const { keep, recall } = memory({ chars: 100 });
    for (const key of ['a', 'b', 'c', 'd']) keep([[key.repeat(20)]], ['r'.repeat(20)]);
    expect(['a', 'b', 'c', 'd'].map((key) => recall([[key.repeat(20)]]) !== undefined)).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });
});
