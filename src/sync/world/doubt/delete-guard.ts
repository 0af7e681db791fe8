// The keys that a list lacks although the host has their copies: no such copy goes before the list has been judged.
import type { Clock } from '../../../clock.ts';
import type { Key } from '../../../object/meta/object.ts';

export type VirtualList = 'services' | 'objects';

/** `List` names the lists that must contain a key for it to be present. */
export class DeleteGuard<List extends string = VirtualList> {
  readonly #clock: Clock;
  /** For each key the lists that lack it, and since when. */
  readonly #withheld = new Map<Key, Map<List, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isWithheld(key: Key): boolean {
    return this.#withheld.has(key);
  }

  get size(): number {
    return this.#withheld.size;
  }

  /** A list lacks this key. Its copy is not deleted until the whole list has been judged. */
  suspect(key: Key, list: List): void {
    const lists = this.#withheld.get(key) ?? new Map<List, number>();
    if (!lists.has(list)) lists.set(list, this.#clock.now());
    this.#withheld.set(key, lists);
  }

  /** The key is present, or a watch event reported its end; both are certain without a second list. */
  clear(key: Key, list: List): void {
    this.release([key], list);
  }

  isWithheldByOther(key: Key, list: List): boolean {
    const lists = this.#withheld.get(key);
    return lists !== undefined && lists.size > (lists.has(list) ? 1 : 0);
  }

  /** The keys that this list has lacked since that time or longer. */
  suspects(list: List, sinceMs = Number.POSITIVE_INFINITY): Key[] {
    const keys: Key[] = [];
    for (const [key, lists] of this.#withheld) {
      const atMs = lists.get(list);
      if (atMs !== undefined && atMs <= sinceMs) keys.push(key);
    }
    return keys;
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
