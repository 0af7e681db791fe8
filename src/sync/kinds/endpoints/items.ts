// The fields of an Endpoints that sync keeps. The caches hold thousands of these items, so a field that no rule reads does
// not belong here.
import type { KubeObject } from '../../../object/meta/object.ts';
import type { HostItem, VirtualItem } from '../../plan/kind.ts';
import { projectHostItem, projectVirtualItem } from '../payload/items.ts';
import type { ObjectReference } from '../payload/pod-reference.ts';

export interface EndpointAddress {
  ip: string;
  hostname?: string;
  nodeName?: string;
  targetRef?: ObjectReference;
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
  return projectVirtualItem(object, payloadIn(object));
}

export function projectHostEndpoints(object: KubeObject): HostEndpoints {
  return projectHostItem(object, payloadIn(object));
}

function payloadIn(object: KubeObject): { subsets?: EndpointSubset[] } {
  return Array.isArray(object['subsets']) ? { subsets: object['subsets'] as EndpointSubset[] } : {};
}
