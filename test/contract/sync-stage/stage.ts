// The stage of the live sync suites: whole daemons between the two API servers of a backend, and methods that act as a tenant,
// as other clients on the host, and as the vCluster that syncs the Services.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hostName } from '../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { objectKeys } from '../../../src/sync/plan/keys/reserved-keys.ts';
import type { Answer } from '../client.ts';
import {
  hostNamespace,
  patienceFor,
  type RecordedRequest,
  type Side,
  type SyncBackend,
  sides,
  until,
  virtualCluster,
  writeVerbs,
} from './backend.ts';
import { LiveDaemon, type LiveOptions } from './daemon.ts';
import { roleRights, virtualRights } from './rights.ts';

/** Namespaces of Kubernetes itself, which no test writes to. */
const systemNamespaces = ['kube-system', 'kube-public', 'kube-node-lease'];

export interface Pair {
  namespace?: string;
  name: string;
  ips?: readonly string[];
  metadata?: Partial<KubeObject['metadata']>;
  subsets?: unknown;
  service?: object;
}

interface RecordedEvent {
  reason: string;
  message: string;
  type: string;
  count: number;
  source?: { component?: string };
}

let stages = 0;

export class SyncStage {
  readonly backend: SyncBackend;
  /**
   * The default virtual namespace. Each stage has its own, because Kubernetes' controllers may still handle names of an
   * earlier test.
   */
  readonly tenant = `tenant-${++stages}`;
  readonly #folder = mkdtempSync(join(tmpdir(), 'hostward-sync-'));
  #daemons: LiveDaemon[] = [];
  readonly #namespaces = new Map(sides.map((side) => [side, new Map<string, Promise<void>>()]));
  #files = 0;

  constructor(backend: SyncBackend) {
    this.backend = backend;
  }

  /** Prepares two empty clusters, by default with the owner of all copies. */
  async set({ hasOwner = true }: { hasOwner?: boolean } = {}): Promise<void> {
    await this.grantAll();
    await this.namespace('host', hostNamespace);
    if (hasOwner) await this.createOwner();
    for (const side of sides) await this.backend[side].forget();
  }

  /** Grants exactly the rights that the daemon needs. */
  async grantAll(): Promise<void> {
    await this.backend.virtual.grant(virtualRights);
    await this.backend.host.grant(roleRights());
  }

