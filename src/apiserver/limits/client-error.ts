// Answers what Node would answer itself, or not at all: connections that do not speak HTTP or that send too large headers, CONNECT,
// and an Expect header. Each answer is a Status like every other refusal. Where Node
// has no response object yet, this file writes the answer by hand. It also guards the sockets that Node hands over for an upgrade.
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../clock.ts';
import { badRequest, type Status } from '../../object/meta/status.ts';
import { gatherChunks } from '../../object/text/small-chunks.ts';
import { methodNotAllowed } from '../request/status-fault.ts';
import { boundLastBytes } from './last-bytes.ts';

/** Open answers of each socket: a client may send further requests before the first is answered. */
const openAnswers = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * Requests of one connection without an answer. Clients of this API wait for each answer, and browsers too. Node reads all requests of a
 * packet, five hundred of them, before the first can be answered.
 */
const mostUnanswered = 8;

/** Must be called after the server has its listener: a request beyond the limit never reaches it. */
function boundUnanswered(server: Server): void {
  const listeners = server.listeners('request');
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    // What was in the same packet still comes after the connection was cut.
    if (socket.destroyed || closing.has(socket)) return;
    const before = [...(openAnswers.get(socket) ?? [])];
    if (before.length >= mostUnanswered) {
      endAfter(before.at(-1) as ServerResponse, socket);
      return;
    }
    if (announcesBody(request)) guardBody(request, response);
    opens(request, response);
    const begin = () => {
      if (!socket.destroyed) for (const listener of listeners) listener.call(server, request, response);
    };
    // HTTP wants what is sent behind a write to see the write.
    const last = before.at(-1);
    if (last === undefined) begin();
    else last.once('close', begin);
  });
}

/** Connections whose last answer is decided. */
const closing = new WeakSet<Socket>();

/** The client learns from `Connection: close` that nothing behind this answer was done. */
function endAfter(last: ServerResponse, socket: Socket): void {
  closing.add(socket);
  last.shouldKeepAlive = false;
  readNoMore(socket);
}

/** Only such a request gets chunks; to guard each of the others would cost a tenth of all that a read costs. */
export function announcesBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  return encoding !== undefined || (length !== undefined && length !== '0');
}

/** The connection of a flood of tiny chunks is cut, also when the request is answered already: nobody hears of its chunks then. */
function guardBody(request: IncomingMessage, response: ServerResponse): void {
  gatherChunks(request, () => cutUnread(request.socket));
  response.once('prefinish', () => {
    if (request.complete || request.readableFlowing !== null) return;
    // Node takes it for read, and no longer drops the chunks unseen.
    request.read(0);
    request.resume();
  });
}

type WithParser = Socket & { parser?: { onIncoming?: unknown; pause?: () => void } | null };

/** To Node's parser: nothing after this request is HTTP. */
const noMoreHttp = 2;

/**
 * Node would make objects for all requests of the packet, and keep them for the connection. The parser of a connection is no documented
 * part of Node; without it the cut costs ten times as much, and is right all the same.
 */
function readNoMore(socket: WithParser): void {
  if (socket.parser) socket.parser.onIncoming = () => noMoreHttp;
  socket.removeAllListeners('data');
}

/** Node would still parse what it has read already, ten thousand chunks of one byte in 64 KiB. */
function cutUnread(socket: WithParser): void {
  socket.parser?.pause?.();
  readNoMore(socket);
  socket.destroy();
}

function opens({ socket }: IncomingMessage, response: ServerResponse): void {
  const open = openAnswers.get(socket) ?? new Set();
  openAnswers.set(socket, open.add(response));
  response.once('close', () => open.delete(response));
}

function hasForeignEncoding({ code }: Error & { code?: string }): boolean {
  return code === 'HPE_INVALID_TRANSFER_ENCODING';
}

function hasOneUnbegun(socket: Socket): boolean {
  const [first, ...more] = openAnswers.get(socket) ?? [];
  return socket.writable && first?.headersSent === false && more.length === 0;
}

function isAnswering(socket: Socket): boolean {
  return (openAnswers.get(socket)?.size ?? 0) > 0;
}

/** For a socket that Node has handed over: Node no longer reports its end to the answers that wait behind the first. */
function cutOff(socket: Socket): void {
  for (const response of [...(openAnswers.get(socket) ?? [])]) response.destroy();
  socket.destroy();
}

/** For a server with `answerClientErrors`, which counts the open answers. */
export function acceptUpgrades(
  server: Server,
  clock: Clock,
  accepted: (request: IncomingMessage, socket: Socket, head: Buffer) => void,
): void {
  server.on('upgrade', (request, stream, head) => {
    if (!(stream instanceof Socket)) {
      refuseBody(request, stream, clock);
      return;
    }
    const socket = stream;
    // Node no longer listens to this socket, and a fault without a listener would end the process.
    socket.on('error', () => socket.destroy());
    // The socket still belongs to the answer that is being sent, and a second answer cannot have it.
    if (isAnswering(socket)) cutOff(socket);
    else accepted(request, socket, head);
  });
}

