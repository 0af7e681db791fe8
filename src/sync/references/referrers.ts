// The objects of one kind that refer. In: their passes. Out: the count of what they refer to, and events on objects whose references
// lead nowhere.

import { type Key, keyOf } from '../../object/meta/object.ts';
import { andMore } from '../../object/text/in-words.ts';
import { shownKey } from '../plan/excerpt.ts';
import type { Facts } from '../plan/step.ts';
import type { Unread } from '../world/unread.ts';
import { type NothingBehind, nothingBehind } from './nothing-behind.ts';
import type { Reference } from './reference-names.ts';
import type { ReferencePorts } from './reference-ports.ts';
import { type CountedReference, type ReferenceRegistry, targetOf } from './registry.ts';

/** Enough to find the mistake, few enough for one event. */
const namedUnresolved = 3;

/** What is behind one name on the host. */
export interface ReferenceBehind {
  /** The kind and the virtual key. */
  object: string;
  /**
   * As when the name was written; `refused/REASON`, `waiting/REASON` or `retry` while its content is not there, and `unread` while nobody
   * knows whether the object is.
   */
  standing: string;
  message?: string;
}

export type ContentStanding = Pick<ReferenceBehind, 'standing' | 'message'>;

interface ReferrersOptions {
  registry: ReferenceRegistry;
  ports: () => Pick<ReferencePorts, 'enqueue' | 'tell'> | undefined;
  /** What keeps the content from being there; undefined when it is there, or not wanted. */
  contentOf: (reference: Reference) => ContentStanding | undefined;
  /** What cannot be read of a kind that references name. */
  unreadOf: (kind: string) => readonly Unread[];
}

export class Referrers {
  readonly #kind: string;
  readonly #registry: ReferenceRegistry;
  readonly #ports: ReferrersOptions['ports'];
  readonly #contentOf: ReferrersOptions['contentOf'];
  readonly #unreadOf: ReferrersOptions['unreadOf'];

  constructor(kind: string, { registry, ports, contentOf, unreadOf }: ReferrersOptions) {
    this.#kind = kind;
    this.#registry = registry;
    this.#ports = ports;
    this.#contentOf = contentOf;
    this.#unreadOf = unreadOf;
  }

  expect(key: Key): void {
    this.#registry.expect({ kind: this.#kind, key });
  }

  /** All objects of the kind get a new pass; those that no longer exist are named one by one until `recounted`. */
  recount(keys: Iterable<Key>): void {
    this.#registry.hold(this.#kind);
    for (const key of this.#registry.recount(this.#kind, keys)) this.#ports()?.enqueue({ kind: this.#kind, key });
  }

  recounted(): void {
    this.#registry.release(this.#kind);
  }

  /** Records the result of a pass over a referring object. */
  note({ key, isDeleteWithheld, virtual }: Facts, references: readonly CountedReference[]): void {
    // While its delete is withheld, the host copy stays, and with it the content behind its names.
    if (virtual === undefined && isDeleteWithheld) return;
    this.#registry.note({ kind: this.#kind, key }, references);
    const unresolved = references.filter(({ standing }) => standing === 'unresolved');
    if (unresolved.length === 0 || virtual === undefined) return;
    const named = unresolved
      .slice(0, namedUnresolved)
      .map(
        ({ kind, namespace, name }) =>
          `${kind} "${shownKey(namespace === virtual.namespace ? name : keyOf(namespace, name))}"`,
      );
    const all = `${named.join(', ')}${andMore(unresolved.length - namedUnresolved)}`;
    const unread = unresolved.map((one) => this.#nothingBehind(one)).find(({ standing }) => standing === 'unread');
    const message =
      unread === undefined
        ? `Nothing stands behind the reference to ${all}: there is no such object`
        : `Nothing is known to stand behind the reference to ${all}: ${unread.why}`;
    this.#ports()?.tell({ kind: this.#kind, key }, { reason: 'ReferenceUnresolved', message });
  }

  noteFailed(key: Key, references: readonly CountedReference[]): void {
    this.#registry.noteFailed({ kind: this.#kind, key }, references);
  }

  /** The names in the host copy of the object, as its last pass counted them, and what has become of each since. */
  behind(key: Key): ReferenceBehind[] {
    return this.#registry.referencesOf({ kind: this.#kind, key }).map((one) => {
      const written: ContentStanding = { standing: one.standing };
      const { standing, message } =
        one.standing === 'unresolved' ? this.#found(one) : (this.#contentOf(one) ?? written);
      return { object: targetOf(one), standing, ...(message !== undefined && { message }) };
    });
  }

  /** The kinds of referenced objects that cannot be read now: what is known of such objects may be old. */
  unread(key: Key): Unread[] {
    const named = this.#registry.referencesOf({ kind: this.#kind, key }).filter((one) => one.standing !== 'unresolved');
    return [...new Set(named.map(({ kind }) => kind))].flatMap((kind) => this.#unreadOf(kind));
  }

  #found(reference: Reference): ContentStanding {
    const { standing, why } = this.#nothingBehind(reference);
    return { standing, message: why };
  }

  #nothingBehind(reference: Reference): NothingBehind {
    return nothingBehind(reference, this.#unreadOf(reference.kind));
  }
}
