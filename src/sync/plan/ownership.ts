// Whose host object this is, told from what is written on it and from nothing else: ours, ours for another key, a native
// one of Kubernetes, or somebody else's. Deleting and overwriting hang on this answer, so it errs towards "not ours".
import { type Key, keyOf } from '../../object/meta/object.ts';
import type { Place, Placement } from './placement.ts';
import {
  controlledByKey,
  instanceKey,
  managedAnnotationsKey,
  markerLabel,
  objectKeys,
  theSix,
} from './reserved-keys.ts';

export interface HostLook {
  namespace: string;
  name: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

export type Ownership =
  /** Ours for this key; `isDeletable` only with object-name and object-namespace both present and right. */
  | { kind: 'ours'; isDeletable: boolean }
  /** Ours by every mark, but for another virtual object. */
  | { kind: 'oursForOther'; key: Key }
  | { kind: 'native' }
  | { kind: 'foreign'; why: string };

export function judgeOwnership(host: HostLook, key: Key, placement: Placement): Ownership {
  const marks = marksOf(host);
  const annotatedKey = annotatedKeyOf(host);
  if (marks.length === 0) {
    // Another virtual cluster marks what it writes, even where one of its annotations went missing.
    const others = otherMarkerOf(host, placement);
    return others === undefined ? { kind: 'native' } : { kind: 'foreign', why: others };
  }
  const contradiction = contradictionOf(host, key);
  if (contradiction === undefined) {
    const why = missingProof(host, marks, placement);
    return why === undefined ? { kind: 'ours', isDeletable: annotatedKey === key } : { kind: 'foreign', why };
  }
  if (annotatedKey !== undefined && annotatedKey !== key && isOursFor(host, annotatedKey, placement)) {
    return { kind: 'oursForOther', key: annotatedKey };
  }
  return { kind: 'foreign', why: contradiction };
}

/** The virtual key that a host object says it is a copy of. */
export function annotatedKeyOf(host: Pick<HostLook, 'annotations'>): Key | undefined {
  const name = host.annotations?.[objectKeys.name];
  const namespace = host.annotations?.[objectKeys.namespace];
  return name && namespace ? keyOf(namespace, name) : undefined;
}

/** Ours, deletable, and standing where its own annotations say it stands. */
export function isOursFor(host: HostLook, key: Key, placement: Placement): boolean {
  if (annotatedKeyOf(host) !== key || contradictionOf(host, key) !== undefined) return false;
  return missingProof(host, marksOf(host), placement) === undefined;
}

/** Empty values say nothing: they are damage, not a claim. */
function marksOf(host: HostLook): string[] {
  return theSix.filter((mark) => Boolean(host.annotations?.[mark]));
}

function contradictionOf(host: HostLook, key: Key): string | undefined {
  const slash = key.indexOf('/');
  const wanted: [string, string][] = [
    [objectKeys.name, key.slice(slash + 1)],
    [objectKeys.namespace, key.slice(0, slash)],
    [objectKeys.hostName, host.name],
    [objectKeys.hostNamespace, host.namespace],
  ];
  for (const [annotation, value] of wanted) {
    const found = host.annotations?.[annotation];
    if (found && found !== value) return `its annotation ${annotation} is "${found}", not "${value}"`;
  }
  return undefined;
}

/** What is lacking before marks count as proof: anybody may copy one annotation, hardly anybody all of them. */
function missingProof(host: HostLook, marks: readonly string[], placement: Placement): string | undefined {
  if (host.labels?.[markerLabel] !== placement.virtualCluster && marks.length < theSix.length) {
    const lacking = `it lacks the label ${markerLabel}=${placement.virtualCluster} and some of the six object annotations`;
    return otherMarkerOf(host, placement) ?? lacking;
  }
  // In its own namespace a virtual cluster is alone and names tell whose a copy is, also one from before the mapping.
  if (placement.mode === 'mapped' && host.namespace !== placement.hostNamespace) {
    const copied = (host.annotations?.[managedAnnotationsKey] ?? '').split('\n');
    // vCluster's own syncer copies what a tenant has written there.
    if (copied.includes(instanceKey)) return `its annotation ${instanceKey} was copied from the tenant`;
    const instance = host.annotations?.[instanceKey];
    if (instance !== placement.instance) {
      return `its annotation ${instanceKey} is ${instance === undefined ? 'missing' : `"${instance}"`}, not "${placement.instance}"`;
    }
  }
  return undefined;
}

/** What its marker label says, if that is the name of another virtual cluster. An empty label says nothing. */
function otherMarkerOf(host: HostLook, { virtualCluster }: Placement): string | undefined {
  const marker = host.labels?.[markerLabel];
  if (!marker || marker === virtualCluster) return undefined;
  return `its label ${markerLabel} is "${marker}", not "${virtualCluster}"`;
}

export function isSamePlace(host: HostLook, place: Place | undefined): boolean {
  return place !== undefined && host.namespace === place.namespace && host.name === place.name;
}

/** As vCluster: any label value excludes, an annotation excludes unless it names this very syncer. */
export function isControlledByOther(
  object: { labels?: Record<string, string>; annotations?: Record<string, string> },
  syncerName: string,
): boolean {
  if (object.labels?.[controlledByKey]) return true;
  const annotation = object.annotations?.[controlledByKey];
  return annotation !== undefined && annotation !== '' && annotation !== syncerName;
}
