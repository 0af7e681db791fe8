// Counts references from the current state: every pass over a virtual object reports the names in its host copy. Until all
// objects have had their pass since the last count began, it is not known that nothing refers to an object.
import { type Key, keyOf } from '../../object/meta/object.ts';
import type { Reference, Standing } from './reference-names.ts';

export interface CountedReference extends Reference {
  /** The standing of the reference when its name was written. */
  standing: Standing;
}

/** `<kind> <namespace>/<name>`. */
export type Target = string;

export function targetOf({ kind, namespace, name }: Reference): Target {
  return `${kind} ${keyOf(namespace, name)}`;
}

export class ReferenceRegistry {
  readonly #changed: (reference: Reference) => void;
  readonly #completed: () => void;
  readonly #byReferrer = new Map<Key, readonly CountedReference[]>();
  readonly #referrers = new Map<Target, Set<Key>>();
  readonly #uncounted = new Set<Key>();
  /** Objects whose last pass failed before all their references were known; their host copies stay as they are. */
  readonly #unsure = new Set<Key>();
  #hasBegun = false;
  #isHeld = false;

  constructor(options: { changed: (reference: Reference) => void; completed: () => void }) {
    this.#changed = options.changed;
    this.#completed = options.completed;
  }

  /**
   * Begins a new count for these keys; known references stay until each key has had its pass. Returns further keys that need a
   * pass: their objects may have gone in the meantime.
   */
  recount(referrers: Iterable<Key>): readonly Key[] {
    this.#hasBegun = true;
    const named = new Set(referrers);
    const others = new Set([...this.#uncounted, ...this.#byReferrer.keys(), ...this.#unsure]);
    for (const key of [...named, ...others]) this.#uncounted.add(key);
    if (this.isComplete) this.#completed();
    return [...others].filter((key) => !named.has(key));
  }

  /** The object has changed, so its references are unknown until its next pass. */
  expect(referrer: Key): void {
    this.#uncounted.add(referrer);
  }

  /** Not all referring objects are named yet: the count is incomplete until release(). */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    if (this.isComplete) this.#completed();
  }

  get isComplete(): boolean {
    return this.#hasBegun && !this.#isHeld && this.#uncounted.size === 0;
  }

  get unsure(): Iterable<Key> {
    return this.#unsure;
  }

  note(referrer: Key, references: readonly CountedReference[]): void {
    const wasUnsure = this.#unsure.delete(referrer);
    this.#replace(referrer, references);
    // A repeated pass is not waited for, and content that only its earlier host copy named may go now.
    if (!this.#count(referrer) && wasUnsure && this.isComplete) this.#completed();
  }

  /** The host copy stays as it was, so its known references stay too. */
  noteFailed(referrer: Key, references: readonly CountedReference[]): void {
    this.#unsure.add(referrer);
    const before = this.#byReferrer.get(referrer) ?? [];
    const found = new Set(references.map(targetOf));
    this.#replace(referrer, [...references, ...before.filter((one) => !found.has(targetOf(one)))]);
    this.#count(referrer);
  }

  #count(referrer: Key): boolean {
    if (!this.#uncounted.delete(referrer)) return false;
    if (this.isComplete) this.#completed();
    return true;
  }

  #replace(referrer: Key, references: readonly CountedReference[]): void {
    const before = this.#byReferrer.get(referrer) ?? [];
    if (references.length > 0) this.#byReferrer.set(referrer, references);
    else this.#byReferrer.delete(referrer);
    const after = new Set(references.map(targetOf));
    const changed = new Map<Target, Reference>();
    for (const one of references) {
      const target = targetOf(one);
      const referrers = this.#referrers.get(target) ?? new Set();
      if (!referrers.has(referrer)) changed.set(target, one);
      this.#referrers.set(target, referrers.add(referrer));
    }
    for (const one of before) {
      const target = targetOf(one);
      const referrers = this.#referrers.get(target);
      if (after.has(target) || !referrers?.delete(referrer)) continue;
      if (referrers.size === 0) this.#referrers.delete(target);
      changed.set(target, one);
    }
    for (const reference of changed.values()) this.#changed(reference);
  }

  isReferenced(reference: Reference): boolean {
    return this.#referrers.has(targetOf(reference));
  }

  referrersOf(reference: Reference): readonly Key[] {
    return [...(this.#referrers.get(targetOf(reference)) ?? [])];
  }

  referencesOf(referrer: Key): readonly CountedReference[] {
    return this.#byReferrer.get(referrer) ?? [];
  }

  /** References to objects that neither cluster has, with one object that refers to each. */
  *unresolved(kind: string): IterableIterator<{ reference: CountedReference; referrer: Key }> {
    const told = new Set<Target>();
    for (const [referrer, references] of this.#byReferrer) {
      for (const reference of references) {
        if (reference.kind !== kind || reference.standing !== 'unresolved' || told.has(targetOf(reference))) continue;
        told.add(targetOf(reference));
        yield { reference, referrer };
      }
    }
  }

  /** Its standing in the last pass of this referring object. */
  standingSaid(referrer: Key, reference: Reference): Standing | undefined {
    const target = targetOf(reference);
    return this.#byReferrer.get(referrer)?.find((one) => targetOf(one) === target)?.standing;
  }

  /** Keys of all objects of one kind that are referred to. */
  *keysOf(kind: string): IterableIterator<Key> {
    for (const target of this.#referrers.keys()) {
      if (target.startsWith(`${kind} `)) yield target.slice(kind.length + 1);
    }
  }
}
