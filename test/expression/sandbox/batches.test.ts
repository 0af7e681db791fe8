import { describe, expect, it } from 'vitest';
import { batchesOf } from '../../../src/expression/sandbox/batches.ts';
import type { Frame } from '../../../src/expression/sandbox/frames.ts';

const run = (id: number, text = 'x'): Frame => ({ id, kind: 'run', text });
const runs = (count: number, text?: string) => Array.from({ length: count }, (_, id) => run(id, text));
const idsOf = (frames: readonly Frame[]) => [...batchesOf(frames)].map((list) => list.map(({ id }) => id));

describe('batches', () => {
  it('joins short requests in their order, at most eight in a batch', () => {
    expect(idsOf(runs(11))).toEqual([
      [0, 1, 2, 3, 4, 5, 6, 7],
      [8, 9, 10],
    ]);
    expect(idsOf([])).toEqual([]);
  });

  it('keeps long requests and set-ups apart', () => {
    const setup: Frame = { id: 9, kind: 'setup', text: '{}' };
    const frames = [run(0), run(1, 'x'.repeat(9_000)), run(2), run(3), setup, run(4), run(5)];
    expect(idsOf(frames)).toEqual([[0], [1], [2, 3], [9], [4, 5]]);
    expect(idsOf(runs(4, 'x'.repeat(4_096)))).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });

  it('begins a new batch with a request that stands apart', () => {
    const apart = (id: number): Frame => ({ ...run(id), kind: 'apart' });
    expect(idsOf([apart(0), run(1), apart(2), apart(3), run(4)])).toEqual([[0, 1], [2], [3, 4]]);
  });
});
