// The one source of chance of a run: the same seed gives the same numbers on every machine.

export class Chance {
  #state: number;

  constructor(seed: number, purpose = '') {
    let hash = 0x811c9dc5;
    for (const char of `${seed}/${purpose}`) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193);
    this.#state = hash >>> 0;
  }

  /** From 0 up to, but not, 1: mulberry32. */
  readonly next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };

  /** A whole number from 0 up to, but not, `below`. */
  whole(below: number): number {
    return Math.floor(this.next() * below);
  }

  between(least: number, most: number): number {
    return least + this.whole(most - least + 1);
  }

  isHit(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(from: readonly T[]): T {
    if (from.length === 0) throw new Error('pick one: wanted a list with entries, found an empty one');
    return from[this.whole(from.length)] as T;
  }

  /** Picks by weight. */
  weigh<T>(from: readonly (readonly [number, T])[]): T {
    let left = this.next() * from.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, one] of from) {
      left -= weight;
      if (left < 0) return one;
    }
    return this.pick(from)[1];
  }
}
