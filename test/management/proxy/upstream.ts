// A bare server behind the proxy that answers as a test says and remembers what arrived, and a way in that sends raw bytes.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import type { LoopShares } from '../../../src/apiserver/limits/loop-time.ts';
import type { Clock } from '../../../src/clock.ts';
import type { ManagementSettings } from '../../../src/config/settings/management-settings.ts';
import type { Log } from '../../../src/log.ts';
import type { Database } from '../../../src/management/server/host/database-for.ts';
import { type Bench, openBench, people } from '../server/bench.ts';

export interface Seen {
  method: string;
  url: string;
  /** Lower-case names; a repeated header has several values. */
  headers: Map<string, string[]>;
  body: string;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;
export type Upgraded = (request: IncomingMessage, socket: Socket, head: Buffer) => void;

export interface Behind {
  bench: Bench;
  /** Requests that arrived, those to change the protocol among them. */
  seen: Seen[];
  /** Sockets that are open now. */
  open: Set<Socket>;
  url: string;
  kubeconfigPath: string;
  /** Writes the kubeconfig again. */
  useToken(token: string): void;
  answerWith(handler: Handler): void;
  upgradeWith(handler: Upgraded): void;
  /** The server stops, and its address answers nothing any more. */
  stopUpstream(): Promise<void>;
  stop(): Promise<void>;
}

const clientCert = { clusterRole: 'cluster-admin', maxTTL: 0 };

export async function openBehind(
  options: {
    settings?: Partial<ManagementSettings>;
    token?: string;
    port?: number;
    clock?: Clock;
    database?: Database;
    loopShares?: LoopShares;
    log?: Log;
  } = {},
): Promise<Behind> {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-proxy-'));
  const kubeconfigPath = join(folder, 'kubeconfig');
  const seen: Seen[] = [];
  const open = new Set<Socket>();
  let handler: Handler = (_request, response) => void response.end('{}');
  let upgraded: Upgraded = (_request, socket) =>
    void socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
  const server: Server = createServer((request, response) => {
    // Only Hostward itself asks without acting for somebody: for its rights, and for bindings that it has left.
    if (request.headers['impersonate-user'] === undefined) {
      const isReview = request.url?.endsWith('/selfsubjectaccessreviews') === true;
      // Else an idle connection would count as open for five seconds.
      response.writeHead(isReview ? 201 : 200, { 'content-type': 'application/json', connection: 'close' });
      response.end(
        JSON.stringify(isReview ? { status: { allowed: true } } : { kind: 'List', metadata: {}, items: [] }),
      );
      return;
    }
    const entry = entryOf(request);
    seen.push(entry);
    request.on('data', (part: Buffer) => {
      entry.body += part.toString('latin1');
    });
    handler(request, response);
  });
  server.on('upgrade', (request, socket, head) => {
    seen.push(entryOf(request));
    // Sockets of an HTTP server stay half open when the other side has closed.
    socket.once('end', () => socket.destroy());
    upgraded(request, socket as Socket, head);
  });
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const useToken = (token: string) => writeFileSync(kubeconfigPath, kubeconfigText(url, token));
  useToken(options.token ?? 'upstream-secret');
  const { port, clock, database, loopShares, log } = options;
  const bench = await openBench({
    settings: { ...placesAt(kubeconfigPath), ...options.settings },
    ...(port === undefined ? {} : { port }),
    ...(clock === undefined ? {} : { clock }),
    ...(database === undefined ? {} : { database }),
    ...(loopShares === undefined ? {} : { loopShares }),
    ...(log === undefined ? {} : { log }),
  });
  const stopUpstream = async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    ...{ bench, seen, open, url, kubeconfigPath, useToken },
    answerWith(next) {
      handler = next;
    },
    upgradeWith(next) {
      upgraded = next;
    },
    stopUpstream,
    async stop() {
      await bench.stop();
      await stopUpstream();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function kubeconfigText(server: string, token: string, more: object = {}): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'behind', cluster: { server, ...more } }],
    users: [{ name: 'proxy', user: { token } }],
    contexts: [{ name: 'behind', context: { cluster: 'behind', user: 'proxy' } }],
    'current-context': 'behind',
  });
}

/** A cluster, a virtual cluster and a space with one server behind all three. */
export function placesAt(kubeconfig: string): Partial<ManagementSettings> {
  return {
    clusters: [
      { name: 'c1', kubeconfig, members: [{ user: 'alice' }] },
      { name: 'hidden', kubeconfig, members: [] },
    ],
    projects: [
      {
        name: 'shop',
        members: [
          { user: 'alice', role: 'user' },
          { user: 'bob', role: 'viewer' },
        ],
        virtualClusters: [
          { name: 'v1', kubeconfig, clientCert },
          { name: 'v2', clientCert },
        ],
        spaces: [{ name: 's1', cluster: 'c1', namespace: 'shop-s1' }],
      },
    ],
  };
}

function entryOf({ method = '', url = '', rawHeaders }: IncomingMessage): Seen {
  const headers = new Map<string, string[]>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] as string).toLowerCase();
    headers.set(name, [...(headers.get(name) ?? []), rawHeaders[at + 1] as string]);
  }
  return { method, url, headers, body: '' };
}

export interface RawClient {
  socket: TLSSocket;
  /** Everything that came back so far. */
  text(): string;
  closed: Promise<void>;
  write(text: string | Buffer): void;
}

/** A connection on which a test writes what it likes. */
export async function rawClient({ api }: Bench): Promise<RawClient> {
  const socket = connect({ host: '127.0.0.1', port: api.port, ca: api.caPem, servername: 'localhost' });
  const parts: Buffer[] = [];
  socket.on('data', (part: Buffer) => parts.push(part));
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await new Promise<void>((resolve) => socket.once('secureConnect', () => resolve()));
  return {
    socket,
    text: () => Buffer.concat(parts).toString('latin1'),
    closed,
    write: (text) => void socket.write(text),
  };
}

/** The lines of a request, with the empty one at its end. */
export function requestText(line: string, headers: readonly string[]): string {
  return `${[line, 'Host: localhost', ...headers].join('\r\n')}\r\n\r\n`;
}

export { people };
