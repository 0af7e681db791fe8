// The syncers of vCluster for Endpoints and EndpointSlices, as recorded from a running one: one function for each thing that it
// does to slices. Each look acts only on objects that changed, as vCluster acts on events.
import { hostName } from '../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { markerLabel, namespaceLabel, objectKeys, theSix } from '../../../src/sync/plan/keys/reserved-keys.ts';
import type { ApiClient } from '../../contract/client.ts';

const serviceLabel = 'kubernetes.io/service-name';
const leaderKey = 'control-plane.alpha.kubernetes.io/leader';
const controlledBy = 'vcluster.loft.sh/controlled-by';
const groups = { endpoints: '/api/v1', endpointslices: '/apis/discovery.k8s.io/v1', services: '/api/v1' };
type Resource = keyof typeof groups;
type Endpoint = Record<string, unknown> & { targetRef?: { kind?: string; name?: string; namespace?: string } };

export interface EmulationOptions {
  virtual: ApiClient;
  host: ApiClient;
  virtualCluster: string;
  hostNamespace: string;
  syncs: readonly ('endpoints' | 'endpointslices')[];
}

/** The Service decides: synced without a selector, removed with one, skipped without a Service. */
export function verdictOf(object: KubeObject, service: KubeObject | undefined): 'sync' | 'remove' | 'skip' {
  const { labels = {}, annotations = {} } = object.metadata;
  if (service === undefined || controlledBy in labels || controlledBy in annotations) return 'skip';
  const { selector = {} } = service['spec'] as { selector?: object };
  return Object.keys(selector).length > 0 ? 'remove' : 'sync';
}

/** The name of every object; the slice named `kubernetes` alone has none. */
export function hostNameOf({ metadata: { namespace = '', name = '' } }: KubeObject, vc: string): string | undefined {
  return namespace === 'default' && name === 'kubernetes' ? undefined : hostName({ namespace, name }, vc);
}

/** Plain text that is never hashed at the creation, and the bare virtual name with every later write. */
export function serviceLabelOf(slice: KubeObject, vc: string, { isCreation }: { isCreation: boolean }): string {
  const named = slice.metadata.labels?.[serviceLabel] ?? '';
  return isCreation ? `${named}-x-${slice.metadata.namespace}-x-${vc}` : named;
}

/** All labels of the tenant, the manager included: a copy of a mirrored slice claims to be the host's mirror. */
export function labelsOf(slice: KubeObject, vc: string): Record<string, string> {
  const { labels, namespace = '' } = slice.metadata;
  return { ...labels, [markerLabel]: vc, [namespaceLabel]: namespace };
}

/** An update carries endpoints alone, or the subsets of an Endpoints: ports of a slice stay as the creation wrote them. */
export function updateOf(virtual: KubeObject, host: KubeObject, vc: string): object | undefined {
  const isSlice = virtual['addressType'] !== undefined;
  const [field, wanted] = isSlice ? ['endpoints', endpointsOf(virtual, vc)] : ['subsets', virtual['subsets'] ?? []];
  return JSON.stringify(wanted) === JSON.stringify(host[field] ?? []) ? undefined : { [field]: wanted };
}

/** Pods get their host names, and everything else passes. */
export function endpointsOf(slice: KubeObject, vc: string): Endpoint[] {
  return ((slice['endpoints'] ?? []) as Endpoint[]).map((endpoint) => {
    const { targetRef } = endpoint;
    if (targetRef?.kind !== 'Pod') return endpoint;
    const { name = '', namespace = '' } = targetRef;
    const within = namespace === '' ? {} : { namespace: `vcluster-${vc}` };
    return { ...endpoint, targetRef: { ...targetRef, name: hostName({ namespace, name }, vc), ...within } };
  });
}

/** A host slice that vanished takes the tenant's slice with it. */
export function isLost(known: Known | undefined, host: KubeObject | undefined): boolean {
  return known?.host !== undefined && host === undefined;
}

