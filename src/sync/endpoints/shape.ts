// The fields that core/v1 knows below the payload of an Endpoints. Data only.
import type { Shape } from '../plan/kind.ts';

const scalar: Shape = { kind: 'scalar' };

function object(fields: Record<string, Shape>): Shape {
  return { kind: 'object', fields: new Map(Object.entries(fields)) };
}

function scalars(names: readonly string[]): Record<string, Shape> {
  return Object.fromEntries(names.map((name) => [name, scalar]));
}

function list(of: Shape): Shape {
  return { kind: 'list', of };
}

export const fieldsOf = {
  subset: ['addresses', 'notReadyAddresses', 'ports'],
  address: ['ip', 'hostname', 'nodeName', 'targetRef'],
  port: ['name', 'port', 'protocol', 'appProtocol'],
  targetRef: ['apiVersion', 'kind', 'name', 'namespace', 'uid', 'resourceVersion', 'fieldPath'],
} as const;

const addresses = list(object({ ...scalars(fieldsOf.address), targetRef: object(scalars(fieldsOf.targetRef)) }));
const ports = list(object(scalars(fieldsOf.port)));

export const payloadShape: ReadonlyMap<string, Shape> = new Map([
  ['subsets', list(object({ addresses, notReadyAddresses: addresses, ports }))],
]);
