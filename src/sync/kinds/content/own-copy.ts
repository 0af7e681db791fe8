// Decides whether a Secret or ConfigMap on the host is a copy that reference patches made, by its marks and its place.
// vCluster's own syncer writes the same marks, so its copies are recognised by name and, where names are equal, by the instance
// annotation, which only Hostward writes. In doubt the answer is "not ours". Pure.
import { splitKey } from '../../../object/meta/object.ts';
import { controlledByKey, instanceKey, objectKeys, pauseKey } from '../../plan/keys/reserved-keys.ts';
import { annotatedKeyOf, type HostLook, isOursFor, isSamePlace } from '../../plan/ownership.ts';
import type { Placement } from '../../plan/placement.ts';
import { copyPlaceOf, generatedPlaceOf } from '../../references/reference-names.ts';
import type { ContentKind } from './content-kind.ts';

export function isOwnCopy(found: HostLook, kind: ContentKind, placement: Placement): boolean {
  const key = annotatedKeyOf(found);
  if (key === undefined || !isOursFor(found, key, placement)) return false;
  if (found.annotations?.[objectKeys.kind] !== kind.kindAnnotation) return false;
  const reference = { kind: kind.kind, ...splitKey(key) };
  // The name also counts where namespaces are mapped now and were not when the copy was made.
  if (isSamePlace(found, generatedPlaceOf(reference, placement))) return true;
  const place = copyPlaceOf(reference, { placement, naming: 'generated' });
  // Otherwise an earlier mapping put it there, under its own name.
  const isAway = found.namespace !== placement.hostNamespace && found.name === reference.name;
  return (isAway || isSamePlace(found, place)) && found.annotations?.[instanceKey] === placement.instance;
}

/** The host has handed the object to another controller. */
export function holdOf({ annotations }: HostLook): string | undefined {
  if (annotations?.[controlledByKey]) return `it is marked ${controlledByKey}="${annotations[controlledByKey]}"`;
  return annotations?.[pauseKey] === 'true' ? `it is marked ${pauseKey}` : undefined;
}
