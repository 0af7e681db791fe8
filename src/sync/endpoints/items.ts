// The fields of an Endpoints that sync keeps. The caches hold thousands of these items, so a field that no rule reads does
// not belong here.
import type { KubeObject } from '../../object/meta/object.ts';
import { type HostItem, identityOf, isFilled, type VirtualItem } from '../plan/kind.ts';
import { annotatedKeyOf } from '../plan/ownership.ts';
import { fieldManager } from '../plan/reserved-keys.ts';

export interface EndpointAddress {
  ip: string;
  hostname?: string;
  nodeName?: string;
  targetRef?: ObjectReference;
}

export interface ObjectReference {
  apiVersion?: string;
  kind?: string;
  name?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  fieldPath?: string;
}

export interface EndpointPort {
  name?: string;
  port: number;
  protocol?: string;
  appProtocol?: string;
}

export interface EndpointSubset {
  addresses?: EndpointAddress[];
  notReadyAddresses?: EndpointAddress[];
  ports?: EndpointPort[];
}

export interface VirtualEndpoints extends VirtualItem {
  subsets?: EndpointSubset[];
}

export interface HostEndpoints extends HostItem {
  subsets?: EndpointSubset[];
}

export function projectVirtualEndpoints(object: KubeObject): VirtualEndpoints {
  const { metadata } = object;
  return {
    ...identityOf(object),
    creationTimestamp: metadata.creationTimestamp ?? '',
    ...(isFilled(metadata.labels) && { labels: metadata.labels }),
    ...(isFilled(metadata.annotations) && { annotations: metadata.annotations }),
    ...(Array.isArray(object['subsets']) && { subsets: object['subsets'] as EndpointSubset[] }),
    ...(metadata.ownerReferences?.some((owner) => owner.controller === true) && { hasController: true as const }),
  };
}

export function projectHostEndpoints(object: KubeObject): HostEndpoints {
  const { metadata } = object;
  const lastManager = lastForeignManager(metadata.managedFields);
  const mark = annotatedKeyOf(metadata);
  return {
    ...identityOf(object),
    ...(mark !== undefined && { mark }),
    ...(isFilled(metadata.labels) && { labels: metadata.labels }),
    ...(isFilled(metadata.annotations) && { annotations: metadata.annotations }),
    ...(metadata.ownerReferences?.length && { ownerReferences: metadata.ownerReferences }),
    ...(Array.isArray(object['subsets']) && { subsets: object['subsets'] as EndpointSubset[] }),
    ...(metadata.deletionTimestamp !== undefined && { isDeleting: true as const }),
    ...(lastManager !== undefined && { lastManager }),
  };
}

function lastForeignManager(managedFields: unknown[] | undefined): string | undefined {
  let newest: { manager?: string; time?: string } | undefined;
  for (const entry of (managedFields ?? []) as { manager?: string; time?: string }[]) {
    if (entry.manager !== fieldManager && (entry.time ?? '') >= (newest?.time ?? '')) newest = entry;
  }
  return newest?.manager;
}
