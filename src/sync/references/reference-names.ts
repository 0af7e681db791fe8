// Translates the names of objects that are referred to, to the host and back. In: kind, namespace and name as the tenant wrote
// them. Out: a place on the other side, or undefined. It remembers the names that it has given, because a generated name does
// not tell the name that it was made from.
import { apiServerKinds } from '../../config/settings/patch-rules.ts';
import { generatedName } from '../../object/meta/names.ts';
import type { Place, Placement } from '../plan/placement.ts';

export type Naming = 'generated' | 'vcluster';

/** An object of the virtual cluster that a patched field names. */
export interface Reference {
  kind: string;
  namespace: string;
  name: string;
}

/** Which object stands behind a name on the host. */
export type Standing =
  /** Hostward writes the name and keeps no object behind it. */
  | 'named'
  /** Hostward keeps a copy of the virtual object there. */
  | 'exported'
  /** The object is the host's own, and the tenant gets a copy. */
  | 'imported'
  /** Neither cluster has it. */
  | 'unresolved';

export interface Resolution {
  place: Place;
  standing: Standing;
}

export interface ReferenceResolver {
  /** Undefined when the namespace has no place on the host; `naming` is for this reference alone. */
  toHost(reference: Reference, placement: Placement, naming?: Naming): Resolution | undefined;
  /** Undefined for a host name that we have never given. */
  toVirtual(kind: string, host: Place): Place | undefined;
}

/** Every kind that a reference can name is of the core group. */
export const referenceApiVersion = 'v1';

/** Names remembered for the way back. Beyond it the oldest are forgotten, and flow back as the host spells them. */
const memoryLimit = 100_000;

/** The place of the copy of a virtual object, whether Hostward or vCluster makes the copy. */
export function copyPlaceOf(
  reference: Reference,
  { placement, naming }: { placement: Placement; naming: Naming },
): Place | undefined {
  const { virtualCluster, hostNamespace, mode } = placement;
  const { kind, namespace, name } = reference;
  const place = placement.placeOfObject({ namespace, name });
  const isMapped = mode === 'mapped' && place?.name === name;
  if (place === undefined || isMapped) return place;
  if (naming === 'generated') return generatedPlaceOf(reference, placement);
  // vCluster's one exception: the API server of the virtual cluster is the Service named like it.
  const isApiServer = name === 'kubernetes' && namespace === 'default' && apiServerKinds.includes(kind);
  return isApiServer ? { namespace: hostNamespace, name: virtualCluster } : place;
}

export function generatedPlaceOf(reference: Reference, { hostNamespace, virtualCluster }: Placement): Place {
  return { namespace: hostNamespace, name: generatedName(reference, virtualCluster) };
}

/** The host place of an object that has the same name on both sides. */
export function sameNamePlaceOf(reference: Reference, placement: Placement): Place | undefined {
  const place = placement.placeOfObject(reference);
  return place === undefined ? undefined : { namespace: place.namespace, name: reference.name };
}

export class ReferenceNames implements ReferenceResolver {
  readonly #naming: () => Naming;
  readonly #standingOf: (reference: Reference, placement: Placement) => Standing;
  readonly #copiedAt: (kind: string, host: Place) => Place | undefined;
  readonly #given = new Map<string, Place>();

  constructor(options: {
    naming: () => Naming;
    standingOf?: (reference: Reference, placement: Placement) => Standing;
    /** The virtual object that a copy on the host names in its annotations. */
    copiedAt?: (kind: string, host: Place) => Place | undefined;
  }) {
    this.#naming = options.naming;
    this.#standingOf = options.standingOf ?? (() => 'named');
    this.#copiedAt = options.copiedAt ?? (() => undefined);
  }

  toHost(reference: Reference, placement: Placement, naming = this.#naming()): Resolution | undefined {
    const standing = this.#standingOf(reference, placement);
    if (standing === 'imported') {
      const place = sameNamePlaceOf(reference, placement);
      return place && { place, standing };
    }
    const place = copyPlaceOf(reference, { placement, naming });
    if (place === undefined) return undefined;
    this.note(reference, place);
    return { place, standing };
  }

  toVirtual(kind: string, host: Place): Place | undefined {
    return this.#given.get(idOf(kind, host)) ?? this.#copiedAt(kind, host);
  }

  note({ kind, namespace, name }: Reference, host: Place): void {
    const id = idOf(kind, host);
    if (this.#given.has(id)) return;
    this.#given.set(id, { namespace, name });
    if (this.#given.size > memoryLimit) this.#given.delete(this.#given.keys().next().value as string);
  }
}

function idOf(kind: string, { namespace, name }: Place): string {
  return `${kind} ${namespace}/${name}`;
}
