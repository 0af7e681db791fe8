import { describe, expect, it } from 'vitest';
import { againMs, LastingTrouble, leastMs } from '../../src/pace/lasting-trouble.ts';

/** The times, of one look every half second, at which the trouble is told. */
function told(forMs: number, troubleAt: (atMs: number) => string | undefined): { toldMs: number[]; ends: number } {
  const lasting = new LastingTrouble();
  const toldMs: number[] = [];
  let ends = 0;
  for (let atMs = 0; atMs < forMs; atMs += 500) {
    const trouble = troubleAt(atMs);
    if (trouble === undefined) ends += lasting.over() ? 1 : 0;
    else if (lasting.isNews(trouble, atMs)) toldMs.push(atMs);
  }
  return { toldMs, ends };
}

describe('LastingTrouble', () => {
  it('is told at once, and then every five minutes', () => {
    expect(told(2 * againMs + 1_000, () => 'refused').toldMs).toEqual([0, againMs, 2 * againMs]);
  });

  it('is told again as soon as it is another one, but not within ten seconds', () => {
    const { toldMs } = told(60_000, (atMs) => (atMs < 2_000 ? 'refused' : atMs < 30_000 ? 'timeout' : 'forbidden'));
    expect(toldMs).toEqual([0, leastMs, 30_000]);
  });

  it('is told every ten seconds at most when it comes and goes, and each of its ends once', () => {
    const { toldMs, ends } = told(60_000, (atMs) => (atMs % 1_000 === 0 ? 'cut' : undefined));
    expect(toldMs).toEqual([0, 10_000, 20_000, 30_000, 40_000, 50_000]);
    expect(ends).toBe(6);
  });
});
