// Translates the names of referenced objects to the host and back. In: kind, namespace and name on one side. Out: a place on
// the other side, or the reason why it has no place there. The way back remembers nothing, so that it works after a restart: it
// parses a long name, and finds a generated name by generating the names of the objects that exist now.
import { apiServerKinds } from '../../config/settings/table/patch-rules.ts';
import { generatedName, hasGivenForm, hostName, splitHostName } from '../../object/meta/names.ts';
import { type Key, keyOf, splitKey } from '../../object/meta/object.ts';
import type { HostPlace, Placement } from '../plan/placement.ts';

export type Naming = 'generated' | 'vcluster';
/** Names of both namings are turned back: vCluster's own copy of an object has the long name even where Hostward writes generated ones. */
const namings: readonly Naming[] = ['generated', 'vcluster'];

/** An object of the virtual cluster that a patched field names. */
export interface Reference {
  kind: string;
  namespace: string;
  name: string;
}

/** Which object has a name on the host. */
export type ReferenceStanding =
  /** Hostward writes the name and keeps no object behind it. */
  | 'named'
  /** Hostward keeps a copy of the virtual object there. */
  | 'exported'
  /** The object is the host's own, and the tenant gets a copy. */
  | 'imported'
  /** Nothing is known of it on either side. */
  | 'unresolved';

export interface Resolution {
  place: HostPlace;
  standing: ReferenceStanding;
}

/** What a name on the host means to the tenant. */
export type TurnedBack =
  | { kind: 'known'; place: HostPlace }
  /**
   * It is the host name of no object of the tenant, so it must not be written there, whatever its form: the next pass would translate
   * it to the host a second time. `isEarly`: not all objects are known yet.
   */
  | { kind: 'lost'; isEarly: boolean };

export interface HostReference {
  kind: string;
  host: HostPlace;
  /** The virtual namespace that is meant. */
  namespace: string;
  /** A field next to the name holds the namespace and is translated with it: the object may be in another one. */
  mayBeElsewhere: boolean;
}

export interface ReferenceResolver {
  /** Undefined when the namespace has no place on the host; `naming` is for this reference alone. */
  toHost(reference: Reference, placement: Placement, naming?: Naming): Resolution | undefined;
  toVirtual(reference: HostReference, placement: Placement, naming?: Naming): TurnedBack;
}

/** Objects of both sides by their virtual keys: only they can tell which object a generated name belongs to. */
export interface KnownObjects {
  has(reference: Reference): boolean;
  keys(kind: string): Iterable<Key>;
  /** False as long as existing objects may be missing. */
  readonly areAll: boolean;
}

/** Every kind that a reference can name is of the core group. */
export const referenceApiVersion = 'v1';

const apiServer: HostPlace = { namespace: 'default', name: 'kubernetes' };

/** The place of the copy of a virtual object, whether Hostward or vCluster makes the copy. */
export function copyPlaceOf(
  reference: Reference,
  { placement, naming }: { placement: Placement; naming: Naming },
): HostPlace | undefined {
  const { virtualCluster, hostNamespace, mode } = placement;
  const { kind, namespace, name } = reference;
  const place = placement.placeOfObject({ namespace, name });
  const isMapped = mode === 'mapped' && place?.name === name;
  if (place === undefined || isMapped) return place;
  if (naming === 'generated') return generatedPlaceOf(reference, placement);
  // vCluster's one exception: the API server of the virtual cluster is the Service named like it.
  const isApiServer = name === apiServer.name && namespace === apiServer.namespace && apiServerKinds.includes(kind);
  return isApiServer ? { namespace: hostNamespace, name: virtualCluster } : place;
}

export function generatedPlaceOf(reference: Reference, { hostNamespace, virtualCluster }: Placement): HostPlace {
  return { namespace: hostNamespace, name: generatedName(reference, virtualCluster) };
}

/** The host place of an object that has the same name on both sides. */
export function sameNamePlaceOf(reference: Reference, placement: Placement): HostPlace | undefined {
  const place = placement.placeOfObject(reference);
  return place === undefined ? undefined : { namespace: place.namespace, name: reference.name };
}

export class ReferenceNames implements ReferenceResolver {
  readonly #naming: () => Naming;
  readonly #standingOf: (reference: Reference, placement: Placement) => ReferenceStanding;
  readonly #known: KnownObjects;
  readonly #given: GivenNames | undefined;
  readonly #indexes = new Map<string, NameIndex>();

  constructor(options: {
    naming: () => Naming;
    standingOf?: (reference: Reference, placement: Placement) => ReferenceStanding;
    /** Without it only objects are known that a reference has named before. */
    known?: KnownObjects;
  }) {
    this.#naming = options.naming;
    this.#standingOf = options.standingOf ?? (() => 'named');
    this.#given = options.known === undefined ? new GivenNames() : undefined;
    this.#known = options.known ?? (this.#given as KnownObjects);
  }

