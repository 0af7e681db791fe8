import { describe, expect, it } from 'vitest';
import { Places } from '../../../src/apiserver/limits/places.ts';

/** Work that ends when it is told to, and says when it began. */
function works(places: Places) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const results: Promise<unknown>[] = [];
  const ask = (caller: string, name: string) => {
    const work = (taken: number) => {
      begun.push(`${name} ${taken}`);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    };
    results.push(places.within(caller, work));
  };
  const end = async (name: string) => {
    ends.get(name)?.();
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  };
  return { begun, ask, end, results };
}

describe('Places', () => {
  it('lets so many go on at a time, and the callers in turn', async () => {
    const { begun, ask, end } = works(new Places(2));
    for (const name of ['a1', 'a2', 'a3', 'a4']) ask('a', name);
    ask('b', 'b1');
    ask('c', 'c1');
    expect(begun).toEqual(['a1 1', 'a2 2']);
    await end('a1');
    await end('a2');
    expect(begun.slice(2)).toEqual(['a3 2', 'b1 2']);
    await end('b1');
    await end('c1');
    expect(begun.slice(4)).toEqual(['c1 2', 'a4 2']);
    await end('a3');
    ask('a', 'a5');
    expect(begun.at(-1)).toBe('a5 2');
    await end('a4');
    await end('a5');
    ask('a', 'a6');
    expect(begun.at(-1)).toBe('a6 1');
  });

  it('gives the place of work that failed to the next one', async () => {
    const places = new Places(1);
    const failed = places.within('a', () => Promise.reject(new Error('the store is gone')));
    const next = places.within('b', (taken) => Promise.resolve(taken));
    await expect(failed).rejects.toThrow('the store is gone');
    await expect(next).resolves.toBe(1);
    await expect(places.within('a', (taken) => Promise.resolve(taken))).resolves.toBe(1);
  });

  it('gives a place to nobody who comes while others wait', async () => {
    const { begun, ask, end } = works(new Places(1));
    ask('a', 'a1');
    ask('a', 'a2');
    const gone = end('a1');
    ask('b', 'b1');
    await gone;
    expect(begun).toEqual(['a1 1', 'a2 1']);
    await end('a2');
    expect(begun.at(-1)).toBe('b1 1');
  });
});
