// The daemon's local HTTP port: /healthz, /readyz and /metrics for the cluster, /status for `hostward status`. In: functions
// that answer. Out: text and JSON. Requests change nothing and have no body. This file must never know what is being synced.
// Only programs on this machine may read /status, because it names objects and their faults.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, BlockList, isIP } from 'node:net';
import { listen } from '../../apiserver/wire/listen.ts';
import { safeText } from '../../safe-text.ts';
import type { ObjectFilter } from '../../sync/report/object-list.ts';
import { ConnectionSlots } from './connection-slots.ts';

export interface ReadinessPart {
  /** The NAME in /readyz/NAME. */
  name: string;
  isReady: boolean;
  lines: readonly string[];
}

/** The daemon is ready when all its parts are ready. */
export interface Readiness {
  isReady: boolean;
  lines: readonly string[];
  parts: readonly ReadinessPart[];
}

export interface OperationsAnswers {
  /** False once the daemon cannot recover by itself and should be restarted. */
  health(): { isHealthy: boolean; lines: readonly string[] };
  /** Whether the daemon does its work, part by part; each line states one condition. */
  readiness(): Readiness;
  /** Prometheus text. */
  metrics(): Promise<{ contentType: string; text: string }>;
  /** The daemon as a whole, as JSON. */
  status(): unknown;
  /** All objects of a namespace, in a state or of a kind, one after the other. */
  objects(filter: ObjectFilter): Iterable<unknown>;
  /** One object, by key; undefined when the daemon does not know the object. */
  objectStatus(key: string): unknown;
}

export interface OperationsLimits {
  connections: number;
  requestTimeoutMs: number;
  keepAliveTimeoutMs: number;
  answerTimeoutMs: number;
}

const defaultLimits: OperationsLimits = {
  /** Enough for probes, one scraper and a few people. A further client takes the slot of the oldest idle client. */
  connections: 64,
  /** A probe sends its few hundred bytes at once. */
  requestTimeoutMs: 2_000,
  /** Scrapers come every 15 to 60 s; holding their sockets in between saves nothing. */
  keepAliveTimeoutMs: 5_000,
  /** An answer about one object may run its patches; `hostward status` waits for ten seconds. */
  answerTimeoutMs: 15_000,
};
/** Node checks for slow requests at intervals; its default interval of 30 s would stretch every shorter limit to 30 s. */
const shortestCheckMs = 20;
const headerLimitBytes = 8 * 1024;
/** Enough for a namespace and a name, with every character percent-encoded. */
const urlLimitCharacters = 2_048;

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');
loopback.addSubnet('::ffff:127.0.0.0', 104, 'ipv6');

interface Reply {
  status: number;
  contentType: string;
  text: string;
  allow?: string;
  /** Further pieces after the text, for answers of any length. */
  more?: Iterable<string>;
}

export class OperationsServer {
  #listen: { host: string; port: number };
  #answers: OperationsAnswers;
  #limits: OperationsLimits;
  #server: Server | undefined;

  constructor(
    listen: { host: string; port: number },
    answers: OperationsAnswers,
    limits: Partial<OperationsLimits> = {},
  ) {
    this.#listen = listen;
    this.#answers = answers;
    this.#limits = { ...defaultLimits, ...limits };
  }