  toHost(reference: Reference, placement: Placement, naming = this.#naming()): Resolution | undefined {
    const resolution = this.#resolve(reference, placement, naming);
    if (resolution !== undefined && resolution.standing !== 'imported') this.#given?.add(reference);
    return resolution;
  }

  #resolve(reference: Reference, placement: Placement, naming: Naming): Resolution | undefined {
    const standing = this.#standingOf(reference, placement);
    const isSame = standing === 'imported';
    const place = isSame ? sameNamePlaceOf(reference, placement) : copyPlaceOf(reference, { placement, naming });
    return place && { place, standing };
  }

  toVirtual(reference: HostReference, placement: Placement, naming = this.#naming()): TurnedBack {
    const { kind, host, namespace, mayBeElsewhere } = reference;
    const same = { namespace, name: host.name };
    // The name of an import, and every name of a mapped namespace, is the tenant's already.
    const asIs = this.#resolve({ kind, ...same }, placement, naming);
    if (asIs !== undefined && isAt(asIs.place, host)) return { kind: 'known', place: same };
    const isMeant = (one: HostPlace): boolean => mayBeElsewhere || one.namespace === namespace;
    const named = this.#namedBy(reference, placement, naming);
    const meant = named.filter(isMeant);
    const found = meant.length > 1 ? meant.filter((one) => this.#known.has({ kind, ...one })) : meant;
    if (found.length === 1) return { kind: 'known', place: found[0] as HostPlace };
    const mapped = named.length > 0 ? undefined : placement.virtualNamespaceOf(host.namespace);
    const inMapped = mapped !== undefined && { namespace: mapped, name: host.name };
    if (inMapped && isMeant(inMapped)) return { kind: 'known', place: inMapped };
    return { kind: 'lost', isEarly: !this.#known.areAll };
  }

  /** The virtual objects that get this place on the host, by whichever naming. */
  #namedBy({ kind, host }: HostReference, placement: Placement, naming: Naming): HostPlace[] {
    const { virtualCluster } = placement;
    const index = this.#indexes.get(kind) ?? new NameIndex(kind, this.#known);
    this.#indexes.set(kind, index);
    const indexed = index.find(host.name, virtualCluster).map(splitKey);
    const found = [...splitHostName(host.name, virtualCluster), ...indexed];
    if (naming === 'vcluster' && apiServerKinds.includes(kind)) found.push(apiServer);
    const named = found.filter((one) =>
      namings.some((by) => isAt(copyPlaceOf({ kind, ...one }, { placement, naming: by }), host)),
    );
    return [...new Map(named.map((one) => [keyOf(one.namespace, one.name), one])).values()];
  }
}

function isAt(place: HostPlace | undefined, { namespace, name }: HostPlace): boolean {
  return place?.namespace === namespace && place.name === name;
}

/** Host name to virtual key, for one kind. The names follow from the keys alone; whether an object exists is asked each time. */
class NameIndex {
  readonly #kind: string;
  readonly #known: KnownObjects;
  readonly #keys = new Map<string, Key[]>();
  #indexed = new Set<Key>();

  constructor(kind: string, known: KnownObjects) {
    this.#kind = kind;
    this.#known = known;
  }

  find(hostName: string, virtualCluster: string): readonly Key[] {
    if (!hasGivenForm(hostName)) return [];
    const found = this.#standing(hostName);
    if (found.length > 0) return found;
    this.#extend(virtualCluster);
    return this.#standing(hostName);
  }

  #standing(hostName: string): Key[] {
    const keys = this.#keys.get(hostName) ?? [];
    return keys.filter((key) => this.#known.has({ kind: this.#kind, ...splitKey(key) }));
  }

  #extend(virtualCluster: string): void {
    const now = new Set(this.#known.keys(this.#kind));
    if (this.#indexed.size > 2 * now.size + forgottenKeys) {
      this.#keys.clear();
      this.#indexed.clear();
    }
    for (const key of now) {
      if (this.#indexed.has(key)) continue;
      this.#indexed.add(key);
      const virtual = splitKey(key);
      for (const name of [generatedName(virtual, virtualCluster), hostName(virtual, virtualCluster)]) {
        this.#keys.set(name, [...(this.#keys.get(name) ?? []), key]);
      }
    }
  }
}

/** Keys of objects that are gone, kept in an index until there are so many more of them than of existing ones. */
const forgottenKeys = 1000;

/** A command without clusters knows only what it has translated itself; it ends before that is much. */
class GivenNames implements KnownObjects {
  readonly #keys = new Map<string, Set<Key>>();
  readonly areAll = true;

  add({ kind, namespace, name }: Reference): void {
    const keys = this.#keys.get(kind) ?? new Set();
    this.#keys.set(kind, keys.add(keyOf(namespace, name)));
  }

  has({ kind, namespace, name }: Reference): boolean {
    return this.#keys.get(kind)?.has(keyOf(namespace, name)) ?? false;
  }

  keys(kind: string): Iterable<Key> {
    return this.#keys.get(kind) ?? [];
  }
}
