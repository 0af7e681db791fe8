// Remembers which copies on the host name a Service that virtual Services of several namespaces may mean. Other copies, which are
// nearly all, are not remembered. Within one namespace no two Services get one host name.
import { type Key, splitKey } from '../../object/meta/object.ts';

/** A copy: the virtual key in its annotations, and the host key of the Service that it names. */
export interface Behind {
  service: Key;
  copyOf: Key;
}

export class CopiesBehind {
  /** Host key of a Service → virtual namespace → host key of the copy → virtual key. */
  readonly #copies = new Map<Key, Map<string, Map<Key, Key>>>();
  readonly #noted = new Map<Key, Behind>();

  get(hostKey: Key): Behind | undefined {
    return this.#noted.get(hostKey);
  }

  isBehind(hostKey: Key, service: Key): boolean {
    return this.#noted.get(hostKey)?.service === service;
  }

  /** `behind` is undefined when the copy is gone, or when only one virtual Service can be meant by the name. */
  note(hostKey: Key, behind: Behind | undefined): void {
    this.#forget(hostKey);
    if (behind === undefined) return;
    const { service, copyOf } = behind;
    const { namespace } = splitKey(copyOf);
    const namespaces = this.#copies.get(service) ?? new Map<string, Map<Key, Key>>();
    this.#copies.set(service, namespaces);
    namespaces.set(namespace, (namespaces.get(namespace) ?? new Map<Key, Key>()).set(hostKey, copyOf));
    this.#noted.set(hostKey, behind);
  }

  /** The virtual keys of the copies behind a Service, of one virtual namespace. */
  of(service: Key, namespace: string): Iterable<Key> {
    return this.#copies.get(service)?.get(namespace)?.values() ?? [];
  }

  /** A copy behind a Service that is of another virtual namespace. */
  ofOthers(service: Key, namespace: string): Key | undefined {
    for (const [other, copies] of this.#copies.get(service) ?? []) {
      const [first] = copies.values();
      if (other !== namespace && first !== undefined) return first;
    }
    return undefined;
  }

  #forget(hostKey: Key): void {
    const noted = this.#noted.get(hostKey);
    if (noted === undefined) return;
    this.#noted.delete(hostKey);
    const { namespace } = splitKey(noted.copyOf);
    const namespaces = this.#copies.get(noted.service);
    const copies = namespaces?.get(namespace);
    copies?.delete(hostKey);
    if (copies?.size === 0) namespaces?.delete(namespace);
    if (namespaces?.size === 0) this.#copies.delete(noted.service);
  }
}