  /** Rejects with the system's error when the port is taken or not allowed. */
  async start(): Promise<void> {
    const { connections, requestTimeoutMs, keepAliveTimeoutMs, answerTimeoutMs } = this.#limits;
    const slots = new ConnectionSlots(connections);
    const server = createServer(
      {
        maxHeaderSize: headerLimitBytes,
        requestTimeout: requestTimeoutMs,
        headersTimeout: requestTimeoutMs,
        keepAliveTimeout: keepAliveTimeoutMs,
        connectionsCheckingInterval: Math.max(shortestCheckMs, requestTimeoutMs / 4),
      },
      (request, response) => {
        slots.answering(request.socket);
        // A client that leaves before the end gives up its slot when its socket closes.
        response.once('finish', () => slots.waiting(request.socket));
        // The head is sent by then, so that only a broken connection tells the client that its answer is not whole.
        this.#respond(request, response).catch(() => response.destroy());
      },
    );
    // Node counts from the last byte in either direction, so this limit ends clients that do not read their answer.
    server.timeout = answerTimeoutMs;
    server.on('connection', (socket) => slots.take(socket));
    this.#server = server;
    await listen(server, this.#listen);
  }

  /** Cuts off running answers: most of them are for probes, and the next probe finds a closed port anyway. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  }

  /** The real address, even if port 0 was requested. */
  get address(): { host: string; port: number } {
    const bound = this.#server?.address() as AddressInfo | null | undefined;
    return bound == null ? this.#listen : { host: bound.address, port: bound.port };
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply: Reply = await this.#reply(request).catch((fault: unknown) => ({
      status: 500,
      contentType: 'text/plain; charset=utf-8',
      text: `${fault instanceof Error ? fault.message : String(fault)}\n`,
    }));
    const body = Buffer.from(reply.text);
    response.writeHead(reply.status, {
      'content-type': reply.contentType,
      ...(reply.more === undefined && { 'content-length': body.length }),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...(reply.allow !== undefined && { allow: reply.allow }),
      // Closes the connection, because Node would read the body as the next request.
      ...(hasBody(request) ? { connection: 'close' } : {}),
    });
    if (request.method === 'HEAD') response.end();
    else if (reply.more === undefined) response.end(body);
    else await stream(response, body, reply.more);
  }

  async #reply(request: IncomingMessage): Promise<Reply> {
    const url = request.url ?? '/';
    if (url.length > urlLimitCharacters) return plain(414, 'the address is too long');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return { ...plain(405, `only GET and HEAD are answered, found "${request.method}"`), allow: 'GET, HEAD' };
    }
    if (hasBody(request)) return plain(413, 'a request here has no body');
    const path = url.split('?', 1)[0] as string;
    switch (path) {
      case '/healthz': {
        const { isHealthy, lines } = this.#answers.health();
        return plain(isHealthy ? 200 : 500, [isHealthy ? 'ok' : 'not healthy', ...lines].join('\n'));
      }
      case '/readyz':
        return readiness(this.#answers.readiness());
      case '/metrics': {
        const { contentType, text } = await this.#answers.metrics();
        return { status: 200, contentType, text };
      }
      case '/status':
      case '/status/objects':
        return this.#status(request, path, new URLSearchParams(url.slice(path.length + 1)));
      default:
        return this.#part(path);
    }
  }

  #part(path: string): Reply {
    const { parts } = this.#answers.readiness();
    const part = parts.find(({ name }) => path === `/readyz/${name}`);
    if (part !== undefined) return readiness(part);
    const names = ['/healthz', '/readyz', ...parts.map(({ name }) => `/readyz/${name}`), '/metrics'];
    return plain(404, `there are ${names.join(', ')} and /status`);
  }

  async #status(request: IncomingMessage, path: string, query: URLSearchParams): Promise<Reply> {
    if (!isFromThisMachine(request)) return plain(403, 'only programs on this machine may read the status');
    if (path === '/status/objects') return this.#objects(query);
    const key = query.get('object');
    if (key === null) return json(200, this.#answers.status());
    const known = await this.#answers.objectStatus(key);
    return known === undefined ? json(404, { message: `"${key}" is not known` }) : json(200, known);
  }

  /** Puts the verdict before the objects, so that one answer holds both. */
  #objects(query: URLSearchParams): Reply {
    const asked = (name: string): string | undefined => query.get(name) ?? undefined;
    const filter = { namespace: asked('namespace'), state: asked('state'), kind: asked('kind') };
    const { verdict } = this.#answers.status() as { verdict?: unknown };
    const text = safeText(`${JSON.stringify({ verdict }).slice(0, -1)}${verdict === undefined ? '' : ','}"objects":[`);
    return { status: 200, contentType: 'application/json', text, more: pieces(this.#answers.objects(filter)) };
  }
}

/** Objects in one turn of the event loop: writing a hundred thousand objects at once would delay every probe. */
const objectsPerTurn = 500;

function* pieces(rows: Iterable<unknown>): Generator<string> {
  let piece: string[] = [];
  let isFirst = true;
  for (const row of rows) {
    piece.push(`${isFirst ? '' : ','}${JSON.stringify(row)}`);
    isFirst = false;
    if (piece.length < objectsPerTurn) continue;
    yield safeText(piece.join(''));
    piece = [];
  }
  yield `${safeText(piece.join(''))}]}\n`;
}

async function stream(response: ServerResponse, first: Buffer, more: Iterable<string>): Promise<void> {
  response.write(first);
  for (const piece of more) {
    if (response.destroyed) return;
    if (!response.write(piece)) await drained(response);
    await new Promise((resolve) => setImmediate(resolve));
  }
  response.end();
}

/** Also resolves when the connection closes; otherwise the stream would wait for a client that has left. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      response.off('drain', finish);
      response.off('close', finish);
      resolve();
    };
    response.once('drain', finish);
    response.once('close', finish);
  });
}

/** Checks the host name too: a web page that rebinds its own name to 127.0.0.1 still sends that name. */
function isFromThisMachine(request: IncomingMessage): boolean {
  const peer = request.socket.remoteAddress ?? '';
  const family = isIP(peer);
  if (family === 0 || !loopback.check(peer, family === 6 ? 'ipv6' : 'ipv4')) return false;
  const name = (request.headers.host ?? '').replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  return name === '' || name === 'localhost' || isIP(name) !== 0;
}

function hasBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return (length !== undefined && length !== '0') || request.headers['transfer-encoding'] !== undefined;
}

function readiness({ isReady, lines }: { isReady: boolean; lines: readonly string[] }): Reply {
  return plain(isReady ? 200 : 503, [isReady ? 'ok' : 'not ready', ...lines].join('\n'));
}

function plain(status: number, text: string): Reply {
  return { status, contentType: 'text/plain; charset=utf-8', text: safeText(`${text}\n`) };
}

function json(status: number, value: unknown): Reply {
  return { status, contentType: 'application/json', text: safeText(`${JSON.stringify(value)}\n`) };
}