  async createOwner(): Promise<KubeObject> {
    return this.create('host', 'services', {
      metadata: { namespace: hostNamespace, name: virtualCluster },
      spec: { ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 8443 }] },
    });
  }

  /** Stops every daemon and empties every namespace that was written to. */
  async clear(): Promise<void> {
    for (const daemon of this.#daemons) await daemon.stop();
    this.#daemons = [];
    const emptied = sides.map(async (side) => {
      for (const resource of ['services', 'endpoints', 'endpointslices', 'leases']) await this.#empty(side, resource);
    });
    await Promise.all(emptied);
    // The controllers delete the Endpoints of a deleted Service late, even if a new object has the name by then.
    await this.backend.controllersAtRest();
  }

  /** One list of all namespaces costs a real server less than one of each. */
  async #empty(side: Side, resource: string): Promise<void> {
    const { admin } = this.backend[side];
    const written = new Set(['default', ...(this.#namespaces.get(side)?.keys() ?? [])]);
    const left = async (): Promise<KubeObject[]> => {
      // A test may have written to a namespace of the system.
      const items = await this.#listAll(side, resource);
      return items.filter(({ metadata: { namespace = '', name } }) => written.has(namespace) && name !== 'kubernetes');
    };
    const found = await left();
    if (found.length === 0) return;
    const isEmpty = async () => {
      const items = await left();
      if (items.length === 0) return true;
      const remove = async ({ metadata }: KubeObject) => {
        const { namespace, name } = place(metadata);
        if (metadata.finalizers?.length)
          await this.patch(side, resource, { namespace, name, mergePatch: { metadata: { finalizers: null } } });
        await admin.request('DELETE', `${pathOf(resource, namespace)}/${name}`);
      };
      const waiting = items.values();
      const work = async () => {
        for (const item of waiting) await remove(item);
      };
      await Promise.all(Array.from({ length: 8 }, work));
      return undefined;
    };
    await until(`no ${resource} on the ${side} side`, isEmpty, patienceFor(found.length));
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Writes a file for the test and returns its path. */
  file(text: string, ending = 'yaml'): string {
    const path = join(this.#folder, `${++this.#files}.${ending}`);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  async daemon(options: LiveOptions = {}): Promise<LiveDaemon> {
    const daemon = this.assemble(options);
    await daemon.begin();
    return daemon;
  }

  /** Creates a daemon without starting it. */
  assemble(options: LiveOptions = {}): LiveDaemon {
    const daemon = new LiveDaemon(this, options);
    this.#daemons.push(daemon);
    return daemon;
  }

  namespace(side: Side, name: string): Promise<void> {
    const known = this.#namespaces.get(side);
    const making = known?.get(name) ?? (name === 'default' ? Promise.resolve() : this.#createNamespace(side, name));
    known?.set(name, making);
    return making;
  }

  async #createNamespace(side: Side, name: string): Promise<void> {
    const answer = await this.backend[side].admin.request('POST', '/api/v1/namespaces', {
      body: { metadata: { name } },
    });
    if (answer.status !== 409) expectDone(answer, `create namespace ${name}`);
  }

  /** Called when a test has deleted a namespace itself. */
  forgetNamespace(side: Side, name: string): void {
    this.#namespaces.get(side)?.delete(name);
  }

  async create(side: Side, resource: string, object: Partial<KubeObject>): Promise<KubeObject> {
    const namespace = object.metadata?.namespace ?? this.tenant;
    await this.namespace(side, namespace);
    const { admin } = this.backend[side];
    const answer = await admin.request('POST', `${pathOf(resource, namespace)}?fieldManager=tester`, { body: object });
    if (answer.status !== 409 || resource !== 'endpoints') return expectDone(answer, `create ${resource}`);
    // Kubernetes' own controller has created the Endpoints first.
    const found = await this.get(side, resource, { namespace, name: object.metadata?.name ?? '' });
    const body = { ...object, metadata: { ...object.metadata, resourceVersion: found?.metadata.resourceVersion } };
    const path = `${pathOf(resource, namespace)}/${object.metadata?.name}?fieldManager=tester`;
    return expectDone(await admin.request('PUT', path, { body }), `update ${resource}`);
  }

  /** The tenant's Endpoints and the Service of the same name, which vCluster would copy to the host. */
  async pair(given: Pair): Promise<KubeObject> {
    const { namespace = this.tenant, name, ips = ['10.0.0.1'], metadata, service = {} } = given;
    const subsets = 'subsets' in given ? given.subsets : subsetsOf(...ips);
    await this.service({ namespace, name, ...service });
    return this.create('virtual', 'endpoints', {
      metadata: { ...metadata, namespace, name },
      ...(subsets !== undefined && { subsets }),
    } as KubeObject);
  }

  async service(given: {
    namespace?: string;
    name: string;
    metadata?: object;
    spec?: object;
    onHost?: boolean;
  }): Promise<void> {
    const { namespace = this.tenant, name, onHost = this.backend.hasControllers } = given;
    const spec = { ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 80 }], ...given.spec };
    await this.create('virtual', 'services', { metadata: { ...given.metadata, namespace, name }, spec } as KubeObject);
    if (onHost) await this.hostService({ namespace, name, spec });
  }

  /** Creates the host Service as vCluster's own syncer does. */
  async hostService({
    namespace = this.tenant,
    name,
    spec,
  }: {
    namespace?: string;
    name: string;
    spec: object;
  }): Promise<void> {
    const at = copyPlace(namespace, name);
    const annotations = { [objectKeys.name]: name, [objectKeys.namespace]: namespace };
    // When two names collide on the host, vCluster writes the first and fails on the second.
    if ((await this.get('host', 'services', at)) !== undefined) return;
    await this.create('host', 'services', { metadata: { ...at, annotations }, spec });
  }

  /** The place of the host copy of a tenant's object. */
  at(name: string): Place {
    return copyPlace(this.tenant, name);
  }

  async get(side: Side, resource: string, at: Place): Promise<KubeObject | undefined> {
    const answer = await this.backend[side].admin.request('GET', `${pathOf(resource, at.namespace)}/${at.name}`);
    if (answer.status === 404) return undefined;
    return expectDone(answer, `get ${resource} ${at.name}`);
  }

  tenants(name: string, namespace = this.tenant): Promise<KubeObject | undefined> {
    return this.get('virtual', 'endpoints', { namespace, name });
  }

  copy(name: string, namespace = this.tenant): Promise<KubeObject | undefined> {
    return this.get('host', 'endpoints', copyPlace(namespace, name));
  }

  /** The status of a list request by the daemon's user in HNS. */
  async probe(side: Side, resource: string): Promise<number> {
    return (await this.backend[side].asDaemon.request('GET', pathOf(resource, hostNamespace))).status;
  }

  /** Whether the daemon's user has a right in HNS, by its own access review. */
  async mayDaemon(side: Side, verb: string, resource: string): Promise<boolean> {
    const resourceAttributes = { verb, resource, group: '', namespace: hostNamespace };
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
    const body = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes },
    };
    const answer = await this.backend[side].asDaemon.request('POST', path, { body });
    return (answer.json as { status: { allowed: boolean } }).status.allowed;
  }

  async list(side: Side, resource: string): Promise<KubeObject[]> {
    const items = await this.#listAll(side, resource);
    return items.filter(({ metadata }) => !systemNamespaces.includes(metadata.namespace ?? ''));
  }

  async #listAll(side: Side, resource: string): Promise<KubeObject[]> {
    const answer = await this.backend[side].admin.request('GET', `${groupOf(resource)}/${resource}`);
    expectDone(answer, `list ${resource}`);
    return (answer.json as { items: KubeObject[] }).items;
  }

  async patch(
    side: Side,
    resource: string,
    change: Place & { mergePatch: object; manager?: string },
  ): Promise<KubeObject> {
    const { namespace, name, mergePatch, manager = 'tester' } = change;
    const answer = await this.backend[side].admin.request(
      'PATCH',
      `${pathOf(resource, namespace)}/${name}?fieldManager=${manager}`,
      {
        body: mergePatch,
        headers: { 'content-type': 'application/merge-patch+json' },
      },
    );
    return expectDone(answer, `patch ${resource} ${name}`);
  }

  editTenants(name: string, mergePatch: object, namespace = this.tenant): Promise<KubeObject> {
    return this.patch('virtual', 'endpoints', { namespace, name, mergePatch });
  }

  editCopy(name: string, mergePatch: object, namespace = this.tenant): Promise<KubeObject> {
    return this.patch('host', 'endpoints', { ...copyPlace(namespace, name), mergePatch });
  }

  /** Clears the managed fields: a write that changes only them and the resourceVersion. */
  async resetManagers(side: Side, at: Place): Promise<void> {
    const before = await this.get(side, 'endpoints', at);
    const after = await this.patch(side, 'endpoints', { ...at, mergePatch: { metadata: { managedFields: [{}] } } });
    if (after.metadata.resourceVersion === before?.metadata.resourceVersion) throw new Error('nothing was written');
  }

  async remove(side: Side, resource: string, at: Place): Promise<void> {
    const answer = await this.backend[side].admin.request('DELETE', `${pathOf(resource, at.namespace)}/${at.name}`);
    expectDone(answer, `delete ${resource} ${at.name}`);
  }

  removeTenants(name: string, namespace = this.tenant): Promise<void> {
    return this.remove('virtual', 'endpoints', { namespace, name });
  }

  removeCopy(name: string, namespace = this.tenant): Promise<void> {
    return this.remove('host', 'endpoints', copyPlace(namespace, name));
  }

  /** Deletes the virtual Service and its host copy, as vCluster does. */
  async removeService(name: string, namespace = this.tenant): Promise<void> {
    await this.remove('virtual', 'services', { namespace, name });
    if (this.backend.hasControllers) await this.remove('host', 'services', copyPlace(namespace, name));
  }

  /** Writes of one kind by the daemon's user as `side verb name`. */
  async writes(kind = 'endpoints'): Promise<string[]> {
    const written: string[] = [];
    for (const side of sides) {
      for (const { verb, resource, name, code } of await this.backend[side].requests()) {
        if (resource === kind && writeVerbs.includes(verb))
          written.push(`${side} ${verb} ${name}${code < 300 ? '' : ` ${code}`}`);
      }
    }
    return written;
  }

  async forgetWrites(): Promise<void> {
    for (const side of sides) await this.backend[side].forget();
  }

  /** Forbidden requests of the daemon's user, except about namespaces, which the daemon may be denied. */
  async forbidden(): Promise<RecordedRequest[]> {
    const all: RecordedRequest[] = [];
    for (const side of sides) all.push(...(await this.backend[side].requests()));
    return all.filter(({ code, resource }) => code === 403 && resource !== 'namespaces');
  }

  /** The events that the daemon recorded; Kubernetes' controllers record others about a Service of the same name. */
  async events(name: string, namespace = this.tenant): Promise<RecordedEvent[]> {
    const path = `/api/v1/namespaces/${namespace}/events?fieldSelector=involvedObject.name%3D${name}`;
    const answer = await this.backend.virtual.admin.request('GET', path);
    const { items } = answer.json as { items: RecordedEvent[] };
    return items.filter(({ source }) => source?.component === 'hostward');
  }
}

