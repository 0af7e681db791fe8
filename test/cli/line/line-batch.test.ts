import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { LineBatch } from '../../../src/cli/line/line-batch.ts';

function batch(): { lines: LineBatch; written: string[] } {
  const written: string[] = [];
  return { lines: new LineBatch((text) => written.push(text)), written };
}

describe('lines of one turn', () => {
  it('are written together when the turn is over, in their order', async () => {
    const { lines, written } = batch();
    for (const line of ['a\n', 'b\n', 'c\n']) lines.add(line);
    expect(written).toEqual([]);
    await nextTurn();
    expect(written).toEqual(['a\nb\nc\n']);
    lines.add('d\n');
    await nextTurn();
    expect(written).toEqual(['a\nb\nc\n', 'd\n']);
  });

  it('are written by flush() at once, and only once', async () => {
    const { lines, written } = batch();
    lines.add('why it ends\n');
    lines.flush();
    expect(written).toEqual(['why it ends\n']);
    await nextTurn();
    lines.flush();
    expect(written).toEqual(['why it ends\n']);
  });

  it('are written at once when they exceed 64 KiB', () => {
    const { lines, written } = batch();
    const line = `${'x'.repeat(1_023)}\n`;
    for (let count = 0; count < 64; count++) lines.add(line);
    expect(written.join('')).toHaveLength(64 * 1024);
  });
});
