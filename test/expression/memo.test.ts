import { describe, expect, it } from 'vitest';
import { Memo } from '../../src/expression/memo.ts';

/** Of texts, in few enough places for many of them to meet. */
function memory(options?: { entries?: number; chars?: number }) {
  const keyOf = (text: string) => text.length % 2;
  const memo = new Memo<string, string>({ keyOf, isSame: (known, asked) => known === asked }, options);
  return {
    keep: (asked: string, answer: string, entries = 1) =>
      memo.remember(asked, answer, { entries, chars: asked.length + answer.length }),
    recall: (asked: string) => memo.recall(asked),
  };
}

describe('what is remembered', () => {
  it('is the answer to the same question, whatever else has its place', () => {
    const { keep, recall } = memory();
    const asked = ['a', 'b', 'aa', 'bb', 'aaa'];
    for (const text of asked) keep(text, `answer to ${text}`);
    expect(asked.map(recall)).toEqual(asked.map((text) => `answer to ${text}`));
    expect(recall('c')).toBeUndefined();
  });

  it('takes the room of one, however often it is told', () => {
    const { keep, recall } = memory({ entries: 6 });
    for (const text of ['a', 'b', 'b', 'b', 'c', 'd', 'e']) keep(text, '');
    expect(recall('a')).toBe('');
  });

  it('goes when it was not asked for during a generation, and stays otherwise', () => {
    const { keep, recall } = memory({ entries: 4 });
    for (const text of ['a', 'b', 'c']) keep(text, '');
    expect(recall('a')).toBe('');
    keep('d', '');
    expect(['a', 'b', 'c', 'd'].map((text) => recall(text) !== undefined)).toEqual([true, false, true, true]);
  });

  it('stays for as long as it is asked for, and with it what shares its place', () => {
    const { keep, recall } = memory({ entries: 6 });
    for (let at = 0; at < 50; at++) {
      keep(`often ${at % 3}`.padEnd(21), 'often');
      keep(`${at}`.padEnd(21), 'once');
      for (const asked of ['often 0', 'often 1', 'often 2'].slice(0, at + 1)) {
        expect(recall(asked.padEnd(21))).toBe('often');
      }
    }
    expect(recall('1'.padEnd(21))).toBeUndefined();
  });

  it.each([
    ['values', { entries: 6 }, 3, 4],
    ['characters', { chars: 26 }, 3, 9],
  ])('is nothing with more %s than there is room for', (what, options, fitting, tooMany) => {
    const { keep, recall } = memory(options);
    const size = (count: number) => (what === 'values' ? ['r', count] : ['r'.repeat(count), 1]) as [string, number];
    keep('fits', ...size(fitting));
    keep('does not', ...size(tooMany));
    expect([recall('fits') !== undefined, recall('does not')]).toEqual([true, undefined]);
  });

  it('is nothing without room', () => {
    const { keep, recall } = memory({ entries: 0 });
    keep('a', 'answer', 0);
    expect(recall('a')).toBeUndefined();
  });

  it('goes by the characters of all, too', () => {
    const { keep, recall } = memory({ chars: 100 });
    const asked = ['a', 'b', 'c', 'd'].map((char) => char.repeat(20));
    for (const text of asked) keep(text, 'r'.repeat(20));
    expect(asked.map((text) => recall(text) !== undefined)).toEqual([false, false, true, true]);
  });
});
