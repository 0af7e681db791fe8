// Protects host copies from a list that lacks most objects: such a list is acted on only when a second one agrees. That covers
// passing faults: a server that has not read its data yet, a server that lags, an empty answer with status 200. A server that
// has really lost its data answers the same twice, and the copies are deleted.
import type { Key } from '../../object/meta/object.ts';

/** One list may cause this many deletes without a second list, however many copies there are. */
export const believedDeletes = 50;
/** One list may also delete no larger share of all copies than this. */
export const believedShare = 0.2;

export type VirtualList = 'services' | 'objects';

/** `List` names the lists that must contain a key for it to be present. */
export class DeleteGuard<List extends string = VirtualList> {
  /** Suspect keys: for each, the lists that lack it and wait for a second list. */
  readonly #withheld = new Map<Key, Set<List>>();

  isWithheld(key: Key): boolean {
    return this.#withheld.has(key);
  }

  get size(): number {
    return this.#withheld.size;
  }

  /** A list lacks this key. Its copy is not deleted until the whole list has been judged. */
  suspect(key: Key, list: List): void {
    const lists = this.#withheld.get(key) ?? new Set();
    this.#withheld.set(key, lists.add(list));
  }

  /** The key is present, or a watch event reported its end; both are certain without a second list. */
  clear(key: Key, list: List): void {
    this.release([key], list);
  }

  /** Whether one list may cause this many deletes without a second list. */
  isBelievable(deletes: number, copies: number): boolean {
    return deletes <= believedDeletes && deletes <= Math.max(1, copies * believedShare);
  }

  suspects(list: List): Key[] {
    return [...this.#withheld].filter(([, lists]) => lists.has(list)).map(([key]) => key);
  }

  /** The list was judged believable, or a second one agrees. Returns the keys that are no longer withheld. */
  release(keys: Iterable<Key>, list: List): Key[] {
    const released: Key[] = [];
    for (const key of keys) {
      const lists = this.#withheld.get(key);
      if (!lists?.delete(list)) continue;
      if (lists.size > 0) continue;
      this.#withheld.delete(key);
      released.push(key);
    }
    return released;
  }
}
