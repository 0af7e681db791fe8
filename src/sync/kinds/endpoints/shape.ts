// The fields that core/v1 knows below the payload of an Endpoints. Data only.

import type { Shape } from '../../plan/kind.ts';
import { list, object, scalars } from '../payload/shapes.ts';

export const fieldNames = {
  subset: ['addresses', 'notReadyAddresses', 'ports'],
  address: ['ip', 'hostname', 'nodeName', 'targetRef'],
  port: ['name', 'port', 'protocol', 'appProtocol'],
  targetRef: ['apiVersion', 'kind', 'name', 'namespace', 'uid', 'resourceVersion', 'fieldPath'],
} as const;

const addresses = list(object({ ...scalars(fieldNames.address), targetRef: object(scalars(fieldNames.targetRef)) }));
const ports = list(object(scalars(fieldNames.port)));

export const payloadShape: ReadonlyMap<string, Shape> = new Map([
  ['subsets', list(object({ addresses, notReadyAddresses: addresses, ports }))],
]);
