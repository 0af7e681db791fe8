// Finds host objects by the key in their annotations. Needed only with namespace mapping, where a new mapping leaves copies in
// their old places.
import type { Key } from '../../object/meta/object.ts';

export class CopyIndex {
  readonly #hostByKey = new Map<Key, Set<Key>>();
  readonly #keyByHost = new Map<Key, Key>();

  /** Called when a host object came, changed or went; `annotated` is the key in its annotations. */
  note(hostKey: Key, annotated: Key | undefined): void {
    const before = this.#keyByHost.get(hostKey);
    if (before !== undefined && before !== annotated) {
      const held = this.#hostByKey.get(before);
      held?.delete(hostKey);
      if (held?.size === 0) this.#hostByKey.delete(before);
      this.#keyByHost.delete(hostKey);
    }
    if (annotated === undefined) return;
    this.#keyByHost.set(hostKey, annotated);
    const held = this.#hostByKey.get(annotated) ?? new Set();
    this.#hostByKey.set(annotated, held.add(hostKey));
  }

  hostKeysOf(key: Key): Iterable<Key> {
    return this.#hostByKey.get(key) ?? [];
  }
}
