import { describe, expect, it } from 'vitest';
import { AnswerMemory, type AnswerMemoryOptions } from '../../../src/expression/evaluate/answer-memory.ts';

const answerOf = (...lists: unknown[][]) => lists.map((results) => ({ results, errors: [] }));

/** A memory with one result for each text. */
function memoryOf(options: AnswerMemoryOptions, ...texts: string[]): AnswerMemory {
  const memory = new AnswerMemory(options);
  for (const text of texts) memory.remember(text, answerOf(['r']));
  return memory;
}

const areKnown = (memory: AnswerMemory, ...texts: string[]) => texts.map((text) => memory.recall(text) !== undefined);

describe('AnswerMemory', () => {
  it('recalls the answer to the same request, with new objects each time', () => {
    const memory = new AnswerMemory();
    const answer = answerOf(['text', 1, true, null], [{ a: [1] }, [2]]);
    memory.remember('asked', answer);
    const [first, second] = [memory.recall('asked'), memory.recall('asked')];
    expect([first, second, memory.recall('Asked')]).toEqual([answer, answer, undefined]);
    const objects = [answer, first, second].map((each) => each?.[1]?.results[0]);
    expect(new Set(objects).size).toBe(3);
  });

  it('keeps errors that an expression threw, and forgets time-outs', () => {
    const memory = new AnswerMemory();
    const withError = (kind: 'threw' | 'type' | 'size' | 'timeout' | 'memory') => [
      { results: ['v'], errors: [{ at: 0, error: { kind, message: 'm' } }] },
      { results: ['w'], errors: [] },
    ];
    memory.remember('threw', withError('threw'));
    memory.remember('timeout', withError('timeout'));
    expect([memory.recall('threw'), memory.recall('timeout')]).toEqual([withError('threw'), undefined]);
    for (const kind of ['type', 'size', 'memory'] as const) memory.remember(kind, withError(kind));
    expect(areKnown(memory, 'type', 'size', 'memory')).toEqual([true, true, false]);
    expect(memory.recall('threw')?.[0]?.errors[0]).not.toBe(memory.recall('threw')?.[0]?.errors[0]);
  });

  it('keeps an answer only when JSON reproduces it', () => {
    const memory = new AnswerMemory();
    const infinite = answerOf([{ a: Number.POSITIVE_INFINITY }]);
    memory.remember('in an object', infinite);
    memory.remember('beside an object', answerOf([Number.POSITIVE_INFINITY, {}]));
    expect(areKnown(memory, 'in an object', 'beside an object')).toEqual([false, false]);
    memory.remember('alone', answerOf([Number.POSITIVE_INFINITY]));
    expect(memory.recall('alone')).toEqual(answerOf([Number.POSITIVE_INFINITY]));
  });

  it('distinguishes long requests of equal length that differ in a few characters', () => {
    const memory = new AnswerMemory();
    const filling = 'x'.repeat(20_000);
    const texts = Array.from({ length: 50 }, (_, at) => `${filling}web-${10 + at}${filling}`);
    for (const [at, text] of texts.entries()) memory.remember(text, answerOf([at]));
    expect(texts.map((text) => memory.recall(text)?.[0]?.results[0])).toEqual(texts.map((_, at) => at));
    expect(memory.recall(`${filling}web-99${filling}`)).toBeUndefined();
  });
});

// An answer with one result counts as two entries, and each of the two generations holds half of the entries.
describe('a remembered answer', () => {
  it('counts once, however often it is remembered', () => {
    expect(areKnown(memoryOf({ entries: 12 }, 'a', 'b', 'b', 'b', 'c', 'd', 'e'), 'a')).toEqual([true]);
  });

  it('is forgotten when it was not recalled during a generation, and stays otherwise', () => {
    const memory = memoryOf({ entries: 8 }, 'a', 'b', 'c');
    expect(areKnown(memory, 'a')).toEqual([true]);
    memory.remember('d', answerOf(['r']));
    expect(areKnown(memory, 'a', 'b', 'c', 'd')).toEqual([true, false, true, true]);
  });

  it('stays as long as it is recalled', () => {
    const memory = new AnswerMemory({ entries: 12 });
    for (let at = 0; at < 50; at++) {
      memory.remember(`often ${at % 3}`, answerOf([{ often: true }]));
      memory.remember(`once ${at}`, answerOf(['once']));
      for (const often of ['often 0', 'often 1', 'often 2'].slice(0, at + 1))
        expect(memory.recall(often)).toEqual(answerOf([{ often: true }]));
    }
    expect(areKnown(memory, 'once 1')).toEqual([false]);
  });

  it('is complete when it is recalled at the very end of its generation', () => {
    const memory = memoryOf({ entries: 4 }, 'a', 'b');
    for (let at = 0; at < 4; at++)
      expect([memory.recall('a'), memory.recall('b')]).toEqual([answerOf(['r']), answerOf(['r'])]);
  });

  it.each<[what: string, text: string, results: unknown[]]>([
    ['a request', 'x'.repeat(100), ['r']],
    ['a result', 'a', ['x'.repeat(100)]],
    ['an object', 'a', [{ a: 'x'.repeat(100) }]],
    ['a result beside an object', 'a', [{}, 'x'.repeat(100)]],
  ])('is refused when %s is longer than the limit', (_what, text, results) => {
    for (const [chars, isKept] of [
      [400, true],
      [190, false],
    ] as const) {
      const memory = new AnswerMemory({ chars });
      memory.remember(text, answerOf(results));
      expect(memory.recall(text)).toEqual(isKept ? answerOf(results) : undefined);
    }
  });

  it('is refused when all groups together have more results than the limit', () => {
    const memory = new AnswerMemory({ entries: 8 });
    memory.remember('fits', answerOf(['1', '2'], ['3']));
    memory.remember('does not', answerOf(['1', '2'], ['3', '4']));
    expect(areKnown(memory, 'fits', 'does not')).toEqual([true, false]);
  });

  it('is refused by a memory without entries', () => {
    expect(areKnown(memoryOf({ entries: 0 }, 'a'), 'a')).toEqual([false]);
  });

  it('counts its characters, too', () => {
    const memory = new AnswerMemory({ chars: 100 });
    const texts = ['a', 'b', 'c', 'd'].map((char) => char.repeat(20));
    for (const text of texts) memory.remember(text, answerOf(['r'.repeat(20)]));
    expect(areKnown(memory, ...texts)).toEqual([false, false, true, true]);
  });
});
