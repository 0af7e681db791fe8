// Whether a virtual EndpointSlice has a place on the host, judged by the virtual side and the configuration. Pure; the address
// policy and the clash of names are judged elsewhere, because they need more than these two objects.
import { keyOf } from '../../../object/meta/object.ts';
import type { EligibilityVerdict, ServiceItem } from '../../plan/kind.ts';
import { isControlledByOther } from '../../plan/ownership.ts';
import type { VirtualSlice } from './items.ts';

export const serviceLabel = 'kubernetes.io/service-name';
export const managedByLabel = 'endpointslice.kubernetes.io/managed-by';

/** The controllers of Kubernetes by their value of `managedByLabel`. */
export const sliceController = 'endpointslice-controller.k8s.io';
export const mirroringController = 'endpointslicemirroring-controller.k8s.io';

/** The name of vCluster's own syncer of EndpointSlices: its events come from `endpointslice-syncer`. */
export const syncerName = 'endpointslice';

/**
 * Which slices of the tenant's mirroring controller go to the host: `never` where the host mirrors the synced Endpoints itself,
 * `withEndpoints` only together with the synced Endpoints that they mirror, `always` where Endpoints are not synced.
 */
export type MirroredSlices = 'never' | 'withEndpoints' | 'always';

const sentences = {
  ReservedKey: 'it belongs to default/kubernetes, the API server of the virtual cluster, and is never synced',
  NoEndpointSlice: 'there is no virtual EndpointSlice of this name',
  NotMapped: 'its namespace is not mapped to a usable host namespace, and sync.toHost.namespaces.mappingsOnly is true',
  ControlledByOther: 'vcluster.loft.sh/controlled-by on the virtual EndpointSlice names another controller',
  OwnController:
    "it was made by the tenant's own controller for a Service with a selector; the host makes its own slices",
  NoServiceNamed: `its label ${serviceLabel} names no Service`,
  NoService: `there is no virtual Service of the name in its label ${serviceLabel}`,
  ServiceHasSelector: 'its virtual Service has a selector, so the host cluster makes the slices itself',
  MirroredByHost:
    'it mirrors an Endpoints, and the host mirrors the synced Endpoints itself; hostward.endpointSlices.mirrored: true syncs it',
};

const apiServerService = 'default/kubernetes';

export function judgeEligibility(facts: {
  slice: VirtualSlice | undefined;
  service: ServiceItem | undefined;
  isPlaced: boolean;
  mirrored: MirroredSlices;
}): EligibilityVerdict {
  const { slice, service, mirrored } = facts;
  if (slice === undefined) return ineligible('NoEndpointSlice');
  const named = namedService(slice);
  if (named === apiServerService) return ineligible('ReservedKey');
  if (!facts.isPlaced) return ineligible('NotMapped');
  if (isControlledByOther(slice, syncerName)) return ineligible('ControlledByOther');
  if (makerOf(slice) === sliceController) return ineligible('OwnController');
  if (named === undefined) return ineligible('NoServiceNamed');
  if (service === undefined) return withoutService(slice);
  if (service.hasSelector) return ineligible('ServiceHasSelector');
  if (isMirrored(slice) && mirrored === 'never') return ineligible('MirroredByHost');
  return { kind: 'eligible' };
}

/** The key of the Service in the label; undefined for an empty label. */
export function namedService({ namespace, labels }: VirtualSlice): string | undefined {
  const name = labels?.[serviceLabel];
  return name ? keyOf(namespace, name) : undefined;
}

export function makerOf({ labels }: VirtualSlice): string | undefined {
  return labels?.[managedByLabel];
}

export function isMirrored(slice: VirtualSlice): boolean {
  return makerOf(slice) === mirroringController;
}

/** vCluster's own sync of slices carries the name of the host Service back into the tenant's slice when something else corrects it on the host. */
function withoutService({ namespace, labels }: VirtualSlice): EligibilityVerdict {
  const middle = `-x-${namespace}-x-`;
  const at = labels?.[serviceLabel]?.indexOf(middle) ?? -1;
  if (at < 1) return ineligible('NoService');
  const meant = labels?.[serviceLabel]?.slice(0, at);
  const sentence = `${sentences.NoService}: it has the form of a host name, which vCluster's own sync of slices carries back; switch that sync off (sync.toHost.endpointSlices.enabled: false), and write "${meant}" into the label again`;
  return { kind: 'ineligible', reason: 'NoService', sentence };
}

function ineligible(reason: keyof typeof sentences): EligibilityVerdict {
  return { kind: 'ineligible', reason, sentence: sentences[reason] };
}
