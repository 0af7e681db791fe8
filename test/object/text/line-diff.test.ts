import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unifiedDiff } from '../../../src/object/text/line-diff.ts';

const diff = (a: string[], b: string[]) =>
  unifiedDiff({ name: 'a', text: `${a.join('\n')}\n` }, { name: 'b', text: `${b.join('\n')}\n` });

/** Applies a diff as the program `patch` does. */
function apply(before: string[], text: string): string[] {
  const after: string[] = [];
  let at = 0;
  for (const line of text.split('\n').slice(2, -1)) {
    const range = /^@@ -(\d+),(\d+)/.exec(line);
    if (range !== null) {
      const start = Number(range[1]) - (range[2] === '0' ? 0 : 1);
      while (at < start) after.push(before[at++]!);
      continue;
    }
    if (line[0] !== '+') expect(before[at++]).toBe(line.slice(1));
    if (line[0] !== '-') after.push(line.slice(1));
  }
  return [...after, ...before.slice(at)];
}

describe('unifiedDiff()', () => {
  it('is empty for equal texts', () => {
    expect(diff(['x'], ['x'])).toBe('');
  });

  it('shows three lines around a change and splits distant changes', () => {
    const before = Array.from({ length: 20 }, (_, index) => `line ${index}`);
    const after = before.with(2, 'changed').toSpliced(17, 1);
    expect(
      diff(before, after)
        .split('\n')
        .filter((line) => line.startsWith('@@')),
    ).toEqual(['@@ -1,6 +1,6 @@', '@@ -15,6 +15,5 @@']);
  });

  it('turns the first text into the second when it is applied', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const text = diff(before, after);
        if (text !== '') expect(apply(before, text)).toEqual(after);
      }),
    );
  });

  it('shows two huge texts as one replacement', () => {
    const numbers = (from: number) => Array.from({ length: 3000 }, (_, index) => String(from + index));
    expect(diff(numbers(0), numbers(5000)).split('\n')).toHaveLength(6004);
  });
});
