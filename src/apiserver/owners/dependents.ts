// Remembers the objects with owner references, by their own key and by owner uid. Must never decide or touch the store. An owner that
// nobody can check is not remembered: thousands of them in one object would take three times the memory of its text.
import type { KubeObject, OwnerReference } from '../../object/meta/object.ts';
import type { Kind } from '../kinds/kind.ts';

export interface Seen {
  kind: Kind;
  namespace: string;
  name: string;
  object: KubeObject;
}

export interface Dependent {
  kind: Kind;
  namespace: string;
  name: string;
  uid: string;
  /** Those that can be checked. */
  owners: readonly OwnerReference[];
  /** Another owner cannot be checked, so the object is never collected. */
  isHeld: boolean;
  isDeleting: boolean;
}

export class Dependents {
  #byKey = new Map<string, Dependent>();
  #keysByOwner = new Map<string, Set<string>>();

  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  get(key: string): Dependent | undefined {
    return this.#byKey.get(key);
  }

  ownedBy(uid: string): [string, Dependent][] {
    const keys = [...(this.#keysByOwner.get(uid) ?? [])];
    return keys.map((key): [string, Dependent] => [key, this.#byKey.get(key) as Dependent]);
  }

  /** Forgets an object without owners that can be checked. */
  put(key: string, { kind, namespace, name, object }: Seen, canCheck: (owner: OwnerReference) => boolean): void {
    this.remove(key);
    const { ownerReferences = [], uid = '', deletionTimestamp } = object.metadata;
    const owners = ownerReferences.filter(canCheck);
    if (owners.length === 0) return;
    const isHeld = owners.length < ownerReferences.length;
    this.#byKey.set(key, { kind, namespace, name, uid, owners, isHeld, isDeleting: deletionTimestamp !== undefined });
    for (const owner of owners) {
      const keys = this.#keysByOwner.get(owner.uid) ?? new Set<string>();
      this.#keysByOwner.set(owner.uid, keys.add(key));
    }
  }

  remove(key: string): void {
    for (const { uid } of this.#byKey.get(key)?.owners ?? []) {
      const keys = this.#keysByOwner.get(uid);
      keys?.delete(key);
      if (keys?.size === 0) this.#keysByOwner.delete(uid);
    }
    this.#byKey.delete(key);
  }
}
