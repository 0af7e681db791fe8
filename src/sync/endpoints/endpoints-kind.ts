// core/v1 Endpoints behind the seam of sync/kind.ts: which of them go to the host and what their payload looks like there.
// In: projected objects. Out: verdicts and payloads. Must never know a cluster, a queue or the time.
import { endpointsResource } from '../../cluster/wire/scope.ts';
import type { SyncedKind } from '../plan/kind.ts';
import { endpointControllerName, endpointsManagedByLabel } from '../plan/reserved-keys.ts';
import { ineligibleSentences, judgeEligibility } from './eligibility.ts';
import {
  type EndpointSubset,
  type HostEndpoints,
  projectHostEndpoints,
  projectVirtualEndpoints,
  type VirtualEndpoints,
} from './items.ts';
import {
  addressesOf,
  isSameEndpoints,
  isSameSubsets,
  normalizeSubsets,
  renamedPods,
  storedSubsets,
  translateSubsets,
} from './subsets.ts';

export const endpointsKind: SyncedKind<VirtualEndpoints, HostEndpoints> = {
  apiVersion: 'v1',
  kind: 'Endpoints',
  kindAnnotation: '/v1, Kind=Endpoints',
  resource: endpointsResource,
  payloadFields: ['subsets'],
  projectVirtual: projectVirtualEndpoints,
  projectHost: projectHostEndpoints,
  judge(key, { virtual, service, isPlaced }) {
    const eligibility = judgeEligibility(key, { endpoints: virtual, service, isPlaced });
    return eligibility.kind === 'eligible'
      ? eligibility
      : { ...eligibility, sentence: ineligibleSentences[eligibility.reason] };
  },
  translate: (virtual, placement) => ({ subsets: translateSubsets(virtual.subsets, placement.placeOfObject) }),
  renamedBy: (virtual, placement) => renamedPods(virtual.subsets, placement.placeOfObject),
  payloadOf: (host) => ({ subsets: normalizeSubsets(host.subsets) }),
  asStored: (payload) => ({ subsets: storedSubsets(subsetsOf(payload)) }),
  payloadChange(desired, host, { ignoreOrder }) {
    const wanted = normalizeSubsets(subsetsOf(desired));
    const found = subsetsOf(host);
    if (isSameSubsets(wanted, found)) return undefined;
    if (ignoreOrder && isSameEndpoints(wanted, found)) return undefined;
    return { subsets: wanted.length > 0 ? wanted : null };
  },
  isSameButForOrder: (one, other) =>
    !isSameSubsets(subsetsOf(one), subsetsOf(other)) && isSameEndpoints(subsetsOf(one), subsetsOf(other)),
  addressesOf: (payload) => addressesOf(subsetsOf(payload)),
  isTakenByController: (host) => host.labels?.[endpointsManagedByLabel] === endpointControllerName,
};

function subsetsOf(payload: Record<string, unknown>): EndpointSubset[] {
  return (payload['subsets'] ?? []) as EndpointSubset[];
}
