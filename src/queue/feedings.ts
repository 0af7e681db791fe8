// Long sources of keys that the queue reads bit by bit, the oldest source first. A hundred thousand keys added at once would
// block the event loop and delay all later changes.

/** Keys for idle workers. An undefined entry yields no key and only lets a slow source divide its work. */
export type Source = Iterable<string | undefined>;

interface Feeding {
  entries: Iterator<string | undefined>;
  /** The expected number of remaining keys. */
  left: number;
  sinceMs: number;
}

export class Feedings {
  #byName = new Map<string, Feeding>();

  /** The number of sources that have not ended. */
  get size(): number {
    return this.#byName.size;
  }

  /** The expected number of keys that are still to come. */
  get expectedKeys(): number {
    let keys = 0;
    for (const { left } of this.#byName.values()) keys += Math.max(1, left);
    return keys;
  }

  /** A second call with the same name replaces the source. */
  add(name: string, source: Source, { size, sinceMs }: { size: number; sinceMs: number }): void {
    this.#byName.delete(name);
    this.#byName.set(name, { entries: source[Symbol.iterator](), left: size, sinceMs });
  }

  /** Reads one entry of the oldest source; returns whether that source has ended. */
  pull(accept: (key: string, sinceMs: number) => void): boolean {
    for (const [name, feeding] of this.#byName) {
      const { done, value } = feeding.entries.next();
      feeding.left--;
      // A source may have been replaced at its own end.
      if (done === true && this.#byName.get(name) === feeding) this.#byName.delete(name);
      if (done !== true && value !== undefined) accept(value, feeding.sinceMs);
      return done === true;
    }
    return false;
  }

  clear(): void {
    this.#byName.clear();
  }
}
