// Remembers what the objects of every kind need to know of other keys, to find the objects that a change concerns. A kind whose
// objects are named like their Services needs no memory.
import type { Key } from '../../object/meta/object.ts';
import { needsOf, type ObjectRef, type SyncedKind, type VirtualItem } from '../plan/kind.ts';

/** Which object needs which other one, to be read in both directions. */
class Links {
  readonly #needed = new Map<Key, string>();
  readonly #objects = new Map<string, Set<Key>>();

  note(object: Key, needed: string | undefined): void {
    const before = this.#needed.get(object);
    if (before === needed) return;
    if (before !== undefined) this.#forget(object, before);
    if (needed === undefined) return;
    this.#needed.set(object, needed);
    const objects = this.#objects.get(needed) ?? new Set();
    this.#objects.set(needed, objects.add(object));
  }

  neededBy(object: Key): string | undefined {
    return this.#needed.get(object);
  }

  objectsOf(needed: string): readonly Key[] {
    return [...(this.#objects.get(needed) ?? [])];
  }

  entries(): Iterable<readonly [needed: string, objects: ReadonlySet<Key>]> {
    return this.#objects.entries();
  }

  get size(): number {
    return this.#needed.size;
  }

  #forget(object: Key, needed: string): void {
    this.#needed.delete(object);
    const objects = this.#objects.get(needed);
    objects?.delete(object);
    if (objects?.size === 0) this.#objects.delete(needed);
  }
}

export class NeedsIndex {
  readonly #services = new Map<string, Links>();
  readonly #sources = new Map<string, Links>();

  note(kind: SyncedKind, key: Key, virtual: VirtualItem | undefined): void {
    if (kind.needs === undefined) return;
    const needs = virtual && needsOf(kind, key, virtual);
    linksOf(this.#services, kind.kind).note(key, needs?.service);
    linksOf(this.#sources, kind.kind).note(key, needs?.source && textOf(needs.source));
  }

  /** The Service that an object named when it was last noted. */
  serviceOf({ kind, needs }: SyncedKind, key: Key): Key | undefined {
    return needs === undefined ? key : this.#services.get(kind)?.neededBy(key);
  }

  /** The keys of the objects that a Service decides about. */
  objectsOf({ kind, needs }: SyncedKind, service: Key): readonly Key[] {
    return needs === undefined ? [service] : (this.#services.get(kind)?.objectsOf(service) ?? []);
  }

  /** The Services that objects name, each with its objects; nothing for a kind whose objects are named like their Services. */
  namedServices({ kind }: SyncedKind): Iterable<readonly [service: Key, objects: ReadonlySet<Key>]> {
    return this.#services.get(kind)?.entries() ?? [];
  }

  /** The objects of a kind that were made from this object of another kind. */
  madeFrom(kind: string, source: ObjectRef): readonly Key[] {
    const links = this.#sources.get(kind);
    return links === undefined || links.size === 0 ? [] : links.objectsOf(textOf(source));
  }
}

function linksOf(of: Map<string, Links>, kind: string): Links {
  const links = of.get(kind) ?? new Links();
  of.set(kind, links);
  return links;
}

function textOf({ kind, key }: ObjectRef): string {
  return `${kind} ${key}`;
}
