import { describe, expect, it } from 'vitest';
import { ListMemo } from '../../src/expression/list-memo.ts';

const long = 'x'.repeat(64);

describe('a list of values', () => {
  it.each<[one: unknown[], other: unknown[]]>([
    [['a'], ['b']],
    [[1], ['1']],
    [[null], ['null']],
    [[true], ['true']],
    [
      ['a', 'b', 'c'],
      ['a', 'x', 'c'],
    ],
    [
      ['a', 'c'],
      ['a', 'b', 'c'],
    ],
    [['a', 'b'], ['a']],
    [
      [`${long}1`, 'z'],
      [`${long}2`, 'z'],
    ],
    [
      ['z', `${long}1`],
      ['z', `${long}2`],
    ],
    [['a|b'], ['a', 'b']],
    [[], [undefined]],
  ])('%j is told from %j', (one, other) => {
    for (const [first, second] of [
      [one, other],
      [other, one],
    ] as const) {
      const memo = new ListMemo();
      memo.remember(0, first, ['r']);
      expect([memo.recall(0, second), memo.recall(0, [...first])]).toEqual([undefined, ['r']]);
      memo.remember(0, second, ['s']);
      expect([memo.recall(0, first), memo.recall(0, second)]).toEqual([['r'], ['s']]);
    }
  });

  it('is known on its own shelf only', () => {
    const memo = new ListMemo();
    memo.remember(0, ['a'], ['r']);
    expect([memo.recall(1, ['a']), memo.recall(0, ['a'])]).toEqual([undefined, ['r']]);
  });

  it('is not kept when there is an object in it', () => {
    const memo = new ListMemo();
    const values = ['a', {}, 'a'];
    memo.remember(0, values, ['r', 's', 't']);
    expect(memo.recall(0, values)).toBeUndefined();
  });

  it('counts by its values and results and by all their characters', () => {
    const [few, short] = [new ListMemo({ entries: 8 }), new ListMemo({ chars: 40 })];
    for (const [memo, list, isKept] of [
      [few, ['a', 'b'], true],
      [few, ['a', 'b', 'c'], false],
      [short, ['a'.repeat(10)], true],
      [short, ['a'.repeat(11)], false],
    ] as const) {
      memo.remember(0, list, list);
      expect(memo.recall(0, list) !== undefined).toBe(isKept);
    }
  });
});
