// Where a virtual object stands on the host: one answer for a key, decided by the name mode and nothing else. Pure.
import { hostName } from '../../object/meta/names.ts';
import { type Key, splitKey } from '../../object/meta/object.ts';

export interface Place {
  namespace: string;
  name: string;
}

export interface NamespaceMapping {
  /** Host namespace of a mapped virtual one. */
  hostNamespaceOf(virtualNamespace: string): string | undefined;
  /** The way back; without it no host namespace is anybody's. */
  virtualNamespaceOf?(hostNamespace: string): string | undefined;
  /** An unmapped namespace is not synced at all, instead of falling back to rewritten names. */
  mappingsOnly: boolean;
}

export interface Placement {
  readonly mode: 'single' | 'mapped';
  readonly virtualCluster: string;
  readonly hostNamespace: string;
  /** `<HNS>/<VC>`: who owns a copy where names alone do not tell. */
  readonly instance: string;
  placeOf(key: Key): Place | undefined;
  /** Place of any namespaced thing the host has a copy of, for references. */
  placeOfObject(virtual: Place): Place | undefined;
  /** Whose names stand unchanged in a namespace of the host. */
  virtualNamespaceOf(hostNamespace: string): string | undefined;
}

export function createPlacement(options: {
  virtualCluster: string;
  hostNamespace: string;
  mapping?: NamespaceMapping | undefined;
}): Placement {
  const { virtualCluster, hostNamespace, mapping } = options;
  const rewritten = (virtual: Place): Place => ({
    namespace: virtual.namespace === '' ? '' : hostNamespace,
    name: hostName(virtual, virtualCluster),
  });
  const placeOfObject = (virtual: Place): Place | undefined => {
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
