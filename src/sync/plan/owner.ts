// The owner of all host copies in single-namespace mode is the host Service with the name of the virtual cluster. While this
// Service is absent no copy may be created, because an uninstall would leave the copy behind for good. Pure.
import type { OwnerReference } from '../../object/meta/object.ts';
import { equalJson } from '../../object/text/json.ts';
import type { ServiceItem } from './kind.ts';
import type { Placement } from './placement.ts';

export type OwnerState =
  /** In namespace-mapping mode, or with setOwner off, sync leaves owner references alone. */
  { kind: 'none' } | { kind: 'missing'; message: string } | { kind: 'present'; name: string; uid: string };

/** A wrong name is the usual cause: the chart of vCluster makes this Service. */
const wayOut =
  'correct --vcluster-name or --host-namespace; for host copies without an owner set experimental.syncSettings.setOwner to false';

/** Takes the owner Service as the window shows it, which may be outdated. A name that was right once needs no correction. */
export function ownerStateOf(
  service: ServiceItem | undefined,
  placement: Placement,
  { wasThere }: { wasThere: boolean },
): OwnerState {
  const { hostNamespace, virtualCluster } = placement;
  const name = `Service "${virtualCluster}" in host namespace "${hostNamespace}"`;
  if (service === undefined && wasThere) {
    const why = `the virtual cluster or the namespace is perhaps being deleted (kubectl get namespace ${hostNamespace})`;
    return { kind: 'missing', message: `${name}, the owner of all host copies, was there and is gone: ${why}` };
  }
  if (service === undefined)
    return { kind: 'missing', message: `${name}, the owner of all host copies, does not exist; ${wayOut}` };
  if (service.isDeleting)
    return { kind: 'missing', message: `${name}, the owner of all host copies, is being deleted` };
  return { kind: 'present', name: virtualCluster, uid: service.uid };
}

/** The owner reference that a host copy should have. */
export function ownerReference(owner: OwnerState, hasController: boolean): OwnerReference | undefined {
  if (owner.kind !== 'present') return undefined;
  return { apiVersion: 'v1', kind: 'Service', name: owner.name, uid: owner.uid, controller: hasController };
}

/** Whether the reference leads to the Service that owns the copies, whatever its uid. */
export function isOwnerOfCopies(owner: OwnerReference, { virtualCluster }: Pick<Placement, 'virtualCluster'>): boolean {
  return owner.apiVersion === 'v1' && owner.kind === 'Service' && owner.name === virtualCluster;
}

/** The whole list with our reference repaired and all others kept; undefined when the list is right. */
export function repairOwners(
  found: readonly OwnerReference[] | undefined,
  wanted: OwnerReference | undefined,
): OwnerReference[] | undefined {
  if (wanted === undefined) return undefined;
  const isOurs = (owner: OwnerReference): boolean => isOwnerOfCopies(owner, { virtualCluster: wanted.name });
  const others = (found ?? []).filter((owner) => !isOurs(owner));
  // The API server refuses two controllers, so an existing one keeps the role.
  const ours = others.some((owner) => owner.controller === true) ? { ...wanted, controller: false } : wanted;
  const mine = (found ?? []).filter(isOurs);
  const [only] = mine;
  if (mine.length === 1 && only?.uid === ours.uid && (only.controller ?? false) === ours.controller) return undefined;
  const repaired = [...others, ours];
  return equalJson(found ?? [], repaired) ? undefined : repaired;
}
