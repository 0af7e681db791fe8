// core/v1 Endpoints as a SyncedKind: which objects go to the host, and what their payload looks like there. In: projected
// objects. Out: verdicts and payloads. This room must never know a cluster, a queue or the time.
import { endpointsResource } from '../../../cluster/wire/scope.ts';
import type { SyncedKind } from '../../plan/kind.ts';
import { sampleTarget } from '../payload/shapes.ts';
import { ineligibleSentences, judgeEligibility, syncerName } from './eligibility.ts';
import {
  type EndpointSubset,
  type HostEndpoints,
  projectHostEndpoints,
  projectVirtualEndpoints,
  type VirtualEndpoints,
} from './items.ts';
import { payloadShape } from './shape.ts';
import {
  addressesOf,
  isSameEndpoints,
  isSameSubsets,
  normalizeSubsets,
  renamedPods,
  storedSubsets,
  translateSubsets,
} from './subsets.ts';
import { problemOfSubsets } from './validate-subsets.ts';

const kind: SyncedKind<VirtualEndpoints, HostEndpoints> = {
  apiVersion: 'v1',
  kind: 'Endpoints',
  kindAnnotation: '/v1, Kind=Endpoints',
  resource: endpointsResource,
  settingsPath: 'sync.toHost.endpoints',
  syncerName,
  payloadFields: [...payloadShape.keys()],
  payloadShape,
  samplePayload: {
    subsets: [
      {
        addresses: [{ ip: '10.0.0.1', ...sampleTarget }],
        notReadyAddresses: [{ ip: '10.0.0.2', ...sampleTarget }],
        ports: [{ name: 'http', port: 80, protocol: 'TCP', appProtocol: 'http' }],
      },
    ],
  },
  // Kubernetes sets it since 1.33.
  controllerLabel: { key: 'endpoints.kubernetes.io/managed-by', value: 'endpoint-controller' },
  // Those of EndpointSlices too: the host's controller mirrors Endpoints into slices.
  controllerKeyPrefixes: ['endpoints.kubernetes.io/', 'endpointslice.kubernetes.io/'],
  protectedFields: [],
  ownLabels: [],
  takesOverNatives: true,
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
  meantPath,
  payloadOf: (host) => ({ subsets: normalizeSubsets(host.subsets) }),
  problemOf: (payload) => problemOfSubsets(payload['subsets'] ?? []),
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
};

/** The engine hands a kind only the items that the same kind has projected. */
export const endpointsKind: SyncedKind = kind;

function subsetsOf(payload: Record<string, unknown>): EndpointSubset[] {
  return (payload['subsets'] ?? []) as EndpointSubset[];
}

/** The path in an Endpoints that a person meant who wrote a path of an EndpointSlice. */
function meantPath([root, at = '*', field, place = '*', ...rest]: readonly string[]): string | undefined {
  if (root === 'ports') return ['subsets[*].ports', `[${at}]`, field === undefined ? '' : `.${field}`].join('');
  if (root !== 'endpoints') return undefined;
  if (field === undefined) return 'subsets[*].addresses[*]';
  if (field === 'addresses') return `subsets[*].addresses[${place}].ip`;
  const below = [field, ...(place === '*' && rest.length === 0 ? [] : [place]), ...rest].join('.');
  return ['hostname', 'nodeName', 'targetRef'].includes(field) ? `subsets[*].addresses[${at}].${below}` : undefined;
}
