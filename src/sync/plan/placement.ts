// Computes the host namespace and name of a virtual object, and which virtual objects get the same. Only the name mode and the
// mapping decide. Pure.
import { hostName, nameSeparator, splitsOf } from '../../object/meta/names.ts';
import { type Key, keyOf, splitKey } from '../../object/meta/object.ts';

export interface HostPlace {
  namespace: string;
  name: string;
}

export interface NamespaceMapping {
  /** The host namespace that a virtual namespace is mapped to. */
  hostNamespaceOf(virtualNamespace: string): string | undefined;
  /** The reverse mapping; without it, no host namespace has a virtual one. */
  virtualNamespaceOf?(hostNamespace: string): string | undefined;
  /** An unmapped namespace is not synced at all, instead of falling back to rewritten names. */
  mappingsOnly: boolean;
}

export interface Placement {
  readonly mode: 'single' | 'mapped';
  readonly virtualCluster: string;
  readonly hostNamespace: string;
  /** `<HNS>/<VC>`: identifies the owner of a copy where two virtual clusters may have one name. */
  readonly instance: string;
  placeOf(key: Key): HostPlace | undefined;
  /** The host place of any referenced object, not only of the synced kind. */
  placeOfObject(virtual: HostPlace): HostPlace | undefined;
  /** The virtual namespace that is mapped to this host namespace: its objects keep their names there. */
  virtualNamespaceOf(hostNamespace: string): string | undefined;
}

export function createPlacement(options: {
  virtualCluster: string;
  hostNamespace: string;
  mapping?: NamespaceMapping | undefined;
}): Placement {
  const { virtualCluster, hostNamespace, mapping } = options;
  const rewritten = (virtual: HostPlace): HostPlace => rewrittenPlaceOf(virtual, { hostNamespace, virtualCluster });
  const placeOfObject = (virtual: HostPlace): HostPlace | undefined => {
    if (virtual.name === '') return { namespace: '', name: '' };
    if (mapping === undefined) return rewritten(virtual);
    const mapped = virtual.namespace === '' ? '' : mapping.hostNamespaceOf(virtual.namespace);
    if (mapped !== undefined) return { namespace: mapped, name: virtual.name };
    return mapping.mappingsOnly ? undefined : rewritten(virtual);
  };
  return {
    mode: mapping === undefined ? 'single' : 'mapped',
    virtualCluster,
    hostNamespace,
    instance: `${hostNamespace}/${virtualCluster}`,
    placeOfObject,
    virtualNamespaceOf: (namespace) => mapping?.virtualNamespaceOf?.(namespace),
    placeOf: (key) => placeOfObject(splitKey(key)),
  };
}

/** The place of an object whose namespace is not mapped. */
export function rewrittenPlaceOf(
  virtual: HostPlace,
  { hostNamespace, virtualCluster }: Pick<Placement, 'hostNamespace' | 'virtualCluster'>,
): HostPlace {
  return { namespace: virtual.namespace === '' ? '' : hostNamespace, name: hostName(virtual, virtualCluster) };
}

/** Whether some mapping of namespaces gives an object this host place: a mapped one keeps its name, the others get a rewritten one. */
export function canHaveBeenAt(host: HostPlace, key: Key, placement: Placement): boolean {
  const virtual = splitKey(key);
  if (host.name === virtual.name) return true;
  const rewritten = rewrittenPlaceOf(virtual, placement);
  return host.namespace === rewritten.namespace && host.name === rewritten.name;
}

/** Whether a former mapping may have put copies there: without a mapping now, only outside of the one namespace. */
export function mayHoldStrays(hostNamespace: string, placement: Placement): boolean {
  return placement.mode === 'mapped' || hostNamespace !== placement.hostNamespace;
}

/**
 * The other keys that get the host place of this key: "api-x-default" in "default" and "api" in "default-x-default", hashed or not.
 * They have other namespaces, and need not exist. Never so for objects of mapped namespaces, which keep their names.
 */
export function sameNamed(key: Key, placement: Placement): readonly Key[] {
  const { namespace, name } = splitKey(key);
  const joined = `${name}${nameSeparator}${namespace}`;
  // Nearly every name has one meaning, and this is asked a dozen times for each change.
  if (joined.indexOf(nameSeparator) === joined.lastIndexOf(nameSeparator)) return [];
  const splits = splitsOf(joined);
  const place = splits.length > 1 ? placement.placeOf(key) : undefined;
  if (place === undefined) return [];
  const others = splits.filter((one) => {
    if (one.name === name) return false;
    const found = placement.placeOfObject(one);
    return found?.namespace === place.namespace && found.name === place.name;
  });
  return others.map((one) => keyOf(one.namespace, one.name));
}
