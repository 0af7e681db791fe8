// What the sync of one referring kind uses of the sync of references. In: its passes and counts. Out: the same with the name of
// the kind, and events on objects whose references lead nowhere.
import { type Key, keyOf } from '../../object/meta/object.ts';
import { shownKey } from '../plan/excerpt.ts';
import type { Facts } from '../plan/step.ts';
import type { Difference } from '../world/ledger.ts';
import type { ReferencePorts } from './reference-ports.ts';
import type { CountedReference, ReferenceRegistry } from './registry.ts';

/** Enough to find the mistake, few enough for one event. */
const namedUnresolved = 3;

/** The parts that all kinds share. */
export interface SharedReferences {
  readonly registry: ReferenceRegistry;
  /** The referring kind that started first. */
  readonly firstKind: string | undefined;
  start(kind: string, ports: ReferencePorts): Promise<void>;
  work(): void;
  stop(withinMs: number): Promise<void>;
  enqueueAll(): void;
  hurry(): void;
  setGauges(): void;
  differences(): Iterable<{ object: string; writes: readonly Difference[] }>;
}

export class Referrers {
  readonly kind: string;
  readonly #references: SharedReferences;
  #ports: ReferencePorts | undefined;

  constructor(kind: string, references: SharedReferences) {
    this.kind = kind;
    this.#references = references;
  }

  /** Resolves when the first lists of every named kind have arrived. */
  start(ports: ReferencePorts): Promise<void> {
    this.#ports = ports;
    return this.#references.start(this.kind, ports);
  }

  work(): void {
    this.#references.work();
  }

  stop(withinMs: number): Promise<void> {
    return this.#references.stop(withinMs);
  }

  enqueueAll(): void {
    this.#references.enqueueAll();
  }

  /** See Sync.hurry(). */
  hurry(): void {
    this.#references.hurry();
  }

  expect(key: Key): void {
    this.#references.registry.expect({ kind: this.kind, key });
  }

  /** All objects of the kind get a new pass; those that no longer exist are named one by one until `recounted`. */
  recount(keys: Iterable<Key>): void {
    const { registry } = this.#references;
    registry.hold(this.kind);
    for (const key of registry.recount(this.kind, keys)) this.#ports?.enqueue({ kind: this.kind, key });
    this.#references.enqueueAll();
  }

  recounted(): void {
    this.#references.registry.release(this.kind);
  }

  /** Records the result of a pass over a referring object. */
  note({ key, isDeleteWithheld, virtual }: Facts, references: readonly CountedReference[]): void {
    // The host copy stays for now, so the content behind its names stays as well.
    if (virtual === undefined && isDeleteWithheld) return;
    this.#references.registry.note({ kind: this.kind, key }, references);
    const unresolved = references.filter(({ standing }) => standing === 'unresolved');
    if (unresolved.length === 0 || virtual === undefined) return;
    const named = unresolved
      .slice(0, namedUnresolved)
      .map(
        ({ kind, namespace, name }) =>
          `${kind} "${shownKey(namespace === virtual.namespace ? name : keyOf(namespace, name))}"`,
      );
    const more = unresolved.length > namedUnresolved ? ` and ${unresolved.length - namedUnresolved} more` : '';
    const message = `Nothing stands behind the reference to ${named.join(', ')}${more}: there is no such object`;
    this.#ports?.tell({ kind: this.kind, key }, { reason: 'ReferenceUnresolved', message });
  }

  noteFailed(key: Key, references: readonly CountedReference[]): void {
    this.#references.registry.noteFailed({ kind: this.kind, key }, references);
  }

  /** The names in the host copy of the object, as its last pass counted them. */
  referencesOf(key: Key): readonly CountedReference[] {
    return this.#references.registry.referencesOf({ kind: this.kind, key });
  }

  setGauges(): void {
    this.#references.setGauges();
  }

  /** Writes of content that a dry run withholds. They belong to no kind of referrers, so the first kind alone tells of them. */
  differences(): Iterable<{ object: string; writes: readonly Difference[] }> {
    return this.#references.firstKind === this.kind ? this.#references.differences() : [];
  }
}
