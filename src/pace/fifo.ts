// First in, first out: an array with a moving head. A Map would be quadratic for a long line, because the search for its first entry
// passes the holes of all deleted entries.

/** Removed entries are dropped together, this many at a time, so that both ends cost O(1). */
const compactAt = 1_024;

export class Fifo<T> {
  /** Undefined for entries before the head, so that what they hold can be freed. */
  #entries: (T | undefined)[] = [];
  #head = 0;

  get first(): T | undefined {
    return this.#entries[this.#head];
  }

  get size(): number {
    return this.#entries.length - this.#head;
  }

  push(entry: T): void {
    this.#entries.push(entry);
  }

  shift(): T | undefined {
    const entry = this.#entries[this.#head];
    if (entry === undefined) return undefined;
    this.#entries[this.#head] = undefined;
    this.#head++;
    if (this.#head === this.#entries.length || (this.#head >= compactAt && this.#head * 2 >= this.#entries.length)) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
    return entry;
  }
}
