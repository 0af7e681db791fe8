// What the contract of windows, writers and leases needs: a proxy that cuts connections, a connection that counts lists, and objects.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Answer } from '../../src/cluster/answer.ts';
import type { Item } from '../../src/cluster/window/window.ts';
import type { Connection } from '../../src/cluster/wire/connection.ts';
import type { ResourceRef } from '../../src/cluster/wire/scope.ts';
import type { KubeObject } from '../../src/object/meta/object.ts';

export interface Kept extends Item {
  ips: string[];
  label: string | undefined;
}

export const namespaces: ResourceRef = { path: 'api/v1', resource: 'namespaces', kind: 'Namespace' };

/** Waits in real time, because the server does not use the test's clock. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  withinMs = 15_000,
): Promise<void> {
  const startMs = performance.now();
  while (!(await condition())) {
    if (performance.now() - startMs > withinMs) throw new Error(`waited ${withinMs} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A proxy that forwards bytes until a test cuts or delays them. */
export class Wire {
  #target: URL;
  #server: Server;
  #pairs = new Set<[Socket, Socket]>();
  #isDown = false;

  constructor(target: string) {
    this.#target = new URL(target);
    this.#server = createServer((near) => {
      if (this.#isDown) return near.resetAndDestroy();
      const far = connect(Number(this.#target.port), this.#target.hostname);
      const pair: [Socket, Socket] = [near, far];
      this.#pairs.add(pair);
      for (const socket of pair) {
        socket.on('error', () => undefined);
        socket.on('close', () => {
          this.#pairs.delete(pair);
          near.destroy();
          far.destroy();
        });
      }
      near.pipe(far);
      far.pipe(near);
    });
  }

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  cut(): void {
    for (const [near, far] of this.#pairs) {
      near.resetAndDestroy();
      far.destroy();
    }
  }

  down(): void {
    this.#isDown = true;
    this.cut();
  }

  up(): void {
    this.#isDown = false;
  }

  async stop(): Promise<void> {
    this.down();
    this.#server.close();
  }
}

/** Counts the requests. */
export class Counting implements Connection {
  lists = 0;
  #inner: Connection;

  constructor(inner: Connection) {
    this.#inner = inner;
  }

  get name(): string {
    return this.#inner.name;
  }

  get server(): string {
    return this.#inner.server;
  }

  request(request: Parameters<Connection['request']>[0]): Promise<Answer> {
    if (request.path.includes('limit=500') && !request.path.includes('continue=')) this.lists++;
    return this.#inner.request(request);
  }

  stream(...args: Parameters<Connection['stream']>): ReturnType<Connection['stream']> {
    return this.#inner.stream(...args);
  }

  subscribe(listener: () => void): () => void {
    return this.#inner.subscribe(listener);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}

export function project(object: KubeObject): Kept {
  const { namespace = '', name = '', uid = '', resourceVersion = '', labels } = object.metadata;
  const subsets = (object['subsets'] ?? []) as { addresses?: { ip: string }[] }[];
  const ips = subsets.flatMap((subset) => subset.addresses?.map((address) => address.ip) ?? []);
  return { namespace, name, uid, resourceVersion, ips, label: labels?.['app'] };
}

export function endpoints(namespace: string, name: string, ip: string, labels?: Record<string, string>): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name, namespace, ...(labels === undefined ? {} : { labels }) },
    subsets: [{ addresses: [{ ip }], ports: [{ port: 80 }] }],
  };
}
