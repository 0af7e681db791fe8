import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { newestOf, type Result, withFigures } from '../../bench/write-figures.ts';

const result = (question: string, date: string, value: number): Result => ({
  question,
  date,
  commit: 'abc1234',
  figures: [{ name: 'drain / bare writer', value, unit: '', wanted: { atLeast: 0.7 } }],
});

describe('newestOf()', () => {
  it('keeps one result of each question, the newest one', () => {
    const all = [
      result('sync', '2026-11-22', 0.6),
      result('real', '2026-11-20', 0.8),
      result('sync', '2026-11-23', 0.7),
    ];
    expect(newestOf(all).map(({ question, date }) => `${question} ${date}`)).toEqual([
      'real 2026-11-20',
      'sync 2026-11-23',
    ]);
  });
});

describe('withFigures()', () => {
  const page = 'before\n<!-- figures: written by bench/write-figures.ts -->\nold\n<!-- end of figures -->\nafter\n';

  it('replaces what is between the marks and nothing else', () => {
    const written = withFigures(page, [result('sync', '2026-11-23T01:00:00Z', 0.75)]);
    expect(written).toMatch(/^before\n/);
    expect(written).toMatch(/\nafter\n$/);
    expect(written).not.toContain('old');
    expect(written).toContain('### sync.bench.ts, 2026-11-23, commit abc1234');
    expect(written).toContain('| drain / bare writer | ≥ 0.7 | 0.75 |');
  });

  it('shows a figure that was missed in bold', () => {
    expect(withFigures(page, [result('sync', '2026-11-23', 0.5)])).toContain('| **0.5** |');
  });

  it('says which mark a page lacks', () => {
    expect(() => withFigures('no marks', [])).toThrow(/lacks/);
  });
});

describe('docs/journal/bench-figures.md', () => {
  it('shows the figures of bench/figures.json', () => {
    const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
    const page = read('docs/journal/bench-figures.md');
    expect(withFigures(page, JSON.parse(read('bench/figures.json')) as Result[])).toBe(page);
  });
});
