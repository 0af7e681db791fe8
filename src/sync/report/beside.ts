// Names the objects that stand on the host beside the synced object of another kind of the same Service: consumers then take
// both sets of addresses, as in one cluster. In: a running Sync. Out: keys for `hostward status`. Changes nothing.
import type { Key } from '../../object/meta/object.ts';
import type { Sync } from '../loop/sync.ts';

export interface Beside {
  object: Key;
  /** The object of the other kind, which has the key of its Service. */
  besides: string;
}

/** Enough rows to find the Services; a tenant may have thousands. */
const listLimit = 500;

export function besideOthers(sync: Sync): Beside[] {
  const { companion } = sync.world.candidates;
  const rows: Beside[] = [];
  if (companion === undefined) return rows;
  for (const [service, objects] of sync.world.namedServices()) {
    if (companion.standingOf(service).kind !== 'fine') continue;
    for (const object of objects) {
      if (!isOnItsOwn(sync, object)) continue;
      if (rows.length >= listLimit) return rows;
      rows.push({ object, besides: `${companion.kind} ${service}` });
    }
  }
  return rows;
}

/** The object of the other kind that is published beside this one. */
export function besideOf(sync: Sync, object: Key): string | undefined {
  const { candidates, rules } = sync.world;
  const { companion } = candidates;
  const virtual = sync.world.windows.virtual.get(object);
  const service = virtual && rules.translation.kind.serviceOf?.(virtual);
  if (companion === undefined || service === undefined || companion.standingOf(service).kind !== 'fine')
    return undefined;
  return isOnItsOwn(sync, object) ? `${companion.kind} ${service}` : undefined;
}

/** Whether a copy stands that was not made from the object of the other kind. */
function isOnItsOwn({ ledger, world }: Sync, object: Key): boolean {
  if (ledger.outcomeOf(object)?.kind !== 'inSync') return false;
  const virtual = world.windows.virtual.get(object);
  return virtual !== undefined && world.rules.translation.kind.madeFrom?.(virtual) === undefined;
}
