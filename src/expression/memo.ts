// Remembers what an expression made of a value. Expressions are pure, so the same value and the same context give the same
// result; a resync of unchanged objects then never enters the sandbox. Two generations stand in for an exact order of last
// use: what was not asked for during a whole generation is forgotten.
import { memoLimits } from './limits.ts';

/** A result that can be handed out again and again: plain values as they are, objects as JSON, so that nobody shares one. */
export type Remembered = string | number | boolean | null | { json: string };

/** The memory of one expression. */
export interface Shelf {
  young: Map<string, Remembered>;
  old: Map<string, Remembered>;
}

export interface MemoOptions {
  entries?: number;
  chars?: number;
}

export class Memo {
  readonly #maxEntries: number;
  readonly #maxChars: number;
  #shelves: Shelf[] = [];
  #entries = 0;
  #chars = 0;

  constructor(options: MemoOptions = {}) {
    // Two generations together stay within the limit.
    this.#maxEntries = (options.entries ?? memoLimits.entries) / 2;
    this.#maxChars = (options.chars ?? memoLimits.chars) / 2;
  }

  shelf(): Shelf {
    const shelf = { young: new Map(), old: new Map() };
    this.#shelves.push(shelf);
    return shelf;
  }

  get(shelf: Shelf, key: string): Remembered | undefined {
    const young = shelf.young.get(key);
    if (young !== undefined || shelf.old.size === 0) return young;
    const old = shelf.old.get(key);
    if (old !== undefined) this.set(shelf, key, old);
    return old;
  }

  set(shelf: Shelf, key: string, result: Remembered): void {
    const chars =
      key.length + (typeof result === 'string' ? result.length : ((result as { json?: string })?.json?.length ?? 0));
    if (chars > this.#maxChars || this.#maxEntries < 1) return;
    if (this.#entries + 1 > this.#maxEntries || this.#chars + chars > this.#maxChars) this.#age();
    shelf.young.set(key, result);
    this.#entries++;
    this.#chars += chars;
  }

  #age(): void {
    for (const shelf of this.#shelves) {
      shelf.old = shelf.young;
      shelf.young = new Map();
    }
    this.#entries = 0;
    this.#chars = 0;
  }
}