/** Three-way for each key against the last look: the side that changed wins, the virtual side first. */
export function mergedKeys(field: 'labels' | 'annotations', known: Known | undefined, now: Required<Known>) {
  const keysOf = (object: KubeObject | undefined): Record<string, string> => object?.metadata[field] ?? {};
  const [virtual, host] = [keysOf(now.virtual), keysOf(now.host)];
  const [virtualBefore, hostBefore] = [keysOf(known?.virtual), keysOf(known?.host)];
  const toHost: Record<string, string | null> = {};
  const toVirtual: Record<string, string | null> = {};
  for (const key of new Set([virtual, host, virtualBefore].flatMap(Object.keys))) {
    if (/^(vcluster\.loft\.sh|hostward\.dev)\//.test(key) || key === leaderKey || key === serviceLabel) continue;
    if (virtual[key] === host[key]) continue;
    if (virtual[key] !== virtualBefore[key]) toHost[key] = virtual[key] ?? null;
    else if (host[key] !== hostBefore[key]) toVirtual[key] = host[key] ?? null;
  }
  return { toHost, toVirtual };
}

export interface Known {
  virtual: KubeObject;
  host: KubeObject | undefined;
}

export class VClusterEmulation {
  readonly #options: EmulationOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: EmulationOptions) {
    this.#options = options;
  }

  /** One round over everything that changed since the last. */
  async look(): Promise<void> {
    const services = byKey(await this.#list('virtual', 'services'));
    for (const resource of this.#options.syncs) {
      const host = byKey(await this.#list('host', resource));
      const virtual = byKey(await this.#list('virtual', resource));
      for (const object of virtual.values()) await this.#handle(resource, object, { services, host });
      for (const [key, copy] of host) {
        const { [objectKeys.name]: name, [objectKeys.namespace]: namespace } = copy.metadata.annotations ?? {};
        const isCopy = copy.metadata.labels?.[markerLabel] === this.#options.virtualCluster && name !== undefined;
        if (isCopy && !virtual.has(`${namespace}/${name}`)) await this.#remove('host', resource, key);
      }
    }
  }

  async #handle(
    resource: Resource,
    virtual: KubeObject,
    { services, host }: Record<'services' | 'host', ReadonlyMap<string, KubeObject>>,
  ): Promise<void> {
    const { virtualCluster: vc, hostNamespace } = this.#options;
    const name = hostNameOf(virtual, vc);
    if (name === undefined) return;
    const id = `${resource} ${keyOf(virtual)}`;
    const known = this.#known.get(id);
    const copy = host.get(`${hostNamespace}/${name}`);
    if (isSame(known?.virtual, virtual) && isSame(known?.host, copy)) return;
    const isSlice = resource === 'endpointslices';
    const { metadata } = virtual;
    const service = isSlice ? metadata.labels?.[serviceLabel] : metadata.name;
    const verdict = verdictOf(virtual, services.get(`${metadata.namespace}/${service}`));
    this.#known.set(id, { virtual, host: copy });
    if (verdict === 'skip') return;
    const isCopy = copy?.metadata.annotations?.[objectKeys.name] !== undefined;
    if (verdict === 'remove') return isCopy ? this.#remove('host', resource, keyOf(copy)) : undefined;
    if (isLost(known, copy) && isSlice) return this.#remove('virtual', resource, keyOf(virtual));
    if (copy === undefined) return this.#create(resource, virtual, name);
    const payload = updateOf(virtual, copy, vc);
    const now = { virtual, host: copy };
    const { toHost, toVirtual } = mergedKeys('labels', known, now);
    if (isSlice && virtual.metadata.labels?.[serviceLabel] !== known?.virtual.metadata.labels?.[serviceLabel])
      toHost[serviceLabel] = serviceLabelOf(virtual, vc, { isCreation: false });
    const notes = mergedKeys('annotations', known, now);
    await this.#patch('host', resource, copy, { ...payload, metadata: { labels: toHost, annotations: notes.toHost } });
    const back = { metadata: { labels: toVirtual, annotations: notes.toVirtual } };
    await this.#patch('virtual', resource, virtual, back);
  }

  async #create(resource: Resource, virtual: KubeObject, name: string): Promise<void> {
    const { virtualCluster: vc, hostNamespace: namespace } = this.#options;
    const isSlice = resource === 'endpointslices';
    const labels = labelsOf(virtual, vc);
    if (isSlice) labels[serviceLabel] = serviceLabelOf(virtual, vc, { isCreation: true });
    const kind = isSlice ? 'discovery.k8s.io/v1, Kind=EndpointSlice' : '/v1, Kind=Endpoints';
    const { metadata, ...payload } = virtual;
    const values = [metadata.name, metadata.namespace, metadata.uid, kind, name, namespace];
    const annotations = { ...metadata.annotations, ...Object.fromEntries(theSix.map((key, at) => [key, values[at]])) };
    const endpoints = isSlice && { endpoints: endpointsOf(virtual, vc) };
    const body = { ...payload, ...endpoints, metadata: { namespace, name, labels, annotations } };
    await this.#options.host.request('POST', `${groups[resource]}/namespaces/${namespace}/${resource}`, { body });
  }

  async #patch(side: 'virtual' | 'host', resource: Resource, object: KubeObject, change: object): Promise<void> {
    if (!/":(?!\{)/.test(JSON.stringify(change))) return;
    const headers = { 'content-type': 'application/merge-patch+json' };
    await this.#options[side].request('PATCH', pathOf(resource, keyOf(object)), { body: change, headers });
  }

  async #remove(side: 'virtual' | 'host', resource: Resource, key: string): Promise<void> {
    await this.#options[side].request('DELETE', pathOf(resource, key));
  }

  async #list(side: 'virtual' | 'host', resource: Resource): Promise<KubeObject[]> {
    const within = side === 'host' ? `/namespaces/${this.#options.hostNamespace}` : '';
    const answer = await this.#options[side].request('GET', `${groups[resource]}${within}/${resource}`);
    return (answer.json as { items: KubeObject[] }).items;
  }
}

function isSame(one: KubeObject | undefined, other: KubeObject | undefined): boolean {
  return one?.metadata.resourceVersion === other?.metadata.resourceVersion;
}

function byKey(objects: readonly KubeObject[]): Map<string, KubeObject> {
  return new Map(objects.map((object) => [keyOf(object), object]));
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function pathOf(resource: Resource, key: string): string {
  const [namespace, name] = key.split('/');
  return `${groups[resource]}/namespaces/${namespace}/${resource}/${name}`;
}
