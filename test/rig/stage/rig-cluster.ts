// One embedded API server of a run, reached through memory. People talk to it directly; daemons come through the fault proxy.
import { Agent, type ClientRequest, createServer, type IncomingMessage, type Server, request as send } from 'node:http';
import type { Duplex } from 'node:stream';
import { makeServingCertificate, type ServingCertificate } from '../../../src/apiserver/tls/certificates.ts';
import { type Devcluster, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import type { Chance } from '../play/random.ts';
import { MemoryWire } from './memory-wire.ts';
import { author, ReplayedStore } from './replayed-store.ts';
import type { RigClock } from './rig-clock.ts';

export type RigSide = 'virtual' | 'host';
export const rigSides: readonly RigSide[] = ['virtual', 'host'];

/** The header by which a cluster knows which proxied request it serves. */
export const requestHeader = 'x-rig-request';

export interface Reply {
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
}

export interface ClusterOptions {
  side: RigSide;
  clock: RigClock;
  chance: Chance;
  note: () => void;
  /** Bearer tokens by the name of the daemon. */
  daemons: ReadonlyMap<string, string>;
}

/** The same for all clusters of a process: nothing here checks it, and making one takes as long as a tenth of a run. */
let certificate: Promise<ServingCertificate> | undefined;

export class RigCluster {
  readonly side: RigSide;
  readonly store: ReplayedStore;
  readonly agent: Agent;
  readonly #options: ClusterOptions;
  #cluster: Devcluster | undefined;
  #server: Server | undefined;
  readonly #wires = new Set<MemoryWire>();

  constructor(options: ClusterOptions) {
    this.side = options.side;
    this.#options = options;
    this.store = new ReplayedStore(options.clock, options.note);
    this.agent = new Agent({ keepAlive: true, maxSockets: 256 });
    this.agent.createConnection = (_options, connected) => {
      const wire = this.#dial();
      connected?.(null, wire.client as Duplex);
      return undefined;
    };
  }

  async start(): Promise<void> {
    const { side, clock, chance, daemons } = this.#options;
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
    });
    const { handler } = this.#cluster.server;
    this.#server = createServer({ keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 }, (request, response) => {
      const [daemon, id] = String(request.headers[requestHeader] ?? '').split(' ');
      author.run({ daemon: daemon || undefined, request: Number(id ?? 0) }, () => handler(request, response));
    });
  }

  get cluster(): Devcluster {
    if (this.#cluster === undefined) throw new Error(`use the ${this.side} cluster: wanted a started one`);
    return this.#cluster;
  }

  #dial(): MemoryWire {
    const wire = new MemoryWire(this.#options.note);
    for (const old of this.#wires) if (!old.isOpen) this.#wires.delete(old);
    this.#wires.add(wire);
    this.#server?.emit('connection', wire.server);
    return wire;
  }

  /** Sends a request of a daemon on. */
  forward(options: { method: string; path: string; headers: Record<string, unknown> }): ClientRequest {
    const { method, path, headers } = options;
    return send({ agent: this.agent, method, path, headers: headers as never });
  }

  /** A request of people with all rights. */
  people(method: string, path: string, body?: object, contentType = 'application/json'): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: 'Bearer people', ...(body && { 'content-type': contentType }) };
      const sent = send({ agent: this.agent, method, path, headers }, (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk: string) => {
          text += chunk;
        });
        answer.once('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
        answer.once('error', reject);
      });
      sent.once('error', reject);
      sent.end(body && JSON.stringify(body));
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
    this.agent.destroy();
    for (const wire of this.#wires) wire.reset();
    this.#server?.close();
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
