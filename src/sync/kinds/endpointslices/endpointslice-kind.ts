// discovery.k8s.io/v1 EndpointSlice as a SyncedKind: which objects go to the host, and their form there. In: projected
// objects and a few settings. Out: verdicts, payloads and labels. This room must never know a cluster, a queue or the time.
import type { ResourceRef } from '../../../cluster/wire/scope.ts';
import { splitKey } from '../../../object/meta/object.ts';
import type { OwnKey, SyncedKind } from '../../plan/kind.ts';
import type { Placement } from '../../plan/placement.ts';
import { sampleTarget } from '../payload/shapes.ts';
import {
  isMirrored,
  judgeEligibility,
  type MirroredSlices,
  makerOf,
  managedByLabel,
  namedService,
  serviceLabel,
  sliceController,
  syncerName,
} from './eligibility.ts';
import {
  type HostSlice,
  projectHostSlice,
  projectVirtualSlice,
  type SlicePayload,
  type VirtualSlice,
} from './items.ts';
import {
  addressesOf,
  isSameButForOrder,
  normalPayload,
  payloadChange,
  renamedPods,
  storedPayload,
  translatePayload,
} from './payload.ts';
import { payloadShape } from './shape.ts';
import { problemOfPayload } from './validate-payload.ts';

export const endpointSlicesResource: ResourceRef = {
  path: 'apis/discovery.k8s.io/v1',
  resource: 'endpointslices',
  kind: 'EndpointSlice',
};

/** The host's controllers leave slices with an unknown manager alone. */
const manager = 'hostward.dev';
/** Annotation of a copy: the tenant's value of `managedByLabel`. */
export const tenantsManagerKey = 'hostward.dev/managed-by';

export interface SliceOptions {
  mirrored: MirroredSlices;
  dropsNodeName: boolean;
}

/** The engine hands a kind only the items that the same kind has projected. */
export function createEndpointSliceKind({ mirrored, dropsNodeName }: SliceOptions): SyncedKind {
  const kind: SyncedKind<VirtualSlice, HostSlice> = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    kindAnnotation: 'discovery.k8s.io/v1, Kind=EndpointSlice',
    resource: endpointSlicesResource,
    settingsPath: 'sync.toHost.endpointSlices',
    syncerName,
    payloadFields: [...payloadShape.keys()],
    payloadShape,
    samplePayload: {
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true }, zone: 'a', ...sampleTarget }],
      ports: [{ name: 'http', port: 80, protocol: 'TCP', appProtocol: 'http' }],
    },
    controllerLabel: { key: managedByLabel, value: sliceController },
    controllerKeyPrefixes: ['endpoints.kubernetes.io/', 'endpointslice.kubernetes.io/'],
    virtualSelector: `${managedByLabel}!=${sliceController}`,
    protectedFields: ['addressType'],
    ownLabels: [serviceLabel, managedByLabel],
    takesOverNatives: false,
    projectVirtual: projectVirtualSlice,
    projectHost: projectHostSlice,
    needs(slice) {
      const service = namedService(slice);
      const isMadeFromOther = mirrored === 'withEndpoints' && service !== undefined && isMirrored(slice);
      return { service, source: isMadeFromOther ? { kind: 'Endpoints', key: service } : undefined };
    },
    hostServiceOf: ({ labels }) => labels?.[serviceLabel],
    ownKeys,
    judge: (_, { virtual: slice, service, isPlaced }) => judgeEligibility({ slice, service, isPlaced, mirrored }),
    translate: (slice, { placeOfObject: placeOfPod }) => translatePayload(slice, { placeOfPod, dropsNodeName }),
    renamedBy: (slice, placement) => renamedPods(slice, placement.placeOfObject),
    meantPath,
    payloadOf: normalPayload,
    problemOf: problemOfPayload,
    asStored: (payload) => storedPayload(payload as SlicePayload),
    payloadChange: (desired, host, options) => payloadChange(desired as SlicePayload, host as SlicePayload, options),
    whyRemake(desired, host) {
      if (desired['addressType'] === host['addressType']) return undefined;
      return `addressType changes from ${host['addressType']} to ${desired['addressType']}, which no update can do`;
    },
    isSameButForOrder: (one, other) => isSameButForOrder(one as SlicePayload, other as SlicePayload),
    addressesOf: (payload) => addressesOf(payload as SlicePayload),
  };
  return kind;
}

/** Computed for every write. With the tenant's own label, a tenant could add addresses to any Service of the host namespace. */
function ownKeys(slice: VirtualSlice, placement: Placement): { labels: OwnKey[]; annotations: OwnKey[] } {
  const service = namedService(slice);
  return {
    labels: [
      [serviceLabel, service && placement.placeOfObject(splitKey(service))?.name],
      [managedByLabel, manager],
    ],
    annotations: [[tenantsManagerKey, makerOf(slice)]],
  };
}

/** The path in an EndpointSlice that a person meant who wrote a path of an Endpoints. */
function meantPath([root, , list, at = '*', field, ...rest]: readonly string[]): string | undefined {
  if (root !== 'subsets') return undefined;
  if (list === 'ports') return ['ports', `[${at}]`, field === undefined ? '' : `.${field}`].join('');
  if (list !== 'addresses' && list !== 'notReadyAddresses') return 'endpoints[*]';
  if (field === undefined) return `endpoints[${at}]`;
  return field === 'ip' ? `endpoints[${at}].addresses[*]` : [`endpoints[${at}]`, field, ...rest].join('.');
}
