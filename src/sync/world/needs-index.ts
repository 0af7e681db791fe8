// Remembers what the objects of every kind need to know of other keys, to find the objects that a change concerns. A kind whose
// objects are named like their Services needs no memory.
import type { Key } from '../../object/meta/object.ts';
import { needsOf, type ObjectRef, type SyncedKind, type VirtualItem } from '../plan/kind.ts';

/** Which object points to which other one, to be read in both directions. */
export class Links {
  readonly #targets = new Map<Key, string>();
  readonly #objects = new Map<string, Set<Key>>();

  note(object: Key, target: string | undefined): void {
    const before = this.#targets.get(object);
    if (before === target) return;
    if (before !== undefined) this.#forget(object, before);
    if (target === undefined) return;
    this.#targets.set(object, target);
    const objects = this.#objects.get(target) ?? new Set();
    this.#objects.set(target, objects.add(object));
  }

  targetOf(object: Key): string | undefined {
    return this.#targets.get(object);
  }

  objectsOf(target: string): readonly Key[] {
    return [...(this.#objects.get(target) ?? [])];
  }

  entries(): Iterable<readonly [target: string, objects: ReadonlySet<Key>]> {
    return this.#objects.entries();
  }

  get size(): number {
    return this.#targets.size;
  }

  #forget(object: Key, target: string): void {
    this.#targets.delete(object);
    const objects = this.#objects.get(target);
    objects?.delete(object);
    if (objects?.size === 0) this.#objects.delete(target);
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
    return needs === undefined ? key : this.#services.get(kind)?.targetOf(key);
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
