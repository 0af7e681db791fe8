// The owner of all host copies in single-namespace mode: the host Service named like the virtual cluster. While it is
// absent nothing may be created, because an uninstall would leave those copies behind for good. Pure.

import type { OwnerReference } from '../../object/meta/object.ts';
import { equalJson } from '../../object/text/json.ts';

export type OwnerState =
  /** Namespace-mapping mode, or setOwner is off: no owner reference is written, none is touched. */
  { kind: 'none' } | { kind: 'missing'; message: string } | { kind: 'present'; name: string; uid: string };

/** Our reference as it stands on a host copy. */
export function ownerReference(owner: OwnerState, hasController: boolean): OwnerReference | undefined {
  if (owner.kind !== 'present') return undefined;
  return { apiVersion: 'v1', kind: 'Service', name: owner.name, uid: owner.uid, controller: hasController };
}

/** The whole list with ours repaired and everybody else's kept; undefined when nothing has to change. */
export function repairOwners(
  found: readonly OwnerReference[] | undefined,
  wanted: OwnerReference | undefined,
): OwnerReference[] | undefined {
  if (wanted === undefined) return undefined;
  const isOurs = (owner: OwnerReference): boolean =>
    owner.apiVersion === 'v1' && owner.kind === 'Service' && owner.name === wanted.name;
  const others = (found ?? []).filter((owner) => !isOurs(owner));
  // The API refuses two controllers, and the other one was there first.
  const ours = others.some((owner) => owner.controller === true) ? { ...wanted, controller: false } : wanted;
  const mine = (found ?? []).filter(isOurs);
  const [only] = mine;
  if (mine.length === 1 && only?.uid === ours.uid && (only.controller ?? false) === ours.controller) return undefined;
  const repaired = [...others, ours];
  return equalJson(found ?? [], repaired) ? undefined : repaired;
}
