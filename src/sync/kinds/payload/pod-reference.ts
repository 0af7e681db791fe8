// References from a payload to Pods: a Pod has another name on the host. Pure.
import type { Renamed } from '../../plan/kind.ts';
import type { HostPlace } from '../../plan/placement.ts';

export interface ObjectReference {
  apiVersion?: string;
  kind?: string;
  name?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  fieldPath?: string;
}

export type PlaceOfPod = (pod: HostPlace) => HostPlace | undefined;

/** Name and namespace of the Pod on the host; each kind handles the other fields of the reference itself. */
export function translatePodReference(reference: ObjectReference, placeOfPod: PlaceOfPod): ObjectReference {
  const { name = '', namespace = '', ...kept } = reference;
  const place = placeOfPod({ name, namespace }) ?? { name: '', namespace: '' };
  return {
    ...kept,
    ...(place.name !== '' && { name: place.name }),
    ...(place.namespace !== '' && { namespace: place.namespace }),
  };
}

/** The Pod that translatePodReference() renames; undefined for a reference to anything else. */
export function renamedPod(reference: ObjectReference | undefined, placeOfPod: PlaceOfPod): Renamed | undefined {
  if (reference?.kind !== 'Pod') return undefined;
  const virtual = { name: reference.name ?? '', namespace: reference.namespace ?? '' };
  const host = placeOfPod(virtual);
  return host && { kind: 'Pod', virtual, host };
}

/** An API server stores a reference without its empty parts. */
export function storedReference(reference: ObjectReference): ObjectReference {
  for (const name in reference) {
    if (reference[name as keyof ObjectReference] !== '') continue;
    return Object.fromEntries(Object.entries(reference).filter(([, value]) => value !== ''));
  }
  return reference;
}
