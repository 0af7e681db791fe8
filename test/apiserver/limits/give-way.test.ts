import { describe, expect, it } from 'vitest';
import { makeRoom } from '../../../src/apiserver/limits/give-way.ts';

/** A name is an owner and a number. `since`: when it came to a halt; absent = it makes progress. */
function ended(held: readonly [name: string, bytes: number, since?: number][], mostBytes: number): string[] {
  const order: string[] = [];
  const all = held.map(([name, bytes, since]) => ({
    ...{ owner: name[0] as string, bytes, stalledSinceMs: since },
    end: () => void order.push(name),
  }));
  expect(makeRoom(all, mostBytes)).toBe(order.length);
  return order;
}

describe('who gives way', () => {
  it('is nobody up to the bound', () => {
    expect(ended([['a1', 100, 1]], 100)).toEqual([]);
  });

  it('is what has waited longest of the one who holds most, until half of the bound is held', () => {
    expect(
      ended(
        [
          ['a1', 30, 3],
          ['a2', 30, 1],
          ['a3', 30, 2],
          ['b1', 20, 0],
        ],
        100,
      ),
    ).toEqual(['a2', 'a3']);
  });

  it('is nobody who holds no more than a share, and who holds more keeps half of it', () => {
    expect(
      ended(
        [
          ['a1', 20, 1],
          ['a2', 20, 2],
          ['a3', 20, 3],
          ['b1', 50, 0],
        ],
        100,
      ),
    ).toEqual(['a1', 'a2']);
  });

  it('is nothing that makes progress', () => {
    expect(
      ended(
        [
          ['a1', 90],
          ['a2', 20, 5],
        ],
        100,
      ),
    ).toEqual(['a2']);
  });
});
