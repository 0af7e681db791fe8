// Whether a Secret or ConfigMap of the host is a copy that reference patches made, told from what is written on it and where
// it stands. vCluster's own syncer writes the same marks on its copies; those are told by their names, and where names do not
// tell, by the instance, which only we write. Errs towards "not ours". Pure.
import { splitKey } from '../../object/meta/object.ts';
import { annotatedKeyOf, type HostLook, isOursFor, isSamePlace } from '../plan/ownership.ts';
import type { Placement } from '../plan/placement.ts';
import { controlledByKey, instanceKey, objectKeys, pauseKey } from '../plan/reserved-keys.ts';
import type { ContentKind } from './content-kind.ts';
import { copyPlaceOf, generatedPlaceOf } from './names.ts';

export function isOwnCopy(found: HostLook, kind: ContentKind, placement: Placement): boolean {
  const key = annotatedKeyOf(found);
  if (key === undefined || !isOursFor(found, key, placement)) return false;
  if (found.annotations?.[objectKeys.kind] !== kind.kindAnnotation) return false;
  const reference = { kind: kind.kind, ...splitKey(key) };
  // Also where namespaces are mapped now and were not when it was made.
  if (isSamePlace(found, generatedPlaceOf(reference, placement))) return true;
  const place = copyPlaceOf(reference, { placement, naming: 'generated' });
  // Elsewhere it stands where an earlier mapping wanted it.
  const isAway = found.namespace !== placement.hostNamespace;
  return (isAway || isSamePlace(found, place)) && found.annotations?.[instanceKey] === placement.instance;
}

/** Somebody on the host asked us to keep our hands off it. */
export function holdOf({ annotations }: HostLook): string | undefined {
  if (annotations?.[controlledByKey]) return `it is marked ${controlledByKey}="${annotations[controlledByKey]}"`;
  return annotations?.[pauseKey] === 'true' ? `it is marked ${pauseKey}` : undefined;
}
