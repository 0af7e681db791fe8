// The objects whose host names can be turned back: all that a window of any sync shows, and all that are referred to. Until every
// object has had a pass under the current rules, the names in their own text replace the count. Remembers nothing else.
import { type Key, keyOf } from '../../object/meta/object.ts';
import type { KnownObjects, Reference } from './reference-names.ts';
import type { ReferencePorts } from './reference-ports.ts';
import { type ReferenceRegistry, type ReferenceTarget, targetOf } from './registry.ts';

/** What is known of the content of one kind: the virtual objects, and those that a copy on the host names. */
export interface ContentKeys {
  hasEither(key: Key): boolean;
  keysOfEither(): Iterable<Key>;
}

export interface StandingObjectsOptions {
  registry: ReferenceRegistry;
  /** Undefined before a kind that refers has started. */
  ports: () => ReferencePorts | undefined;
  contentOf: (kind: string) => ContentKeys | undefined;
}

export class StandingObjects implements KnownObjects {
  readonly #options: StandingObjectsOptions;
  /** References as written in the virtual objects, before the count has them all. */
  #read: ReadonlyMap<ReferenceTarget, Reference> | undefined;
  areAll = false;

  constructor(options: StandingObjectsOptions) {
    this.#options = options;
  }

  /** The rules have changed: earlier names may appear until every object has had its pass. */
  begin(): void {
    this.#read = undefined;
    this.areAll = false;
  }

  counted(): void {
    this.#read = undefined;
    this.areAll = true;
  }

  has(reference: Reference): boolean {
    const { registry, ports, contentOf } = this.#options;
    const key = keyOf(reference.namespace, reference.name);
    if (registry.isReferenced(reference) || this.#readNow().has(targetOf(reference))) return true;
    return contentOf(reference.kind)?.hasEither(key) ?? ports()?.virtualOf(reference.kind)?.has(key) ?? false;
  }

  *keys(kind: string): Iterable<Key> {
    const { registry, ports, contentOf } = this.#options;
    yield* registry.keysOf(kind);
    for (const one of this.#readNow().values()) if (one.kind === kind) yield keyOf(one.namespace, one.name);
    yield* contentOf(kind)?.keysOfEither() ?? ports()?.virtualOf(kind)?.keys() ?? [];
  }

  #readNow(): ReadonlyMap<ReferenceTarget, Reference> {
    if (this.areAll) return none;
    this.#read ??= new Map([...(this.#options.ports()?.namedInText() ?? [])].map((one) => [targetOf(one), one]));
    return this.#read;
  }
}

const none: ReadonlyMap<ReferenceTarget, Reference> = new Map();
