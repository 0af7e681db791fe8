// Keeps a list that looks too empty from emptying the host: what it lacks is deleted only after a second list lacks it too.
// That catches what passes: a server that has not read its data yet, one that lags, an answer of 200 with nothing. One that
// has really lost its data says so twice, and is believed.
import type { Key } from '../../object/meta/object.ts';

/** More deletes than this from one list are not believed at once, however many copies there are. */
export const believedDeletes = 50;
/** Nor is a larger share of all copies than this. */
export const believedShare = 0.2;

export type VirtualList = 'services' | 'objects';

/** `List` names the lists that a key's presence rests on. */
export class DeleteGuard<List extends string = VirtualList> {
  /** Keys whose absence rests on one list alone. */
  readonly #withheld = new Map<Key, Set<List>>();

  isWithheld(key: Key): boolean {
    return this.#withheld.has(key);
  }

  get size(): number {
    return this.#withheld.size;
  }

  /** A list lacks this key: nothing is deleted for it until the list as a whole has been judged. */
  suspect(key: Key, list: List): void {
    const lists = this.#withheld.get(key) ?? new Set();
    this.#withheld.set(key, lists.add(list));
  }

  /** The key is there, or a watch event said that it went: either is evidence by itself. */
  clear(key: Key, list: List): void {
    this.release([key], list);
  }

  /** Whether this many deletes of one list are believed without a second one. */
  isBelievable(deletes: number, copies: number): boolean {
    return deletes <= believedDeletes && deletes <= Math.max(1, copies * believedShare);
  }

  suspects(list: List): Key[] {
    return [...this.#withheld].filter(([, lists]) => lists.has(list)).map(([key]) => key);
  }

  /** The list was believed, or a second one has said the same: returns the keys that may go on. */
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
