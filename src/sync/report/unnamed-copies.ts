// Finds copies that have lost the annotations by which they name their virtual object, where no virtual object has their place: nothing
// updates or removes them. In: a running Sync. Out: rows for the status. It must never change anything.
import type { Key } from '../../object/meta/object.ts';
import type { Sync } from '../loop/sync.ts';
import { markerLabel, objectKeys } from '../plan/keys/reserved-keys.ts';
import { annotatedKeyOf, type HostLook, hasMarks } from '../plan/ownership.ts';
import { mostLooks } from './troubles.ts';

/** Enough to see what happened; a tool that strips annotations strips those of all. */
const mostRows = 20;

export interface UnnamedCopy {
  hostObject: Key;
  message: string;
}

/** At most twenty. Reading an object takes microseconds, and objects without the annotations are seldom many. */
export function unnamedCopies({ world }: Pick<Sync, 'world'>): UnnamedCopy[] {
  const { host } = world.windows;
  const found: UnnamedCopy[] = [];
  let looks = 0;
  for (const hostObject of host.keys()) {
    if (host.markOf(hostObject) || world.claimantsOf(hostObject).length > 0) continue;
    if (found.length === mostRows || ++looks > mostLooks) break;
    const item = host.get(hostObject);
    if (item !== undefined && isUnnamed(item, world.rules.translation)) found.push({ hostObject, message });
  }
  return found;
}

const message =
  'it has lost the annotation object-name or object-namespace, so that nobody knows whose copy it is, and nothing updates or removes it';

/** The host's own slices of a copy take its annotations along, with the name and the kind of the copy. */
function isUnnamed(item: HostLook, { kind, placement }: Sync['world']['rules']['translation']): boolean {
  if (item.labels?.[markerLabel] !== placement.virtualCluster || annotatedKeyOf(item) !== undefined) return false;
  const { [objectKeys.kind]: isKind, [objectKeys.hostName]: hostName } = item.annotations ?? {};
  if (isKind && isKind !== kind.kindAnnotation) return false;
  return hostName ? hostName === item.name : hasMarks(item) && isKind === kind.kindAnnotation;
}
