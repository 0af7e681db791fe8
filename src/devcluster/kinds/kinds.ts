// Lists every kind of this cluster, in the order of discovery.
import type { Kind, Schemas } from '../../apiserver/kinds/kind.ts';
import type { ProtobufTypes } from '../../apiserver/kinds/protobuf-body.ts';
import { reviewKinds } from '../../apiserver/kinds/review-kinds.ts';
import type { Access } from './access.ts';
import type { ClusterAddresses } from './addresses/cluster-addresses.ts';
import { persistentVolumeClaimKind } from './claim-kind.ts';
import { endpointSliceKind } from './endpoint-slice-kind.ts';
import { endpointsKind } from './endpoints-kind.ts';
import { coreEventKind, eventsEventKind } from './event-kinds.ts';
import { namespaceKind } from './namespace-kind.ts';
import { podKind } from './pod-kind.ts';
import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from './rbac-kinds.ts';
import { serviceAccountKind } from './service-account-kind.ts';
import { serviceKind } from './service-kind.ts';
import coreProtobuf from './shapes/core-protobuf.json' with { type: 'json' };
import coreSchemas from './shapes/core-schemas.json' with { type: 'json' };
import { configMapKind, leaseKind, nodeKind, secretKind } from './simple-kinds.ts';

export const protobuf = coreProtobuf as unknown as ProtobufTypes;
export const schemas = coreSchemas as unknown as Schemas;

export function kindsOf(parts: { access: Access; addresses: ClusterAddresses; newToken: () => string }): Kind[] {
  return [
    configMapKind,
    endpointsKind,
    coreEventKind,
    namespaceKind,
    nodeKind,
    persistentVolumeClaimKind,
    podKind,
    secretKind,
    serviceKind(parts.addresses),
    serviceAccountKind(parts.access, parts.newToken),
    eventsEventKind,
    ...reviewKinds(parts.access),
    clusterRoleBindingKind,
    clusterRoleKind,
    roleBindingKind,
    roleKind,
    leaseKind,
    endpointSliceKind,
  ];
}
