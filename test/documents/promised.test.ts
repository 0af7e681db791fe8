import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

interface Promised {
  readonly who: string;
  readonly page: string;
  readonly words: readonly string[];
}

const root = join(import.meta.dirname, '..', '..');
const promised = parse(readFileSync(join(import.meta.dirname, 'promised.yaml'), 'utf8')) as readonly Promised[];

/** Line breaks say nothing in prose, so that a paragraph may be wrapped anew. */
const blocksOf = (page: string) => page.split(/\n\s*\n/).map((block) => block.replace(/\s+/g, ' '));

/** Of the block that has most of the words, the words that it lacks. */
function lacking(page: string, words: readonly string[]): readonly string[] {
  const ofEach = blocksOf(page).map((block) => words.filter((word) => !block.includes(word)));
  return ofEach.reduce((least, one) => (one.length < least.length ? one : least), words);
}

describe('pages say what who does not know it would pay for', () => {
  it.each(promised)('who $who', ({ page, words }) => {
    expect(lacking(readFileSync(join(root, page), 'utf8'), words)).toEqual([]);
  });

  it.each([
    ['a lost sentence', 'A scope is\na union.\n\nMore.', ['do not narrow']],
    ['a sentence in another paragraph', 'A scope is a\nunion.\n\nThey do not narrow it.', ['do not narrow']],
    ['an empty page', '', ['A scope is a union', 'do not narrow']],
  ])('notices %s', (_, page, missing) => {
    expect(lacking(page, ['A scope is a union', 'do not narrow'])).toEqual(missing);
  });
});
