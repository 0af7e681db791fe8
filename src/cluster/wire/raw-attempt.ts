// One try of one request on one connection: sends it, waits for the head of the answer, and reports exactly once. A limit of time
// ends a try that makes no progress; streams have no limit after the connection is open.
import { type Agent, type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import type { Clock, Timer } from '../../clock.ts';
import { type Gate, gatherChunks, passOn } from '../../object/text/small-chunks.ts';
import { slowTinyPieces, type TinyPieces, type Wait } from '../../object/text/tiny-pieces.ts';

export interface RawRequest {
  method: string;
  /** Path and query below the address of the server. */
  path: string;
  /** Name, value, name, value: without Host, without credentials, without headers about the connection. */
  headers: readonly string[];
  /** Undefined = the request has no body. */
  body: Readable | undefined;
  /** The protocol to change to; undefined = an ordinary request. */
  upgrade: string | undefined;
  /** Asked for what of the body is written to a connection; absent = as fast as the server reads. */
  gateOf?: ((socket: Socket) => Gate) | undefined;
  /** Asked when the answer comes in tiny pieces; absent = they go on in the next turn of the loop. */
  slowed?: Wait | undefined;
  /** The answer may begin late and pause for long, as that of a watch or `logs -f` does. */
  isStream: boolean;
}

export type Tried =
  | { kind: 'response'; response: IncomingMessage }
  /** `head`: what came behind the header lines already. */
  | { kind: 'upgraded'; response: IncomingMessage; socket: Duplex; head: Buffer }
  /** `mayRepeat`: a kept connection was closed, and the request changes nothing. */
  | { kind: 'error'; error: unknown; mayRepeat: boolean }
  | { kind: 'silent'; message: string }
  | { kind: 'aborted' };

export interface AttemptOptions {
  isTls: boolean;
  host: string;
  port: number;
  basePath: string;
  /** Host and credentials. */
  headers: readonly string[];
  agent: Agent;
  request: RawRequest;
  clock: Clock;
}

export const connectWithinMs = 10_000;
/** A little more than the minute that kube-apiserver gives an ordinary request. */
export const silentAfterMs = 65_000;
/** Go's client takes five, browsers get one or two. */
const mostHints = 16;
const nextTurn: Wait = (goOn) => void setImmediate(goOn);
/** To Node's parser: nothing behind this answer is HTTP. */
const noMoreHttp = 2;

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

export class RawAttempt {
  readonly tried: Promise<Tried>;
  readonly #parts: AttemptOptions;
  readonly #sent: ClientRequest;
  #settle: (tried: Tried) => void = () => undefined;
  #timer: Timer | undefined;
  #socket: Duplex | undefined;
  #isSettled = false;
  #pieces: TinyPieces | undefined;
  #hints = 0;

  constructor(parts: AttemptOptions) {
    this.#parts = parts;
    this.tried = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#sent = this.#send();
    this.#connectInTime();
    this.#listen();
    this.#sendBody();
  }

  abort(): void {
    this.#finish({ kind: 'aborted' });
    this.#timer?.cancel();
    this.#sent.destroy();
    this.#socket?.destroy();
  }

  #send(): ClientRequest {
    const { isTls, host, port, basePath, agent, request } = this.#parts;
    const send = isTls ? tlsRequest : plainRequest;
    const { method, path } = request;
    const sent = send({ host, port, agent, method, path: basePath + path, headers: this.#headers() });
    // Node would drop all header lines behind the thousandth without a word; their size is limited anyway.
    sent.maxHeadersCount = 0;
    return sent;
  }

  #headers(): string[] {
    const { headers, request } = this.#parts;
    const lines = [...headers, ...request.headers];
    if (request.upgrade !== undefined) lines.push('Connection', 'Upgrade', 'Upgrade', request.upgrade);
    else if (request.body !== undefined && !hasLength(request.headers)) lines.push('Transfer-Encoding', 'chunked');
    return lines;
  }

  #listen(): void {
    const { request } = this.#parts;
    const sent = this.#sent;
    sent.on('response', (response) => {
      gatherChunks(response, undefined, () => this.#pieces?.found());
      if (this.#isSettled) response.destroy();
      // After a refused upgrade nothing more may be said on this connection.
      if (request.upgrade !== undefined) sent.shouldKeepAlive = false;
      this.#finish({ kind: 'response', response });
      // A refusal is no stream, and its reader waits for all of it.
      if (request.isStream && (response.statusCode ?? 0) < 300) this.#timer?.cancel();
      else this.#progressOf(response);
    });
    sent.on('information', () => this.#hinted());
    sent.on('upgrade', (response, socket, head) => {
      this.#timer?.cancel();
      this.#socket = socket;
      // A socket without a listener for faults would end the process if the server cuts it before the session has begun.
      socket.on('error', () => socket.destroy());
      if (this.#isSettled) socket.destroy();
      this.#finish({ kind: 'upgraded', response, socket, head });
    });
    sent.on('error', (error) => {
      this.#timer?.cancel();
      const mayRepeat = sent.reusedSocket && request.body === undefined && safeMethods.has(request.method);
      this.#finish({ kind: 'error', error, mayRepeat });
    });
  }

  /** Each costs as much as the head of an answer, and there is no end to them. */
  #hinted(): void {
    if (++this.#hints <= mostHints) return;
    const error = new Error(`more than ${mostHints} answers of 1xx before the answer itself`);
    this.#finish({ kind: 'error', error, mayRepeat: false });
    // The parser of a connection is no documented part of Node; without it the rest of the packet costs more.
    const socket: (Socket & { parser?: { onIncoming?: unknown } | null }) | null = this.#sent.socket;
    if (socket?.parser) socket.parser.onIncoming = () => noMoreHttp;
    this.#timer?.cancel();
    this.#sent.destroy();
  }

  #connectInTime(): void {
    this.#after(connectWithinMs, `no connection within ${connectWithinMs / 1000} s`);
    this.#sent.once('socket', (socket: Socket) => {
      this.#pieces = slowTinyPieces(socket, this.#parts.request.slowed ?? nextTurn);
      if (!socket.connecting) this.#connected();
      else socket.once(this.#parts.isTls ? 'secureConnect' : 'connect', () => this.#connected());
    });
  }

  #connected(): void {
    this.#timer?.cancel();
    const { isStream, upgrade } = this.#parts.request;
    // A server says at once whether it changes the protocol; only what follows may take its time.
    if ((isStream && upgrade === undefined) || this.#isSettled) return;
    const wait = () => this.#after(silentAfterMs, `no answer within ${silentAfterMs / 1000} s`);
    // How long a body takes is up to the client; to read it and to answer is up to the server.
    if (this.#sent.writableFinished) {
      wait();
      return;
    }
    this.#sent.once('finish', wait);
    this.#progressOfBody();
  }

  /** Otherwise a server that stops reading would hold a body, which has already arrived here, for ever. */
  #progressOfBody(taken = -1): void {
    this.#timer = this.#parts.clock.after(silentAfterMs, () => {
      const { socket } = this.#sent;
      if (socket === null || this.#isSettled) return;
      const now = socket.bytesWritten - socket.writableLength;
      if (this.#sent.writableLength === 0 || now !== taken) {
        this.#progressOfBody(now);
        return;
      }
      this.#finish({ kind: 'silent', message: `no byte of the body taken within ${silentAfterMs / 1000} s` });
      this.#sent.destroy();
    });
  }

  #after(delayMs: number, message: string): void {
    if (this.#isSettled) return;
    this.#timer?.cancel();
    this.#timer = this.#parts.clock.after(delayMs, () => {
      this.#finish({ kind: 'silent', message });
      this.#sent.destroy();
    });
  }

  /** An answer that stops in its middle is cut off, so that its reader does not wait for ever. */
  #progressOf(response: IncomingMessage): void {
    let seen = -1;
    const look = () => {
      const read = response.socket.bytesRead;
      if (read === seen) {
        response.destroy(new Error(`no byte within ${silentAfterMs / 1000} s`));
        return;
      }
      seen = read;
      this.#timer = this.#parts.clock.after(silentAfterMs, look);
    };
    this.#timer?.cancel();
    response.once('close', () => this.#timer?.cancel());
    look();
  }

  #sendBody(): void {
    const { body, gateOf } = this.#parts.request;
    if (body === undefined) {
      this.#sent.end();
      return;
    }
    const gate: Gate = (bytes, goOn) => {
      const { socket } = this.#sent;
      return socket === null || gateOf === undefined || gateOf(socket)(bytes, goOn);
    };
    passOn(body, this.#sent, { end: true, gate });
    body.once('error', () => this.#sent.destroy());
  }

  #finish(tried: Tried): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#settle(tried);
  }
}

function hasLength(headers: readonly string[]): boolean {
  return headers.some((name, at) => at % 2 === 0 && name.toLowerCase() === 'content-length');
}
