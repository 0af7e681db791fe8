// The objects that `doctor --active` makes in the virtual cluster. Pure.
import type { KubeObject } from '../../../object/meta/object.ts';
import { managedByLabel, serviceLabel } from '../../../sync/kinds/endpointslices/eligibility.ts';
import type { AddressPolicy } from '../../../sync/plan/address-policy.ts';

/** On every object, so that what a killed doctor left behind is found by the next one, and by people. */
export const testLabel = { key: 'app.kubernetes.io/managed-by', value: 'hostward-doctor' } as const;

export interface TestPlace {
  namespace: string;
  name: string;
}

export interface TestObjects {
  service: KubeObject;
  endpoints: KubeObject;
  slice: KubeObject;
}

export function testObjects({ namespace, name }: TestPlace, address: string): TestObjects {
  const labels = { [testLabel.key]: testLabel.value };
  const ports = [{ name: 'test', port: 9, protocol: 'TCP' }];
  const metadata = { name, namespace, labels };
  return {
    service: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      // Headless, so that no address of the cluster is taken.
      spec: { clusterIP: 'None', ports },
    },
    endpoints: { apiVersion: 'v1', kind: 'Endpoints', metadata, ...endpointsChange(address) },
    slice: {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels: { ...labels, [serviceLabel]: name, [managedByLabel]: testLabel.value } },
      addressType: 'IPv4',
      ports,
      ...sliceChange(address),
    },
  };
}

export function endpointsChange(address: string) {
  return { subsets: [{ addresses: [{ ip: address }], ports: [{ name: 'test', port: 9, protocol: 'TCP' }] }] };
}

export function sliceChange(address: string) {
  return { endpoints: [{ addresses: [address] }] };
}

/** Addresses that belong to nobody (RFC 5737), or else the first two of a range that the configuration allows. */
export function testAddresses(policy: AddressPolicy, allowed: readonly string[]): [string, string] | undefined {
  const candidates = [['192.0.2.1', '192.0.2.2'], ...allowed.flatMap(firstTwo)] as [string, string][];
  return candidates.find((pair) => policy.refusals(pair).length === 0);
}

function firstTwo(range: string): [string, string][] {
  const [, base, last] = /^(\d+\.\d+\.\d+\.)(\d+)(?:\/\d+)?$/.exec(range) ?? [];
  if (base === undefined) return [];
  const first = Number(last) === 0 ? 1 : Number(last);
  return [[`${base}${first}`, `${base}${Math.min(first + 1, 255)}`]];
}
