import { describe, expect, it } from 'vitest';
import type { MemoOptions } from '../../src/expression/memo.ts';
import { questionOf } from '../../src/expression/question.ts';
import type { GroupResult } from '../../src/expression/request.ts';
import { RequestMemo } from '../../src/expression/request-memo.ts';

const answerOf = (...lists: unknown[][]) => lists.map((results) => ({ results, errors: [] }));

function memory(options?: MemoOptions) {
  const memo = new RequestMemo(options);
  return {
    remember: (text: string, answer: readonly GroupResult[]) => memo.remember(questionOf([text]), answer),
    recall: (text: string) => memo.recall(questionOf([text])),
  };
}

describe('the answer to a request', () => {
  it('is remembered, with new objects each time', () => {
    const memo = memory();
    const answer = answerOf(['text', 1, true, null], [{ a: [1] }, [2]]);
    memo.remember('asked', answer);
    const [first, second] = [memo.recall('asked'), memo.recall('asked')];
    expect([first, second]).toEqual([answer, answer]);
    const objects = [answer, first, second].map((each) => each?.[1]?.results[0]);
    expect(new Set(objects).size).toBe(3);
  });

  it('is remembered with what threw, and not with what time may mend', () => {
    const memo = memory();
    const withError = (kind: 'threw' | 'timeout') => [
      { results: ['v'], errors: [{ at: 0, error: { kind, message: 'm' } }] },
      { results: ['w'], errors: [] },
    ];
    memo.remember('threw', withError('threw'));
    memo.remember('timeout', withError('timeout'));
    expect([memo.recall('threw'), memo.recall('timeout')]).toEqual([withError('threw'), undefined]);
    expect(memo.recall('threw')?.[0]?.errors[0]).not.toBe(memo.recall('threw')?.[0]?.errors[0]);
  });

  it('is told from those to all that are alike, in their size and in most of their text', () => {
    const memo = memory();
    const filling = 'x'.repeat(5_000);
    const texts = Array.from({ length: 50 }, (_, at) => `${filling}web-${10 + at}${filling}`);
    for (const [at, text] of texts.entries()) memo.remember(text, answerOf([at]));
    expect(texts.map((text) => memo.recall(text)?.[0]?.results[0])).toEqual(texts.map((_, at) => at));
    expect(memo.recall(`${filling}web-99${filling}`)).toBeUndefined();
  });

  it.each<[what: string, text: string, results: unknown[]]>([
    ['a request', 'x'.repeat(100), ['r']],
    ['a result', 'a', ['x'.repeat(100)]],
    ['a result that is an object', 'a', [{ a: 'x'.repeat(100) }]],
    ['a result beside an object', 'a', [{}, 'x'.repeat(100)]],
  ])('is forgotten with %s that is longer than there is room', (_what, text, results) => {
    for (const [chars, isKept] of [
      [400, true],
      [190, false],
    ] as const) {
      const memo = memory({ chars });
      memo.remember(text, answerOf(results));
      expect(memo.recall(text)).toEqual(isKept ? answerOf(results) : undefined);
    }
  });

  it('is forgotten with more parts and results than there is room, counted over all groups', () => {
    // Each with the one part of its question.
    const memo = memory({ entries: 8 });
    memo.remember('fits', answerOf(['1', '2'], ['3']));
    memo.remember('does not', answerOf(['1', '2'], ['3', '4']));
    expect([memo.recall('fits') !== undefined, memo.recall('does not')]).toEqual([true, undefined]);
  });
});
