// Names the objects that are on the host next to the synced object of another kind of the same Service: consumers then take
// both sets of addresses, as in one cluster. In: a running Sync. Out: keys for `hostward status`. Changes nothing.
import type { Key } from '../../object/meta/object.ts';
import type { Sync } from '../loop/sync.ts';
import { needsOf } from '../plan/kind.ts';

export interface PublishedBeside {
  object: Key;
  /** The object of the other kind, which has the key of its Service. */
  besides: string;
}

/** Enough rows to find the Services; a tenant may have thousands. */
const listLimit = 500;

export function publishedBesideOthers(sync: Sync): PublishedBeside[] {
  const rows: PublishedBeside[] = [];
  for (const [service, objects] of sync.world.namedServices()) {
    const besides = namedLike(sync, service);
    if (besides === undefined) continue;
    for (const object of objects) {
      if (!isOnItsOwn(sync, object)) continue;
      if (rows.length >= listLimit) return rows;
      rows.push({ object, besides });
    }
  }
  return rows;
}

/** The object of another kind that is published next to this one. */
export function publishedBesideOf(sync: Sync, object: Key): string | undefined {
  const { kind } = sync.world.rules.translation;
  if (kind.needs === undefined) return undefined;
  const { service } = needsOf(kind, object, sync.world.windows.virtual.get(object));
  const besides = service && namedLike(sync, service);
  return besides !== undefined && isOnItsOwn(sync, object) ? besides : undefined;
}

function namedLike(sync: Sync, service: Key): string | undefined {
  const other = sync.namedLike(service);
  return other && `${other.kind} ${other.key}`;
}

/** Whether there is a copy that was not made from the object of the other kind. */
function isOnItsOwn({ ledger, world }: Sync, object: Key): boolean {
  if (ledger.outcomeOf(object)?.kind !== 'inSync') return false;
  const virtual = world.windows.virtual.get(object);
  return virtual !== undefined && needsOf(world.rules.translation.kind, object, virtual).source === undefined;
}
