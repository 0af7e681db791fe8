// Random choices that depend on a seed alone, so that a failing cell comes back with its seed.

const modulus = 2 ** 32;
/** Multiplier and increment of Numerical Recipes: a full period over 32 bits. */
const multiplier = 1_664_525;
const increment = 1_013_904_223;

export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed % modulus;
    // Neighbouring seeds would begin with neighbouring numbers.
    for (let turn = 0; turn < 4; turn++) this.#next();
  }

  #next(): number {
    this.#state = (Math.imul(this.#state, multiplier) + increment) >>> 0;
    // A low bit of such a generator repeats quickly, so only the high bits are used.
    return this.#state / modulus;
  }

  below(limit: number): number {
    return Math.floor(this.#next() * limit);
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<Value>(values: readonly Value[]): Value {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new Error('a choice needs at least one value');
    return value;
  }

  /** Up to `most` different values, in the order of the list. */
  some<Value>(values: readonly Value[], most: number): Value[] {
    const wanted = new Set(Array.from({ length: this.below(most + 1) }, () => this.below(values.length)));
    return values.filter((_, index) => wanted.has(index));
  }
}
