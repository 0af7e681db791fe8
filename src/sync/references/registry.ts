// Counts references from the current state: every pass over a virtual object reports the names in its host copy. The objects
// that refer may be of several kinds, and one reference of any kind is enough to keep an object. Until all objects of every
// kind have had their pass since the last count began, it is not known that nothing refers to an object.
import { type Key, keyOf } from '../../object/meta/object.ts';
import type { Reference, ReferenceStanding } from './reference-names.ts';

export interface CountedReference extends Reference {
  /** The standing of the reference when its name was written. */
  standing: ReferenceStanding;
}

/** An object that refers to others. */
export interface Referrer {
  kind: string;
  key: Key;
}

/** `<kind> <namespace>/<name>`. */
export type ReferenceTarget = string;

export function targetOf({ kind, namespace, name }: Reference): ReferenceTarget {
  return `${kind} ${keyOf(namespace, name)}`;
}

/** The count over the objects of one kind. */
class KindCount {
  readonly kind: string;
  readonly byReferrer = new Map<Key, readonly CountedReference[]>();
  readonly referrers = new Map<ReferenceTarget, Set<Key>>();
  readonly uncounted = new Set<Key>();
  /** Objects whose last pass failed before all their references were known; their host copies are not changed. */
  readonly unsure = new Set<Key>();
  hasBegun = false;
  isHeld = false;

  constructor(kind: string) {
    this.kind = kind;
  }

  get isComplete(): boolean {
    return this.hasBegun && !this.isHeld && this.uncounted.size === 0;
  }

  /** Returns the references whose referrers of this kind have changed. */
  replace(referrer: Key, references: readonly CountedReference[]): Iterable<Reference> {
    const before = this.byReferrer.get(referrer) ?? [];
    if (references.length > 0) this.byReferrer.set(referrer, references);
    else this.byReferrer.delete(referrer);
    const after = new Set(references.map(targetOf));
    const changed = new Map<ReferenceTarget, Reference>();
    for (const one of references) {
      const target = targetOf(one);
      const referrers = this.referrers.get(target) ?? new Set();
      if (!referrers.has(referrer)) changed.set(target, one);
      this.referrers.set(target, referrers.add(referrer));
    }
    for (const one of before) {
      const target = targetOf(one);
      const referrers = this.referrers.get(target);
      if (after.has(target) || !referrers?.delete(referrer)) continue;
      if (referrers.size === 0) this.referrers.delete(target);
      changed.set(target, one);
    }
    return changed.values();
  }
}

export class ReferenceRegistry {
  readonly #changed: (reference: Reference) => void;
  readonly #completed: () => void;
  readonly #counts = new Map<string, KindCount>();
  /** Kinds whose patches name content. */
  #expected: ReadonlySet<string> = new Set();

  constructor(options: { changed: (reference: Reference) => void; completed: () => void }) {
    this.#changed = options.changed;
    this.#completed = options.completed;
  }

  /** The count is incomplete until each of these kinds has been counted: the host copies of an uncounted kind may refer. */
  expectKinds(kinds: ReadonlySet<string>): void {
    const wasComplete = this.isComplete;
    this.#expected = kinds;
    if (!wasComplete && this.isComplete) this.#completed();
  }

