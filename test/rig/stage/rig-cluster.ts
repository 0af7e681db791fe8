// One embedded API server of a run, which is asked without a connection. People talk to it directly; daemons come through the fault proxy.

import { makeServingCertificate, type ServingCertificate } from '../../../src/apiserver/tls/certificates.ts';
import type { Clock } from '../../../src/clock.ts';
import { type Devcluster, type DevclusterOptions, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import type { Chance } from '../play/random.ts';
import { type AnswerHeaders, type Asked, DirectCall, type Listener } from './direct-call.ts';
import { type Author, author, ReplayedStore } from './replayed-store.ts';

export type RigSide = 'virtual' | 'host';
export const rigSides: readonly RigSide[] = ['virtual', 'host'];

export interface Reply {
  status: number;
  headers: AnswerHeaders;
  text: string;
}

export interface ClusterOptions {
  side: RigSide;
  clock: Clock;
  chance: Chance;
  note: () => void;
  /** Bearer tokens by the name of the daemon. */
  daemons: ReadonlyMap<string, string>;
  /** What the contract wants otherwise than a run. */
  otherwise?: DevclusterOptions;
}

const people: Author = { daemon: undefined, request: 0 };

/** The same for all clusters of a process: nothing here checks it, and making one takes as long as a tenth of a run. */
let certificate: Promise<ServingCertificate> | undefined;

export class RigCluster {
  readonly side: RigSide;
  readonly store: ReplayedStore;
  readonly #options: ClusterOptions;
  #cluster: Devcluster | undefined;
  readonly #calls = new Set<DirectCall>();

  constructor(options: ClusterOptions) {
    this.side = options.side;
    this.#options = options;
    this.store = new ReplayedStore(options.clock, options.note);
  }

  async start(): Promise<void> {
    const { side, clock, chance, daemons, otherwise } = this.#options;
    certificate ??= makeServingCertificate('rig', ['127.0.0.1', 'localhost'], new Date());
    const letters = 'bcdfghjklmnpqrstvwxz2456789';
    await this.store.start();
    this.#cluster = await startDevcluster({
      name: side,
      clock,
      store: { kind: 'given', store: this.store },
      certificate: await certificate,
      adminToken: 'people',
      users: [...daemons].map(([name, token]) => ({
        name,
        token,
        rules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
      })),
      randomness: {
        uid: () => uuidOf(chance),
        nameSuffix: () => Array.from({ length: 5 }, () => letters[chance.whole(letters.length)]).join(''),
      },
      ...otherwise,
    });
  }

  get cluster(): Devcluster {
    if (this.#cluster === undefined) throw new Error(`use the ${this.side} cluster: wanted a started one`);
    return this.#cluster;
  }

  /** A request of a daemon, which the proxy sends on. */
  forward(asked: Asked, by: Author, listener: Listener): DirectCall {
    const { note } = this.#options;
    const call = new DirectCall(asked, { note, listener, closed: () => this.#calls.delete(call) });
    this.#calls.add(call);
    const { handler } = this.cluster.server;
    call.begin((request, response) => author.run(by, () => handler(request, response)));
    return call;
  }

  /** A request of people with all rights. */
  people(method: string, path: string, body?: object, contentType = 'application/json'): Promise<Reply> {
    const headers = { authorization: 'Bearer people', ...(body && { 'content-type': contentType }) };
    const asked = { method, path, headers, body: body === undefined ? '' : JSON.stringify(body) };
    return new Promise((resolve, reject) => {
      const reply: Reply = { status: 0, headers: {}, text: '' };
      this.forward(asked, people, {
        begun: (status, headers) => void Object.assign(reply, { status, headers }),
        data: (text) => {
          reply.text += text;
        },
        ended: () => resolve(reply),
        cut: () => reject(new Error(`${method} ${path}: the ${this.side} cluster has broken off its answer`)),
      });
    });
  }

  /** What is there now, in the words of the store. */
  objects(resource: RigResource): KubeObject[] {
    return this.store.entries(`${registry[resource]}/`).map(([, object]) => object);
  }

  find(resource: RigResource, namespace: string, name: string): KubeObject | undefined {
    return this.store.peek(`${registry[resource]}/${namespace}/${name}`);
  }

  async stop(): Promise<void> {
    for (const call of this.#calls) call.abandon();
    this.#calls.clear();
    await this.#cluster?.stop();
    await this.store.stop();
  }
}

/** Where the store keeps each resource of a run. */
export const registry = {
  services: '/registry/services/specs',
  endpoints: '/registry/services/endpoints',
  endpointslices: '/registry/endpointslices',
  secrets: '/registry/secrets',
  configmaps: '/registry/configmaps',
  leases: '/registry/leases',
  namespaces: '/registry/namespaces',
} as const;

export type RigResource = keyof typeof registry;

export const kindOfResource: Record<Exclude<RigResource, 'leases'>, { kind: string; apiVersion: string }> = {
  services: { kind: 'Service', apiVersion: 'v1' },
  endpoints: { kind: 'Endpoints', apiVersion: 'v1' },
  endpointslices: { kind: 'EndpointSlice', apiVersion: 'discovery.k8s.io/v1' },
  secrets: { kind: 'Secret', apiVersion: 'v1' },
  configmaps: { kind: 'ConfigMap', apiVersion: 'v1' },
  namespaces: { kind: 'Namespace', apiVersion: 'v1' },
};

export function pathOf(resource: string, namespace: string, name = ''): string {
  const group =
    resource === 'endpointslices'
      ? '/apis/discovery.k8s.io/v1'
      : resource === 'leases'
        ? '/apis/coordination.k8s.io/v1'
        : '/api/v1';
  const within = resource === 'namespaces' ? `${group}/namespaces` : `${group}/namespaces/${namespace}/${resource}`;
  return name === '' ? within : `${within}/${name}`;
}

function uuidOf(chance: Chance): string {
  const hex = (length: number): string => Array.from({ length }, () => chance.whole(16).toString(16)).join('');
  return `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`;
}
