// The objects that the black box makes, and how it knows them again. Their addresses say it: every syncer must copy those, whatever it does to names and
// labels. The first says which object and the second which version; the third says of which run, so that two black boxes do not take each other's.

import type { Kind } from './arguments.ts';
import type { KubeObject } from './cluster.ts';

export interface Place {
  namespace: string;
  name: string;
  index: number;
}

/** Objects of a namespace: tenants have many of them. */
const perNamespace = 1000;
const prefix = 'hostward-bench-';

export function placesOf(run: string, count: number): Place[] {
  return Array.from({ length: count }, (_, index) => ({
    namespace: `${prefix}${run}-${Math.floor(index / perNamespace)}`,
    name: `object-${index}`,
    index,
  }));
}

/** The version fits into 20 bits, the index into 24. */
function addressesOf(runNumber: number, { index }: Place, version: number, count: number): string[] {
  const named = [
    `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`,
    `172.${16 + ((version >> 16) & 15)}.${(version >> 8) & 255}.${version & 255}`,
    `192.168.${(runNumber >> 8) & 255}.${runNumber & 255}`,
  ];
  const more = Array.from({ length: count - named.length }, (_, nth) => `100.64.${(nth >> 8) & 255}.${nth & 255}`);
  return [...named, ...more];
}

/** Which object and version of which run a copy shows; undefined for objects of others. */
export function readMark(
  addresses: readonly string[],
): { runNumber: number; index: number; version: number } | undefined {
  const numbers = addresses.map((address) => address.split('.').map(Number) as [number, number, number, number]);
  const first = numbers.find(([a]) => a === 10);
  const second = numbers.find(([a, b]) => a === 172 && b >= 16 && b < 32);
  const third = numbers.find(([a, b]) => a === 192 && b === 168);
  if (first === undefined || second === undefined || third === undefined) return undefined;
  return {
    index: (first[1] << 16) | (first[2] << 8) | first[3],
    version: ((second[1] - 16) << 16) | (second[2] << 8) | second[3],
    runNumber: (third[2] << 8) | third[3],
  };
}

export class Load {
  readonly kind: Kind;
  readonly #runNumber: number;
  readonly #count: number;

  constructor({ kind, runNumber, addresses }: { kind: Kind; runNumber: number; addresses: number }) {
    this.kind = kind;
    this.#runNumber = runNumber;
    this.#count = addresses;
  }

  pathIn(namespace: string): string {
    return this.kind === 'endpoints'
      ? `/api/v1/namespaces/${namespace}/endpoints`
      : `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
  }

  service({ namespace, name }: Place): object {
    return {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace, name },
      spec: { clusterIP: 'None', ports: [{ name: 'http', port: 8080 }] },
    };
  }

  object(place: Place, version: number): object {
    const { namespace, name } = place;
    const isEndpoints = this.kind === 'endpoints';
    const labels = isEndpoints ? { app: name } : { app: name, 'kubernetes.io/service-name': name };
    return {
      apiVersion: isEndpoints ? 'v1' : 'discovery.k8s.io/v1',
      kind: isEndpoints ? 'Endpoints' : 'EndpointSlice',
      metadata: { namespace, name, labels, annotations: { 'example.com/owner': `team-${place.index % 50}` } },
      ...(!isEndpoints && { addressType: 'IPv4' }),
      ...this.change(place, version),
    };
  }

  /** What a merge patch to this version says. */
  change(place: Place, version: number): object {
    const addresses = addressesOf(this.#runNumber, place, version, this.#count);
    const ports = [
      { name: 'http', port: 8080, protocol: 'TCP' },
      { name: 'metrics', port: 9090, protocol: 'TCP' },
    ];
    if (this.kind === 'endpoints') return { subsets: [{ addresses: addresses.map((ip) => ({ ip })), ports }] };
    return { endpoints: addresses.map((ip) => ({ addresses: [ip], conditions: { ready: true } })), ports };
  }

  /** The mark of a copy of this run. */
  markOf(object: KubeObject): { index: number; version: number } | undefined {
    const mark = readMark(addressesIn(object));
    return mark?.runNumber === this.#runNumber ? mark : undefined;
  }
}

interface Subset {
  addresses?: { ip: string }[];
  notReadyAddresses?: { ip: string }[];
  ports?: { name?: string; port?: number; protocol?: string }[];
}

function addressesIn(object: KubeObject): string[] {
  const subsets = (object['subsets'] ?? []) as Subset[];
  const endpoints = (object['endpoints'] ?? []) as { addresses?: string[] }[];
  return [
    ...subsets.flatMap(({ addresses = [], notReadyAddresses = [] }) =>
      [...addresses, ...notReadyAddresses].map(({ ip }) => ip),
    ),
    ...endpoints.flatMap(({ addresses = [] }) => addresses),
  ];
}

/** What traffic goes where: the part of an object that a copy must have, whatever the order it is written in. */
export function trafficOf(object: KubeObject): string {
  const portsOf = (ports: Subset['ports'] = []) =>
    ports
      .map(({ name = '', port, protocol = 'TCP' }) => `${name}:${port}/${protocol}`)
      .sort()
      .join();
  const subsets = (object['subsets'] ?? []) as Subset[];
  const lines = subsets.flatMap(({ addresses = [], notReadyAddresses = [], ports }) => [
    ...addresses.map(({ ip }) => `${ip} ready ${portsOf(ports)}`),
    ...notReadyAddresses.map(({ ip }) => `${ip} not ready ${portsOf(ports)}`),
  ]);
  const endpoints = (object['endpoints'] ?? []) as { addresses?: string[]; conditions?: { ready?: boolean } }[];
  const slicePorts = portsOf(object['ports'] as Subset['ports']);
  for (const { addresses = [], conditions } of endpoints)
    for (const address of addresses)
      lines.push(`${address} ${conditions?.ready === false ? 'not ready' : 'ready'} ${slicePorts}`);
  return lines.sort().join('\n');
}
