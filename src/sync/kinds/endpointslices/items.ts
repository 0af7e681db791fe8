// The fields of an EndpointSlice that sync keeps.
import type { KubeObject } from '../../../object/meta/object.ts';
import { isRecord } from '../../../object/text/json.ts';
import type { HostItem, VirtualItem } from '../../plan/kind.ts';
import { mapped } from '../payload/canonical.ts';
import { projectHostItem, projectVirtualItem } from '../payload/items.ts';
import type { ObjectReference } from '../payload/pod-reference.ts';

export interface SliceEndpoint {
  addresses: string[];
  conditions?: Record<string, boolean>;
  hostname?: string;
  nodeName?: string;
  targetRef?: ObjectReference;
  zone?: string;
  hints?: Record<string, { name: string }[]>;
}

export interface SlicePort {
  name?: string;
  port?: number;
  protocol?: string;
  appProtocol?: string;
}

export interface SlicePayload {
  addressType?: string;
  endpoints?: readonly SliceEndpoint[];
  ports?: readonly SlicePort[];
}

export type VirtualSlice = VirtualItem & SlicePayload;
export type HostSlice = HostItem & SlicePayload;

export function projectVirtualSlice(object: KubeObject): VirtualSlice {
  return projectVirtualItem(object, payloadIn(object));
}

export function projectHostSlice(object: KubeObject): HostSlice {
  return projectHostItem(object, payloadIn(object));
}

/** A server writes null for an empty list. */
function payloadIn({ addressType, endpoints, ports }: KubeObject): SlicePayload {
  return {
    ...(typeof addressType === 'string' && { addressType }),
    ...(Array.isArray(endpoints) && { endpoints: withoutTopology(endpoints) }),
    ...(Array.isArray(ports) && { ports: ports as SlicePort[] }),
  };
}

/** An old slice may still have this field of v1beta1; v1 drops it from every write. */
export function withoutTopology(endpoints: readonly unknown[]): readonly SliceEndpoint[] {
  return mapped(endpoints, (endpoint) => {
    if (!isRecord(endpoint) || !('deprecatedTopology' in endpoint)) return endpoint;
    const { deprecatedTopology: _, ...kept } = endpoint;
    return kept;
  }) as readonly SliceEndpoint[];
}
