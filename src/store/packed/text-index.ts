// Finds a row number by a text, like a Map, in twelve bytes or so for each entry: the text itself is in the row. Clients choose
// the texts, so the hash has a random seed.
import { randomBytes } from 'node:crypto';

const none = 0;
/** A place whose entry is gone; a search goes on behind it. */
const gone = 0xff_ff_ff_ff;
const smallest = 64;
/** Entries and gone ones in a hundred places. */
const fullest = 0.75;

export class TextIndex {
  readonly #seed = randomBytes(4).readUInt32LE();
  readonly #hasText: (row: number, text: string) => boolean;
  /** Row numbers plus one. */
  #rows = new Uint32Array(smallest);
  #hashes = new Uint32Array(smallest);
  #size = 0;
  #used = 0;

  /** `hasText`: whether this row belongs to this text; asked only when the hash is right. */
  constructor(hasText: (row: number, text: string) => boolean) {
    this.#hasText = hasText;
  }

  get bytes(): number {
    return this.#rows.byteLength + this.#hashes.byteLength;
  }

  find(text: string): number | undefined {
    const hash = this.#hash(text);
    for (let at = this.#first(hash); this.#rows[at] !== none; at = this.#next(at)) {
      const row = this.#rows[at] as number;
      if (row !== gone && this.#hashes[at] === hash && this.#hasText(row - 1, text)) return row - 1;
    }
    return undefined;
  }

  /** The caller makes sure that the text is new. */
  add(text: string, row: number): void {
    if (this.#used + 1 > this.#rows.length * fullest) this.#resize();
    this.#put(this.#hash(text), row + 1);
    this.#size++;
    this.#used++;
  }

  remove(text: string, row: number): void {
    const hash = this.#hash(text);
    for (let at = this.#first(hash); this.#rows[at] !== none; at = this.#next(at)) {
      if (this.#rows[at] !== row + 1 || this.#hashes[at] !== hash) continue;
      this.#rows[at] = gone;
      this.#size--;
      return;
    }
  }

  #put(hash: number, entry: number): void {
    let at = this.#first(hash);
    while (this.#rows[at] !== none) at = this.#next(at);
    this.#rows[at] = entry;
    this.#hashes[at] = hash;
  }

  #resize(): void {
    const [rows, hashes] = [this.#rows, this.#hashes];
    const length = this.#size * 2 >= rows.length * fullest ? rows.length * 2 : rows.length;
    this.#rows = new Uint32Array(length);
    this.#hashes = new Uint32Array(length);
    this.#used = this.#size;
    for (const [at, row] of rows.entries()) if (row !== none && row !== gone) this.#put(hashes[at] as number, row);
  }

  #first(hash: number): number {
    return hash & (this.#rows.length - 1);
  }

  #next(at: number): number {
    return (at + 1) & (this.#rows.length - 1);
  }

  /** MurmurHash3 over the units of the text. */
  #hash(text: string): number {
    let hash = this.#seed;
    for (let at = 0; at < text.length; at++) {
      let unit = Math.imul(text.charCodeAt(at), 0xcc9e2d51);
      unit = Math.imul((unit << 15) | (unit >>> 17), 0x1b873593);
      hash ^= unit;
      hash = Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64;
    }
    hash ^= text.length;
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) >>> 0;
  }
}
