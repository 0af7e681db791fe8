// Judges the owner of a host object from its labels and annotations alone: us, us for another key, Kubernetes itself, or a
// stranger. Deletes and overwrites depend on this verdict, so in doubt it says "not ours".
import { type Key, keyOf, splitKey } from '../../object/meta/object.ts';
import {
  controlledByKey,
  copiedAnnotations,
  instanceKey,
  markerLabel,
  objectKeys,
  theSix,
} from './keys/reserved-keys.ts';
import { type HostPlace, type Placement, rewrittenPlaceOf } from './placement.ts';

export interface HostLook {
  namespace: string;
  name: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

export type Ownership =
  /** Ours for this key. `isDeletable` requires that object-name and object-namespace are both present and right. */
  | { kind: 'ours'; isDeletable: boolean }
  /** Ours by every mark, but for another virtual object. */
  | { kind: 'oursForOther'; key: Key }
  | { kind: 'native' }
  | { kind: 'foreign'; why: string };

export function judgeOwnership(host: HostLook, key: Key, placement: Placement): Ownership {
  const marks = marksOf(host);
  const annotatedKey = annotatedKeyOf(host);
  if (marks.length === 0) {
    // The marker label still shows the owner when another virtual cluster's object has lost its annotations.
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

/** Whether the object is ours, deletable, and at the place that its own annotations name. */
export function isOursFor(host: HostLook, key: Key, placement: Placement): boolean {
  if (annotatedKeyOf(host) !== key || contradictionOf(host, key) !== undefined) return false;
  return missingProof(host, marksOf(host), placement) === undefined;
}

/**
 * Why an object is not provably a copy of ours, judged by the object alone; undefined when it is. Without a look at the virtual cluster the
 * name is the only witness for the annotations: who changes object-name, or copies a copy under another name, makes both disagree.
 */
export function doubtOf(host: HostLook, kindAnnotation: string, placement: Placement): string | undefined {
  const key = annotatedKeyOf(host);
  if (key === undefined) {
    const lacking = [objectKeys.name, objectKeys.namespace].filter((annotation) => !host.annotations?.[annotation]);
    return `it lacks the annotation ${lacking.join(' and ')}`;
  }
  const why = contradictionOf(host, key) ?? missingProof(host, marksOf(host), placement);
  if (why !== undefined) return why;
  const kind = host.annotations?.[objectKeys.kind];
  if (kind && kind !== kindAnnotation) return `its annotation ${objectKeys.kind} is "${kind}", not "${kindAnnotation}"`;
  const place = placement.placeOf(key);
  // Copies from before the namespaces were mapped have the long name, which names their object.
  if (isSamePlace(host, place) || isSamePlace(host, rewrittenPlaceOf(splitKey(key), placement))) return undefined;
  const elsewhere =
    place === undefined ? 'has no copy on the host' : `has its copy at "${keyOf(place.namespace, place.name)}"`;
  return `its annotations make it the copy of "${key}", which ${elsewhere}`;
}

/** The claimant that owns the host copy. A damaged copy goes to the only claimant that its annotations do not contradict. */
export function incumbentOf(
  host: HostLook,
  claimants: readonly { key: Key; uid: string }[],
  placement: Placement,
): Key | undefined {
  const annotated = annotatedKeyOf(host);
  if (annotated !== undefined && isOursFor(host, annotated, placement)) return annotated;
  const possible = claimants.filter(({ key }) => judgeOwnership(host, key, placement).kind === 'ours');
  const holder = possible.find(({ uid }) => uid === host.annotations?.[objectKeys.uid]);
  return (holder ?? (possible.length === 1 ? possible[0] : undefined))?.key;
}

/** Whether at least one of the six is there. */
export function hasMarks(host: HostLook): boolean {
  return marksOf(host).length > 0;
}

/** An empty value is damage, not a claim, so it does not count as a mark. */
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

/** Explains why the marks are no proof: users may copy one annotation by accident, but hardly ever all six. */
function missingProof(host: HostLook, marks: readonly string[], placement: Placement): string | undefined {
  if (host.labels?.[markerLabel] !== placement.virtualCluster && marks.length < theSix.length) {
    const lacking = `it lacks the label ${markerLabel}=${placement.virtualCluster} and some of the six object annotations`;
    return otherMarkerOf(host, placement) ?? lacking;
  }
  // A virtual cluster is alone in its own host namespace, so a copy there needs no instance; older copies have none. Elsewhere a
  // mapping has put it, perhaps one that is switched off now.
  if (host.namespace !== placement.hostNamespace) {
    // vCluster's own syncer copies this annotation from a tenant, so such a value is no proof.
    if (copiedAnnotations(host).has(instanceKey)) return `its annotation ${instanceKey} was copied from the tenant`;
    const instance = host.annotations?.[instanceKey];
    if (instance !== placement.instance) {
      return `its annotation ${instanceKey} is ${instance === undefined ? 'missing' : `"${instance}"`}, not "${placement.instance}"`;
    }
  }
  return undefined;
}

/** Says so when the marker label names another virtual cluster. An empty label counts as a missing one. */
function otherMarkerOf(host: HostLook, { virtualCluster }: Placement): string | undefined {
  const marker = host.labels?.[markerLabel];
  if (!marker || marker === virtualCluster) return undefined;
  return `its label ${markerLabel} is "${marker}", not "${virtualCluster}"`;
}

export function isSamePlace(host: HostLook, place: HostPlace | undefined): boolean {
  return place !== undefined && host.namespace === place.namespace && host.name === place.name;
}

/** Like vCluster: the label excludes the object with any value; the annotation excludes it unless it names this very syncer. */
export function isControlledByOther(
  object: { labels?: Record<string, string>; annotations?: Record<string, string> },
  syncerName: string,
): boolean {
  if (object.labels?.[controlledByKey]) return true;
  const annotation = object.annotations?.[controlledByKey];
  return annotation !== undefined && annotation !== '' && annotation !== syncerName;
}
