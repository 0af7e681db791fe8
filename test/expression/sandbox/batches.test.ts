import { describe, expect, it } from 'vitest';
import { Batches } from '../../../src/expression/sandbox/batches.ts';
import type { Frame } from '../../../src/expression/sandbox/frames.ts';

const run = (id: number, text = 'x'): Frame => ({ id, kind: 'run', text });
const runs = (count: number, text?: string) => Array.from({ length: count }, (_, id) => run(id, text));
const idsOf = (batches: Batches, frames: readonly Frame[]) =>
  [...batches.split(frames)].map((list) => list.map(({ id }) => id));

describe('Batches', () => {
  it('joins short requests in their order, at most eight in a batch', () => {
    expect(idsOf(new Batches(), runs(11))).toEqual([
      [0, 1, 2, 3, 4, 5, 6, 7],
      [8, 9, 10],
    ]);
    expect(idsOf(new Batches(), [])).toEqual([]);
  });

  it('keeps long requests and set-ups apart', () => {
    const setup: Frame = { id: 9, kind: 'setup', text: '{}' };
    const frames = [run(0), run(1, 'x'.repeat(9_000)), run(2), run(3), setup, run(4), run(5)];
    expect(idsOf(new Batches(), frames)).toEqual([[0], [1], [2, 3], [9], [4, 5]]);
    expect(idsOf(new Batches(), runs(4, 'x'.repeat(4_096)))).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });

  it('runs each request alone for a while after a failed batch, beginning with the frames behind that batch', () => {
    const batches = new Batches();
    const sizes: number[] = [];
    for (const list of batches.split(runs(30))) {
      if (sizes.length === 0) batches.batchFailed();
      sizes.push(list.length);
    }
    expect(sizes).toEqual([8, ...Array<number>(22).fill(1)]);
    expect(idsOf(batches, runs(80)).length).toBeGreaterThan(77);
    expect(idsOf(batches, runs(8))).toEqual([[0, 1, 2, 3, 4, 5, 6, 7]]);
  });
});
