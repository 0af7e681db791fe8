import { describe, expect, it } from 'vitest';
import { ellipsis, textTable } from '../../../src/cli/line/text-table.ts';

describe('textTable()', () => {
  const columns = [
    { title: 'NAME', shrinksTo: 8 },
    { title: 'HOST', shrinksTo: 8 },
    { title: 'LAG', align: 'right' as const },
  ];

  it('aligns to the widest cell', () => {
    expect(
      textTable(columns, [
        ['a', 'b', '5 ms'],
        ['abc', 'b', '12 ms'],
      ]),
    ).toEqual(['NAME  HOST    LAG', 'a     b      5 ms', 'abc   b     12 ms']);
  });

  it('fits the width by shortening flexible columns in the middle', () => {
    const rows = [['default/'.padEnd(60, 'n'), 'host'.padEnd(63, 'h'), '5 ms']];
    for (const width of [120, 80, 40]) {
      for (const line of textTable(columns, rows, width)) expect(line.length).toBeLessThanOrEqual(width);
    }
  });

  it('keeps both ends of a shortened name', () => {
    expect(ellipsis('nginx-x-default-x-vc', 11)).toBe('nginx…-x-vc');
    expect(ellipsis('nginx', 1)).toBe('…');
  });
});