export interface Place {
  namespace: string;
  name: string;
}

export function copyPlace(namespace: string, name: string): Place {
  return { namespace: hostNamespace, name: hostName({ namespace, name }, virtualCluster) };
}

export function subsetsOf(...ips: string[]): object[] {
  return [{ addresses: ips.map((ip) => ({ ip })), ports: [{ name: 'http', port: 8080, protocol: 'TCP' }] }];
}

export function ipsOf(object: KubeObject | undefined): string[] {
  const subsets = (object?.['subsets'] ?? []) as {
    addresses?: { ip: string }[];
    notReadyAddresses?: { ip: string }[];
  }[];
  return subsets.flatMap(({ addresses = [], notReadyAddresses = [] }) =>
    [...addresses, ...notReadyAddresses].map(({ ip }) => ip),
  );
}

function place(metadata: KubeObject['metadata']): Place {
  return { namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
}

function pathOf(resource: string, namespace: string): string {
  return `${groupOf(resource)}/namespaces/${namespace}/${resource}`;
}

function groupOf(resource: string): string {
  if (resource === 'endpointslices') return '/apis/discovery.k8s.io/v1';
  return resource === 'leases' ? '/apis/coordination.k8s.io/v1' : '/api/v1';
}

function expectDone(answer: Answer, what: string): KubeObject {
  if (answer.status >= 300) throw new Error(`${what}: ${answer.status} ${answer.text.slice(0, 500)}`);
  return answer.json as KubeObject;
}
