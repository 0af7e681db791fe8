// What each name has used in the last seconds, with the sums at hand: they are asked for at every request. In: amounts, which are whole
// numbers, so that a sum is zero again when its last amount has left the window. Out: sums, and the amounts by second.
export class RecentSums {
  readonly #seconds: number;
  /** Oldest first. */
  readonly #bySecond = new Map<number, Map<string, number>>();
  readonly #sums = new Map<string, number>();
  #newest = Number.NEGATIVE_INFINITY;
  #altogether = 0;

  constructor(seconds: number) {
    this.#seconds = seconds;
  }

  add(second: number, name: string, amount: number): void {
    this.#moveTo(second);
    let used = this.#bySecond.get(second);
    if (used === undefined) {
      used = new Map();
      this.#bySecond.set(second, used);
    }
    used.set(name, (used.get(name) ?? 0) + amount);
    this.#sums.set(name, (this.#sums.get(name) ?? 0) + amount);
    this.#altogether += amount;
  }

  of(second: number, name: string): number {
    this.#moveTo(second);
    return this.#sums.get(name) ?? 0;
  }

  altogether(second: number): number {
    this.#moveTo(second);
    return this.#altogether;
  }

  /** Of each second of the window, oldest first. */
  bySecond(last: number, name: string): number[] {
    const first = last - this.#seconds + 1;
    return Array.from({ length: this.#seconds }, (_, at) => this.#bySecond.get(first + at)?.get(name) ?? 0);
  }

  #moveTo(second: number): void {
    if (second === this.#newest) return;
    this.#newest = second;
    for (const [old, used] of this.#bySecond) {
      // A clock that was set back must not leave amounts behind that never leave the window.
      if (old > second - this.#seconds && old <= second) continue;
      this.#bySecond.delete(old);
      for (const [name, amount] of used) this.#take(name, amount);
    }
  }

  #take(name: string, amount: number): void {
    const left = (this.#sums.get(name) ?? 0) - amount;
    this.#altogether -= amount;
    if (left > 0) this.#sums.set(name, left);
    else this.#sums.delete(name);
  }
}