  /** Expected kinds that have not begun to count. */
  get absentKinds(): readonly string[] {
    return [...this.#expected].filter((kind) => !this.hasBegun(kind));
  }

  hasBegun(kind: string): boolean {
    return this.#counts.get(kind)?.hasBegun === true;
  }

  /**
   * Begins a new count for these keys; known references stay until each key has had its pass. Returns further keys that need a
   * pass: their objects may have gone in the meantime.
   */
  recount(kind: string, referrers: Iterable<Key>): readonly Key[] {
    const count = this.#countOf(kind);
    count.hasBegun = true;
    const named = new Set(referrers);
    const others = new Set([...count.uncounted, ...count.byReferrer.keys(), ...count.unsure]);
    for (const key of [...named, ...others]) count.uncounted.add(key);
    if (this.isComplete) this.#completed();
    return [...others].filter((key) => !named.has(key));
  }

  /** The object has changed, so its references are unknown until its next pass. */
  expect({ kind, key }: Referrer): void {
    this.#countOf(kind).uncounted.add(key);
  }

  /** Not all referring objects of the kind are named yet: the count is incomplete until release(). */
  hold(kind: string): void {
    this.#countOf(kind).isHeld = true;
  }

  release(kind: string): void {
    this.#countOf(kind).isHeld = false;
    if (this.isComplete) this.#completed();
  }

  get isComplete(): boolean {
    const counts = [...this.#counts.values()];
    return counts.length > 0 && counts.every((count) => count.isComplete) && this.absentKinds.length === 0;
  }

  *unsure(): IterableIterator<Referrer> {
    for (const { kind, unsure } of this.#counts.values()) for (const key of unsure) yield { kind, key };
  }

  note(referrer: Referrer, references: readonly CountedReference[]): void {
    const count = this.#countOf(referrer.kind);
    const wasUnsure = count.unsure.delete(referrer.key);
    this.#replace(count, referrer.key, references);
    // A repeated pass is not waited for, and content that only its earlier host copy named may go now.
    if (!this.#finish(count, referrer.key) && wasUnsure && this.isComplete) this.#completed();
  }

  /** The host copy stays as it was, so its known references stay too. */
  noteFailed(referrer: Referrer, references: readonly CountedReference[]): void {
    const count = this.#countOf(referrer.kind);
    count.unsure.add(referrer.key);
    const before = count.byReferrer.get(referrer.key) ?? [];
    const found = new Set(references.map(targetOf));
    const kept = before.filter((one) => !found.has(targetOf(one)));
    this.#replace(count, referrer.key, [...references, ...kept]);
    this.#finish(count, referrer.key);
  }

  #countOf(kind: string): KindCount {
    const count = this.#counts.get(kind) ?? new KindCount(kind);
    this.#counts.set(kind, count);
    return count;
  }

  #finish({ uncounted }: KindCount, referrer: Key): boolean {
    if (!uncounted.delete(referrer)) return false;
    if (this.isComplete) this.#completed();
    return true;
  }

  #replace(count: KindCount, referrer: Key, references: readonly CountedReference[]): void {
    for (const reference of count.replace(referrer, references)) this.#changed(reference);
  }

  isReferenced(reference: Reference): boolean {
    const target = targetOf(reference);
    return [...this.#counts.values()].some(({ referrers }) => referrers.has(target));
  }

  referrersOf(reference: Reference): readonly Referrer[] {
    const target = targetOf(reference);
    return [...this.#counts.values()].flatMap(({ kind, referrers }) =>
      [...(referrers.get(target) ?? [])].map((key) => ({ kind, key })),
    );
  }

  referencesOf({ kind, key }: Referrer): readonly CountedReference[] {
    return this.#counts.get(kind)?.byReferrer.get(key) ?? [];
  }

  /** References to objects that were found on neither side, with one object that refers to each. */
  *unresolved(kind: string): IterableIterator<{ reference: CountedReference; referrer: Referrer }> {
    const seen = new Set<ReferenceTarget>();
    for (const count of this.#counts.values()) {
      for (const [key, references] of count.byReferrer) {
        for (const reference of references) {
          if (reference.kind !== kind || reference.standing !== 'unresolved' || seen.has(targetOf(reference))) continue;
          seen.add(targetOf(reference));
          yield { reference, referrer: { kind: count.kind, key } };
        }
      }
    }
  }

  /** The standing that the last pass of this referring object found. */
  standingSaid(referrer: Referrer, reference: Reference): ReferenceStanding | undefined {
    const target = targetOf(reference);
    return this.referencesOf(referrer).find((one) => targetOf(one) === target)?.standing;
  }

  /** Keys of all objects of one kind that are referred to; a key comes once for each kind that refers to it. */
  *keysOf(kind: string): IterableIterator<Key> {
    for (const { referrers } of this.#counts.values()) {
      for (const target of referrers.keys()) if (target.startsWith(`${kind} `)) yield target.slice(kind.length + 1);
    }
  }
}
