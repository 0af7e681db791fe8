// The marks that say whose a host object is (DESIGN 2 and 3.4), and the ones that the daemon writes.

import { annotationsOf, labelsOf, listBelow, own, type TextMap } from './json.ts';
import { isReserved, MARKER, NAMESPACE_LABEL, type Naming, type Place } from './names.ts';
import type { Json, PlainKind, PlainObject } from './types.ts';

export const LEADER = 'control-plane.alpha.kubernetes.io/leader';
export const MANAGED_ANNOTATIONS = 'vcluster.loft.sh/managed-annotations';
export const BASE = 'hostward.dev/base';
export const INSTANCE = 'hostward.dev/instance';
export const SLICE_MANAGER = 'hostward.dev/managed-by';
export const IMPORTABLE = 'hostward.dev/importable';
export const IMPORTED_FROM = `hostward.dev/imported-from`;
export const SKIP = 'vcluster.loft.sh/skip-backsync';
export const SERVICE_NAME = 'kubernetes.io/service-name';
export const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
const SIX = ['name', 'namespace', 'uid', 'kind', 'host-name', 'host-namespace'].map(
  (part) => `vcluster.loft.sh/object-${part}`,
);

export const GROUP_KIND: { readonly [kind in PlainKind]: string } = {
  Service: '/v1, Kind=Service',
  Endpoints: '/v1, Kind=Endpoints',
  EndpointSlice: 'discovery.k8s.io/v1, Kind=EndpointSlice',
  Secret: '/v1, Kind=Secret',
  ConfigMap: '/v1, Kind=ConfigMap',
  Namespace: '/v1, Kind=Namespace',
};

export function sixOf(virtual: PlainObject, place: Place): TextMap {
  const values = [
    virtual.metadata.name,
    virtual.metadata.namespace,
    virtual.metadata.uid,
    GROUP_KIND[virtual.kind],
    place.name,
    place.namespace,
  ];
  return Object.fromEntries(SIX.map((key, at) => [key, values[at] ?? '']));
}

export const markerLabels = (namespace: string, naming: Naming): TextMap => ({
  [MARKER]: naming.virtualCluster,
  [NAMESPACE_LABEL]: namespace,
});

export const instanceOf = (naming: Naming): string => `${naming.hostNamespace}/${naming.virtualCluster}`;

/** `ours` also says whether both annotations are there without which nothing is deleted. */
export type Owner = 'ours' | 'native' | 'foreign';

/** Whose a host object is, seen from the virtual object `key` whose place is this one. */
export function ownerOf(
  host: PlainObject,
  key: { readonly namespace: string; readonly name: string },
  naming: Naming,
): Owner {
  const annotations = annotationsOf(host);
  const marker = own(labelsOf(host), MARKER);
  const right = [
    key.name,
    key.namespace,
    undefined,
    GROUP_KIND[host.kind],
    host.metadata.name,
    host.metadata.namespace,
  ];
  const given = SIX.map((annotation) => own(annotations, annotation));
  const count = given.filter((value) => value !== undefined).length;
  if (count === 0) return marker === undefined || marker === naming.virtualCluster ? 'native' : 'foreign';
  const contradicts = given.some((value, at) => value !== undefined && right[at] !== undefined && value !== right[at]);
  if (contradicts) return 'foreign';
  if (naming.isMapped && own(annotations, INSTANCE) !== instanceOf(naming)) return 'foreign';
  return marker === naming.virtualCluster || count === SIX.length ? 'ours' : 'foreign';
}

/** The virtual object that the annotations of a host object name. */
export function namedBy(host: PlainObject): { readonly namespace: string; readonly name: string } | undefined {
  const name = own(annotationsOf(host), 'vcluster.loft.sh/object-name');
  const namespace = own(annotationsOf(host), 'vcluster.loft.sh/object-namespace');
  return name === undefined || namespace === undefined ? undefined : { namespace, name };
}

export const uidOnHost = (host: PlainObject | undefined): string | undefined =>
  own(annotationsOf(host), 'vcluster.loft.sh/object-uid');

/** A mark of the host's people counts only if no tenant can have put it there (DESIGN 3.9). */
export function hostMark(host: PlainObject, virtual: PlainObject | undefined, key: string): string | undefined {
  const annotation = own(annotationsOf(host), key);
  const listed = (own(annotationsOf(host), MANAGED_ANNOTATIONS) ?? '').split('\n').includes(key);
  if (annotation !== undefined && !listed && own(annotationsOf(virtual), key) === undefined) return annotation;
  const label = own(labelsOf(host), key);
  return label !== undefined && own(labelsOf(virtual), key) === undefined ? label : undefined;
}

const NEVER_BACK = /^(?:endpoints\.kubernetes\.io\/|endpointslice\.kubernetes\.io\/)/u;
const NEVER_BACK_KEYS = [
  'kubectl.kubernetes.io/last-applied-configuration',
  'service.kubernetes.io/headless',
  SERVICE_NAME,
  LEADER,
];

export const goesNeverBack = (key: string): boolean => NEVER_BACK.test(key) || NEVER_BACK_KEYS.includes(key);

/** Keys that no patch sees or changes (DESIGN 4.8). */
export const isProtected = (key: string): boolean => isReserved(key) && !key.startsWith('vcluster.loft.sh/label-');

export function ownerReference(service: PlainObject, virtual: PlainObject): Json {
  const isControlled = listBelow(virtual, 'metadata', 'ownerReferences').some(
    (reference) => (reference as { controller?: boolean }).controller === true,
  );
  const { name, uid } = service.metadata;
  return { apiVersion: 'v1', kind: 'Service', name, uid, controller: isControlled };
}

/** Ours by its own annotations: where namespaces are mapped, a former mapping may have put it at a place that is not its key's (DESIGN 3.17). */
export function isStray(host: PlainObject, naming: Naming): boolean {
  const key = namedBy(host);
  return key !== undefined && naming.isMapped && ownerOf(host, key, naming) === 'ours';
}
