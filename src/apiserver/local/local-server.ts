// An HTTP port for programs and people near this process: probes, a scraper, a browser through a tunnel. In: routes. Out: their
// answers, closed to strangers. It must never know what an answer means.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { listen } from '../wire/listen.ts';
import { drained } from '../wire/respond.ts';
import { ConnectionSlots } from './connection-slots.ts';
import { closedHeaders, type LocalReply, type LocalRoutes, plainReply } from './routes.ts';
import { hostFault, isLoopback, type KnownNames, senderFault } from './strangers.ts';

export interface LocalServerLimits {
  connections: number;
  requestTimeoutMs: number;
  keepAliveTimeoutMs: number;
  answerTimeoutMs: number;
}

const defaultLimits: LocalServerLimits = {
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

export interface LocalServerOptions {
  listen: { host: string; port: number };
  /** The first that has a path answers; the last answers for all others. */
  routes: readonly LocalRoutes[];
  /** Names other than localhost and IP addresses under which clients may ask. */
  names?: KnownNames;
  limits?: Partial<LocalServerLimits>;
}

export class LocalServer {
  readonly #options: LocalServerOptions;
  #server: Server | undefined;

  constructor(options: LocalServerOptions) {
    this.#options = options;
  }

  /** Rejects with the system's error when the port is taken or not allowed. */
  async start(): Promise<void> {
    const limits = { ...defaultLimits, ...this.#options.limits };
    const { connections, requestTimeoutMs, keepAliveTimeoutMs, answerTimeoutMs } = limits;
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
        slots.answering(request.socket, response);
        // A client that leaves before the end gives up its slot when its socket closes.
        response.once('finish', () => slots.waiting(request.socket));
        // The head is sent by then, so that only a broken connection tells the client that its answer is not whole.
        this.#respond(request, response).catch(() => response.destroy());
      },
    );
    // Node counts from the last byte in either direction, so this limit ends clients that do not read their answer.
    server.timeout = answerTimeoutMs;
    server.on('timeout', (socket: Socket) => slots.late(socket));
    server.on('connection', (socket) => slots.take(socket));
    this.#server = server;
    await listen(server, this.#options.listen);
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
    return bound == null ? this.#options.listen : { host: bound.address, port: bound.port };
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = await this.#reply(request).catch((fault: unknown) =>
      plainReply(500, fault instanceof Error ? fault.message : String(fault)),
    );
    // A client that has lost its slot has its answer.
    if (response.headersSent) return;
    const body = typeof reply.text === 'string' ? Buffer.from(reply.text) : reply.text;
    response.writeHead(reply.status, {
      'content-type': reply.contentType,
      ...(reply.more === undefined && !hasNoBody(reply) && { 'content-length': body.length }),
      ...closedHeaders,
      ...reply.headers,
      // Closes the connection, because Node would read the rest of the body as the next request.
      ...(hasBody(request) && !request.readableEnded ? { connection: 'close' } : {}),
    });
    if (request.method === 'HEAD' || hasNoBody(reply)) response.end();
    else if (reply.more === undefined) response.end(body);
    else await stream(response, body, reply.more);
  }

  async #reply(request: IncomingMessage): Promise<LocalReply> {
    const { method = 'GET', url = '/', headers } = request;
    const { routes, names } = this.#options;
    const stranger = hostFault(headers.host, names);
    if (stranger !== undefined) return plainReply(stranger.status, stranger.sentence);
    if (url.length > urlLimitCharacters) return plainReply(414, 'the address is too long');
    const path = url.split('?', 1)[0] as string;
    // Every browser asks for it once; an answer of 404 would be in its console as an error.
    if (path === '/favicon.ico') return { status: 204, contentType: 'image/x-icon', text: '' };
    const route = routes.find((one) => one.takes(path) !== undefined) ?? (routes.at(-1) as LocalRoutes);
    const { methods, bodyBytes } = route.takes(path) ?? { methods: ['GET', 'HEAD'], bodyBytes: 0 };
    if (!methods.includes(method)) {
      const known = methods.join(' and ');
      const refusal = plainReply(
        405,
        `only ${known} ${methods.length === 1 ? 'is' : 'are'} answered, found "${method}"`,
      );
      return { ...refusal, headers: { allow: methods.join(', ') } };
    }
    const sender = senderFault(method, headers);
    if (sender !== undefined) return plainReply(sender.status, sender.sentence);
    const body = hasBody(request) ? await read(request, bodyBytes) : Buffer.alloc(0);
    if (body === undefined)
      return plainReply(
        413,
        bodyBytes === 0 ? 'a request here has no body' : `the body is longer than ${bodyBytes} bytes`,
      );
    return route.answer({
      method,
      path,
      query: new URLSearchParams(url.slice(path.length + 1)),
      headers,
      isLoopback: isLoopback(request.socket.remoteAddress),
      body,
    });
  }
}

function hasNoBody({ status }: LocalReply): boolean {
  return status === 304 || status === 204;
}

/** Undefined as soon as the body is longer than it may be. */
async function read(request: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  if (limit === 0 || Number(request.headers['content-length'] ?? 0) > limit) return undefined;
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Leaving the loop must not destroy the socket, which still has to carry the answer.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    bytes += (chunk as Buffer).length;
    if (bytes > limit) return undefined;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

function hasBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return (length !== undefined && length !== '0') || request.headers['transfer-encoding'] !== undefined;
}

async function stream(response: ServerResponse, first: Uint8Array, more: Iterable<string>): Promise<void> {
  response.write(first);
  for (const piece of more) {
    if (response.destroyed) return;
    if (!response.write(piece)) await drained(response);
    await new Promise((resolve) => setImmediate(resolve));
  }
  response.end();
}
