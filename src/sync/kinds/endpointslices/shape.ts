// The fields that discovery.k8s.io/v1 stores in an EndpointSlice. Without deprecatedTopology: v1 drops it from every write, so a
// copy would never equal what was written. Data only.

import type { Shape } from '../../plan/kind.ts';
import { list, object, scalar, scalars } from '../payload/shapes.ts';

export const fieldNames = {
  endpoint: ['addresses', 'conditions', 'hostname', 'nodeName', 'targetRef', 'zone', 'hints'],
  conditions: ['ready', 'serving', 'terminating'],
  hints: ['forZones', 'forNodes'],
  hint: ['name'],
  port: ['name', 'port', 'protocol', 'appProtocol'],
  targetRef: ['apiVersion', 'kind', 'name', 'namespace', 'uid', 'resourceVersion', 'fieldPath'],
} as const;

const hint = list(object(scalars(fieldNames.hint)));

const endpoint = object({
  ...scalars(['hostname', 'nodeName', 'zone']),
  addresses: list(scalar),
  conditions: object(scalars(fieldNames.conditions)),
  targetRef: object(scalars(fieldNames.targetRef)),
  hints: object({ forZones: hint, forNodes: hint }),
});

export const payloadShape: ReadonlyMap<string, Shape> = new Map([
  ['addressType', scalar],
  ['endpoints', list(endpoint)],
  ['ports', list(object(scalars(fieldNames.port)))],
]);