/**
 * For a body that has not come whole, Node hands over a stream of its own that is no socket. A session has no body, and no client of
 * Kubernetes sends one.
 */
function refuseBody(request: IncomingMessage, stream: Duplex, clock: Clock): void {
  const { socket } = request;
  for (const one of [socket, stream]) one.on('error', () => socket.destroy());
  if (isAnswering(socket)) {
    cutOff(socket);
    return;
  }
  const status = badRequest('a request that changes the protocol has no body');
  writeByHand(stream, status, { written: () => socket.destroy() });
  boundLastBytes(socket, clock);
}

/** The socket closes behind the answer, because nobody else will read from it. */
export function refuseUpgrade({ socket, clock }: { socket: Socket; clock: Clock }, status: Status): void {
  boundLastBytes(socket, clock);
  writeByHand(socket, status, { written: () => socket.destroy() });
}

export function answerClientErrors(
  server: Server,
  { maxHeaderBytes, clock }: { maxHeaderBytes: number; clock: Clock },
): void {
  boundUnanswered(server);
  server.on('clientError', (error, stream) => {
    const socket = stream as Socket;
    if ((error as NodeJS.ErrnoException).code === 'ERR_SSL_HTTP_REQUEST') return answerPlain(socket, clock);
    boundLastBytes(socket, clock);
    // Node has begun the request already; the Status takes the place of its answer.
    if (hasForeignEncoding(error) && hasOneUnbegun(socket)) {
      writeByHand(socket, refusalOf('HPE_INVALID_TRANSFER_ENCODING', maxHeaderBytes), {
        written: () => cutOff(socket),
      });
      return;
    }
    answer(error, socket, { maxHeaderBytes, isAnswering: isAnswering(socket) });
  });
  server.on('connect', (_request, stream) => {
    const socket = stream as Socket;
    // Node no longer listens to this socket, and a fault without a listener would end the process.
    socket.on('error', () => socket.destroy());
    if (isAnswering(socket)) cutOff(socket);
    // Node's time limits no longer hold here, and a client that keeps its end open must not keep the socket.
    else refuseUpgrade({ socket, clock }, methodNotAllowed().status);
  });
  server.on('checkContinue', (request, response) => {
    // Only a body that somebody reads is asked for; Node would ask before anybody has looked who sends it.
    request.once('resume', () => {
      if (!response.headersSent) response.writeContinue();
    });
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request, response) => {
    if (announcesBody(request)) guardBody(request, response);
    opens(request, response);
    const message = 'the header Expect: only 100-continue is known here; send the request without this header';
    const body = JSON.stringify({ ...badRequest(message), code: 417 });
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      connection: 'close',
    };
    response.writeHead(417, headers).end(body);
  });
}

/** A client that speaks plain HTTP to a port with TLS can read plain HTTP alone. Node keeps the socket below TLS as `_parent`. */
function answerPlain(socket: Socket & { _parent?: Socket }, clock: Clock): void {
  const plain = socket._parent;
  if (plain?.writable !== true) return void socket.destroy();
  plain.on('error', () => plain.destroy());
  const message = 'this port speaks TLS, and the request came without: begin the address with https://';
  // Nobody reads on: a client that keeps its end open must not keep the socket.
  boundLastBytes(plain, clock);
  writeByHand(plain, badRequest(message), { written: () => plain.destroy() });
}

function answer(
  error: Error & { code?: string },
  socket: Socket,
  { maxHeaderBytes, isAnswering: hasOpenAnswer }: { maxHeaderBytes: number; isAnswering: boolean },
): void {
  // A second answer on this connection would mix with the one that is being sent.
  if (error.code === 'ECONNRESET' || !socket.writable || hasOpenAnswer) {
    socket.destroy();
    return;
  }
  writeByHand(socket, refusalOf(error.code, maxHeaderBytes));
}

/** For a connection without a response object of Node; it ends with this answer. */
export function writeByHand(
  socket: Duplex,
  status: Status,
  { headers = [], written = () => {} }: { headers?: readonly string[]; written?: () => void } = {},
): void {
  const { code = 500 } = status;
  const body = JSON.stringify(status);
  const head = [
    `HTTP/1.1 ${code} ${STATUS_CODES[code]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-cache, private',
    'X-Content-Type-Options: nosniff',
    ...headers,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, written);
}

/** Of Node. */
const maxHeaderLines = 1_000;

function refusalOf(code: string | undefined, maxHeaderBytes: number): Status {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW': {
      const message = `the request's headers are too large: the limit is ${maxHeaderBytes} bytes and ${maxHeaderLines} lines`;
      return { ...badRequest(message), code: 431 };
    }
    case 'ERR_HTTP_REQUEST_TIMEOUT': {
      const message = 'the request did not arrive in time; send it again';
      return { ...badRequest(message), reason: 'Timeout', code: 408 };
    }
    case 'HPE_INVALID_TRANSFER_ENCODING': {
      const message = 'send the body with "Transfer-Encoding: chunked" or with its length';
      return badRequest(message);
    }
    default:
      return badRequest('the request is not well-formed HTTP');
  }
}
