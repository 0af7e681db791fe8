// The load: headless Services without a selector, each with an Endpoints of three addresses, and functions that change them. A
// variant is a number in the first address, so every variant is a real change.
import { type ApiClient, inParallel } from './api-client.ts';

export const virtualCluster = 'vc';
export const hostNamespace = 'vcluster-vc';
const namespaceCount = 20;
/** Two API servers on two cores take this many requests from one loader without a queue. */
const loaderConcurrency = 16;

export interface Key {
  namespace: string;
  name: string;
}

export function keysOf(count: number): Key[] {
  return Array.from({ length: count }, (_, index) => ({
    namespace: `load-${String(index % namespaceCount).padStart(2, '0')}`,
    name: `ep-${String(index).padStart(6, '0')}`,
  }));
}

export function hostNameOf({ namespace, name }: Key): string {
  return `${name}-x-${namespace}-x-${virtualCluster}`;
}

export function subsetsOf(index: number, variant: number): object[] {
  const low = `${(index >> 8) & 255}.${index & 255}`;
  return [
    {
      addresses: [{ ip: `10.${variant & 255}.${low}` }, { ip: `172.16.${low}` }, { ip: `192.168.${low}` }],
      ports: [
        { name: 'http', port: 8080, protocol: 'TCP' },
        { name: 'metrics', port: 9090, protocol: 'TCP' },
      ],
    },
  ];
}

export function endpointsOf(key: Key, index: number, variant: number): object {
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {
      ...key,
      labels: { app: key.name, tier: 'backend' },
      annotations: { 'example.com/owner': `team-${index % 50}` },
    },
    subsets: subsetsOf(index, variant),
  };
}

/** The addresses and ports of the Endpoints of the same key. */
export function sliceOf(key: Key, index: number, variant: number): object {
  const [{ addresses, ports }] = subsetsOf(index, variant) as [{ addresses: { ip: string }[]; ports: object[] }];
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      ...key,
      labels: { app: key.name, tier: 'backend', 'kubernetes.io/service-name': key.name },
      annotations: { 'example.com/owner': `team-${index % 50}` },
    },
    addressType: 'IPv4',
    endpoints: addresses.map(({ ip }) => ({ addresses: [ip], conditions: { ready: true } })),
    ports,
  };
}

export function serviceOf(key: Key): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...key },
    spec: { clusterIP: 'None', ports: [{ name: 'http', port: 8080, protocol: 'TCP' }] },
  };
}

function namespaceOf(name: string): object {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

async function create(client: ApiClient, path: string, object: object): Promise<void> {
  const sending = { method: 'POST', path, body: JSON.stringify(object), contentType: 'application/json' } as const;
  await client.expect(sending, [201, 409]);
}

/** Creates the virtual side: Services first, so that every Endpoints is eligible when it arrives. */
export async function seedVirtual(client: ApiClient, keys: readonly Key[]): Promise<void> {
  await seedServices(client, keys);
  await inParallel(keys, loaderConcurrency, (key, index) =>
    create(client, `/api/v1/namespaces/${key.namespace}/endpoints`, endpointsOf(key, index, 0)),
  );
}

export async function seedSlices(client: ApiClient, keys: readonly Key[]): Promise<void> {
  await inParallel(keys, loaderConcurrency, (key, index) =>
    create(client, `/apis/discovery.k8s.io/v1/namespaces/${key.namespace}/endpointslices`, sliceOf(key, index, 0)),
  );
}

export async function seedServices(client: ApiClient, keys: readonly Key[]): Promise<void> {
  for (const name of new Set(keys.map((key) => key.namespace)))
    await create(client, '/api/v1/namespaces', namespaceOf(name));
  await inParallel(keys, loaderConcurrency, (key) =>
    create(client, `/api/v1/namespaces/${key.namespace}/services`, serviceOf(key)),
  );
}

/** Creates the host side: the namespace of the virtual cluster and the Service that owns all copies. */
export async function seedHost(client: ApiClient): Promise<void> {
  await create(client, '/api/v1/namespaces', namespaceOf(hostNamespace));
  const owner = serviceOf({ namespace: hostNamespace, name: virtualCluster });
  await create(client, `/api/v1/namespaces/${hostNamespace}/services`, owner);
}

export function changeOne(client: ApiClient, key: Key, change: { index: number; variant: number }): Promise<string> {
  return client.expect({
    method: 'PATCH',
    path: `/api/v1/namespaces/${key.namespace}/endpoints/${key.name}`,
    body: JSON.stringify({ subsets: subsetsOf(change.index, change.variant) }),
    contentType: 'application/merge-patch+json',
  });
}

/** Changes all objects as fast as the server takes the requests. */
export async function changeAll(client: ApiClient, keys: readonly Key[], variant: number): Promise<void> {
  await inParallel(keys, loaderConcurrency, (key, index) => changeOne(client, key, { index, variant }));
}

export interface OpenLoop {
  /** Average arrivals a second, as a Poisson process. */
  perSecond: number;
  seconds: number;
  variant: number;
  /** Gets the due time of an arrival, in milliseconds of `performance.now()`. Latency counts from the due time. */
  due?: (index: number, atMs: number) => void;
  answered?: (index: number, atMs: number) => void;
}

/** Sends each change without waiting for the answer before, because slow answers must not make the load lighter. */
export async function changeOpenLoop(client: ApiClient, keys: readonly Key[], loop: OpenLoop): Promise<number> {
  const total = Math.min(keys.length, Math.round(loop.perSecond * loop.seconds));
  const pending: Promise<unknown>[] = [];
  const startMs = performance.now();
  let dueMs = startMs;
  let seed = 12_345;
  for (let index = 0; index < total; index++) {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    dueMs += (-Math.log((seed + 1) / 2 ** 31) / loop.perSecond) * 1000;
    while (performance.now() < dueMs) await nextMoment(dueMs - performance.now());
    loop.due?.(index, dueMs);
    const sent = changeOne(client, keys[index] as Key, { index, variant: loop.variant });
    pending.push(loop.answered === undefined ? sent : sent.then(() => loop.answered?.(index, performance.now())));
  }
  await Promise.all(pending);
  return total;
}

function nextMoment(waitMs: number): Promise<void> {
  return new Promise((resolve) => (waitMs > 2 ? setTimeout(resolve, waitMs - 1) : setImmediate(resolve)));
}
