// The upstream of the proxy's benchmark, and a TLS proxy of a few lines that knows no callers. Nothing of Hostward is loaded here,
// so that the memory of the process is that of Node and of its connections.
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { Agent, createServer, request as httpsRequest, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { answerCommands, Usage } from './answering.ts';
import type { Target } from './management-client.ts';

export interface Certificate {
  certPem: string;
  keyPem: string;
}

export type BareProxyCommand =
  | { kind: 'upstream'; certificate: Certificate }
  | { kind: 'bare'; certificate: Certificate; to: Target; token: string }
  | { kind: 'reset' }
  | { kind: 'read' };

export interface ProxyServing extends Target {
  /** What a client sends as its proof. */
  bearer: string;
}

export interface ProxyReadings {
  /** User and system time since the last reset. */
  cpuMs: number;
  rssMb: number;
}

const objectBytes = 2_048;
const body = JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', data: { text: 'x'.repeat(objectBytes) } });
const event = `${JSON.stringify({ type: 'ADDED', object: JSON.parse(body) })}\n`;
const chunk = Buffer.alloc(64 * 1024, 'log line\n');
const host = '127.0.0.1';
/** As the management server keeps idle connections; the one of Node is too short for the pauses of a benchmark. */
const keepAliveTimeout = 120_000;
const usage = new Usage();

async function answer(command: BareProxyCommand): Promise<unknown> {
  switch (command.kind) {
    case 'upstream':
      return upstream(command.certificate);
    case 'bare':
      return bare(command);
    case 'reset':
      return usage.reset();
    case 'read':
      return usage.read() satisfies ProxyReadings;
    default:
      return command satisfies never;
  }
}

async function served(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return (server.address() as AddressInfo).port;
}

/** What a hostile cluster sends again and again, by the name in `?endless=`: the bytes are cheap to make and dear to take in. */
const endless: Readonly<Record<string, { head: string; part: Buffer }>> = {
  bytes: {
    head: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
    part: Buffer.from('1\r\nx\r\n'.repeat(10_000)),
  },
  chunks: {
    head: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
    part: Buffer.from(`20\r\n${'x'.repeat(32)}\r\n`.repeat(2_000)),
  },
  extensions: {
    head: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
    part: Buffer.from('1;a=b\r\nx\r\n'.repeat(6_000)),
  },
  interim: { head: '', part: Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n'.repeat(2_000)) },
};

/** One object, watches that say nothing after their first event, a log of any length, endless answers, and sessions that send everything back. */
async function upstream({ certPem, keyPem }: Certificate): Promise<number> {
  const server = createServer({ cert: certPem, key: keyPem, keepAliveTimeout }, (request, response) => {
    const url = new URL(request.url ?? '/', 'https://localhost');
    if (url.pathname.endsWith('/selfsubjectaccessreviews')) {
      response.writeHead(201, { 'content-type': 'application/json' });
      return void response.end(JSON.stringify({ status: { allowed: true } }));
    }
    const hostile = endless[url.searchParams.get('endless') ?? ''];
    if (hostile !== undefined) return void sendEndlessly(request.socket, hostile);
    response.setHeader('content-type', 'application/json');
    if (url.searchParams.has('watch')) return void response.write(event);
    const bytes = url.searchParams.get('limitBytes');
    if (bytes !== null) return void send(response, Number(bytes));
    response.setHeader('content-length', Buffer.byteLength(body));
    response.end(body);
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy());
    socket.write(
      `HTTP/1.1 101 ${STATUS_CODES[101]}\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n\r\n`,
    );
    socket.pipe(socket);
  });
  return served(server);
}

async function sendEndlessly(socket: Duplex, { head, part }: { head: string; part: Buffer }): Promise<void> {
  let goOn = () => {};
  for (const event of ['drain', 'close', 'error']) socket.on(event, () => goOn());
  socket.write(head);
  while (!socket.destroyed) {
    const waits = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    if (!socket.write(part)) await waits;
  }
}

async function send(response: ServerResponse, bytes: number): Promise<void> {
  for (let sent = 0; sent < bytes; sent += chunk.length)
    if (!response.write(chunk)) await new Promise((resolve) => response.once('drain', resolve));
  response.end();
}

/** The least that carries requests, streams and sessions on: no callers, no rights, no audit log. */
async function bare({ certificate, to, token }: Extract<BareProxyCommand, { kind: 'bare' }>): Promise<number> {
  const { certPem, keyPem } = certificate;
  // Checked by its address: a kube-apiserver has no certificate for the name that the client has sent.
  const agent = new Agent({ keepAlive: true, ca: to.caPem, servername: '', maxFreeSockets: 64 });
  const asked = ({ method, url, headers }: IncomingMessage) =>
    httpsRequest({
      host,
      port: to.port,
      agent,
      method,
      path: url,
      headers: { ...headers, authorization: `Bearer ${token}` },
    });
  const server = createServer({ cert: certPem, key: keyPem, keepAliveTimeout }, (request, response) => {
    const sent = asked(request);
    sent.on('response', (back) => {
      response.writeHead(back.statusCode ?? 502, back.headers);
      response.flushHeaders();
      back.pipe(response);
    });
    sent.on('error', () => response.destroy());
    response.once('close', () => sent.destroy());
    if (request.method === 'GET') sent.end();
    else request.pipe(sent);
  });
  server.on('upgrade', (request: IncomingMessage, near: Duplex) => {
    const sent = asked(request);
    sent.on('upgrade', ({ headers }, far) => {
      near.write(`HTTP/1.1 101 ${STATUS_CODES[101]}\r\nConnection: Upgrade\r\nUpgrade: ${headers.upgrade}\r\n\r\n`);
      near.on('error', () => far.destroy());
      far.on('error', () => near.destroy());
      near.pipe(far);
      far.pipe(near);
    });
    sent.end();
  });
  return served(server);
}

answerCommands<BareProxyCommand>(answer);
