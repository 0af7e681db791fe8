// Keeps entries in key order, in a list of short sorted pages: a search is two binary searches, an insert moves at most one
// page, and a walk is a plain loop.
import { compareKeys } from './key-order.ts';

/** A longer page is split in two; splicing 512 pointers costs less than a microsecond. */
const maxPageLength = 512;

export class SortedEntries<T extends { key: string }> {
  #pages: T[][] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The caller must make sure that the key is new. */
  insert(entry: T): void {
    this.#size++;
    const pageAt = this.#pageFor(entry.key);
    const page = this.#pages[pageAt];
    if (page === undefined) {
      this.#pages.push([entry]);
      return;
    }
    page.splice(lowerBound(page, entry.key), 0, entry);
    if (page.length > maxPageLength) this.#pages.splice(pageAt + 1, 0, page.splice(maxPageLength >> 1));
  }

  remove(key: string): void {
    const pageAt = this.#pageFor(key);
    const page = this.#pages[pageAt];
    if (page === undefined) return;
    const at = lowerBound(page, key);
    if (page[at]?.key !== key) return;
    page.splice(at, 1);
    this.#size--;
    if (page.length === 0) this.#pages.splice(pageAt, 1);
  }

  /** Visits entries in key order from `from.key` on (with `exclusive`, after `from.key`), until `visit` returns false. */
  walk(from: { key: string; exclusive: boolean }, visit: (entry: T) => boolean): void {
    let pageAt = this.#pageFor(from.key);
    let at = lowerBound(this.#pages[pageAt] ?? [], from.key);
    if (from.exclusive && this.#pages[pageAt]?.[at]?.key === from.key) at++;
    for (; pageAt < this.#pages.length; pageAt++, at = 0) {
      const page = this.#pages[pageAt] as T[];
      for (; at < page.length; at++) if (!visit(page[at] as T)) return;
    }
  }

  /** Number of keys after `key` that begin with `prefix`; `key` itself must begin with `prefix`. */
  countAfter(key: string, prefix: string): number {
    let count = 0;
    let pageAt = this.#pageFor(key);
    let at = lowerBound(this.#pages[pageAt] ?? [], key);
    if (this.#pages[pageAt]?.[at]?.key === key) at++;
    for (; pageAt < this.#pages.length; pageAt++, at = 0) {
      const page = this.#pages[pageAt] as T[];
      if (page.at(-1)?.key.startsWith(prefix)) {
        count += page.length - at;
        continue;
      }
      while (at < page.length && (page[at] as T).key.startsWith(prefix)) {
        count++;
        at++;
      }
      break;
    }
    return count;
  }

  /** Index of the page that contains the key, or into which the key belongs. */
  #pageFor(key: string): number {
    let low = 0;
    let high = this.#pages.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      const page = this.#pages[middle] as T[];
      if (compareKeys((page[page.length - 1] as T).key, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function lowerBound(page: readonly { key: string }[], key: string): number {
  let low = 0;
  let high = page.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareKeys((page[middle] as { key: string }).key, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
