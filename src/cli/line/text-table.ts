// Lays out rows as columns within a width. The widest flexible column shrinks first. A shortened cell has its ellipsis in the
// middle, because Kubernetes names often differ only at their ends.

import { safeValue } from '../../safe-text.ts';

export interface TextColumn {
  title: string;
  align?: 'left' | 'right';
  /** Narrowest useful width; a column without it keeps its full width. */
  shrinksTo?: number;
}

const gap = 2;

export function textTable(columns: readonly TextColumn[], given: readonly (readonly string[])[], width = 80): string[] {
  const rows = given.map((row) => row.map(safeValue));
  const widths = columns.map((column, index) =>
    Math.max(column.title.length, ...rows.map((row) => (row[index] ?? '').length)),
  );
  shrink(columns, widths, width);
  const lineOf = (cells: readonly string[]) =>
    columns
      .map((column, index) => {
        const text = ellipsis(cells[index] ?? '', widths[index] as number);
        return column.align === 'right' ? text.padStart(widths[index] as number) : text.padEnd(widths[index] as number);
      })
      .join(' '.repeat(gap))
      .trimEnd();
  return [lineOf(columns.map((column) => column.title)), ...rows.map(lineOf)];
}

function shrink(columns: readonly TextColumn[], widths: number[], width: number): void {
  let excess = widths.reduce((sum, one) => sum + one, 0) + gap * (columns.length - 1) - width;
  while (excess > 0) {
    let widest = -1;
    columns.forEach((column, index) => {
      const canShrink = column.shrinksTo !== undefined && (widths[index] as number) > column.shrinksTo;
      if (canShrink && (widest < 0 || (widths[index] as number) > (widths[widest] as number))) widest = index;
    });
    if (widest < 0) return;
    widths[widest] = (widths[widest] as number) - 1;
    excess--;
  }
}

export function ellipsis(text: string, width: number): string {
  if (text.length <= width) return text;
  if (width <= 1) return '…'.slice(0, width);
  const tail = Math.floor((width - 1) / 2);
  return `${text.slice(0, width - 1 - tail)}…${tail === 0 ? '' : text.slice(-tail)}`;
}
