// Remembers which objects belong to which virtual Service, for a kind whose objects name their Service. A kind whose objects are
// named like their Services needs no memory.
import type { Key } from '../../object/meta/object.ts';
import { type SyncedKind, serviceKeyOf, type VirtualItem } from '../plan/kind.ts';

export class ServiceIndex {
  readonly #objects = new Map<Key, Set<Key>>();
  readonly #services = new Map<Key, Key>();

  note(kind: SyncedKind, key: Key, virtual: VirtualItem | undefined): void {
    if (kind.serviceOf === undefined) return;
    const service = virtual && serviceKeyOf(kind, key, virtual);
    const before = this.#services.get(key);
    if (before === service) return;
    if (before !== undefined) this.#forget(key, before);
    if (service === undefined) return;
    this.#services.set(key, service);
    const objects = this.#objects.get(service) ?? new Set();
    this.#objects.set(service, objects.add(key));
  }

  /** The Service that an object named when it was last noted. */
  serviceOf(kind: SyncedKind, key: Key): Key | undefined {
    return kind.serviceOf === undefined ? key : this.#services.get(key);
  }

  /** The keys of the objects that a Service decides about. */
  objectsOf(kind: SyncedKind, service: Key): readonly Key[] {
    return kind.serviceOf === undefined ? [service] : [...(this.#objects.get(service) ?? [])];
  }

  /** The Services that objects name, each with its objects; nothing for a kind whose objects are named like their Services. */
  entries(): Iterable<readonly [service: Key, objects: ReadonlySet<Key>]> {
    return this.#objects.entries();
  }

  #forget(key: Key, service: Key): void {
    this.#services.delete(key);
    const objects = this.#objects.get(service);
    objects?.delete(key);
    if (objects?.size === 0) this.#objects.delete(service);
  }
}
