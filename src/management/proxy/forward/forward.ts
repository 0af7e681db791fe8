// Sends a request on to a cluster behind this server. In: a request whose sender and right are already proved, the answer object
// or the raw socket of an upgrade, the upstream, the path below it, and the identity to impersonate there. Out: the upstream's
// answer streamed to the client, or a Status of our own; and a handle that ends the exchange at any moment. Callers authenticate,
// authorize and choose the upstream, so that the management server (keys and tokens), `hostward direct` (tokens) and the ingress
// listener (keys, tokens, client certificates) all forward here:
//
//   const stream = forward({ request, client: { kind: 'response', response }, upstream, path, identity, ... });
//   await live.follow(user, stream, whyNot);   // stream.close(status) runs when the credential ends; resolves with stream.done
//
// Headers are filtered here, so that no caller can forget it. The chain has refused Impersonate-* headers before.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import { type Client, responseOn } from '../../../apiserver/chain/served-request.ts';
import { announcesBody } from '../../../apiserver/limits/client-error.ts';
import { readQuery } from '../../../apiserver/request/query.ts';
import { StatusFault } from '../../../apiserver/request/status-fault.ts';
import { splitUrl } from '../../../apiserver/request/target.ts';
import { sendStatus } from '../../../apiserver/wire/respond.ts';
import type { Clock } from '../../../clock.ts';
import type { RawConnection, RawExchange } from '../../../cluster/wire/raw-connection.ts';
import { internalError, type Status } from '../../../object/meta/status.ts';
import type { Gate } from '../../../object/text/small-chunks.ts';
import type { Wait } from '../../../object/text/tiny-pieces.ts';
import { PassedAnswer } from './answer.ts';
import { noBodyLines, requestLines, withoutLines } from './headers.ts';
import { badGateway, begun, brokenOff, foreignAnswer, isBrokenOff, statusOfFailure } from './own-answers.ts';
import { joined, type ProxySession, type StreamEnd } from './session.ts';
import { upgradeOf } from './upgrade.ts';
import { impersonationLines, type UpstreamIdentity } from './upstream-identity.ts';

export interface Upstream {
  /** The name in messages: `cluster c1`. */
  name: string;
  connection: RawConnection;
  /** The command that gives Hostward its rights there. */
  mendRights: string;
}

export interface Forwarding {
  request: IncomingMessage;
  client: Client;
  upstream: Upstream;
  /** Path and query below the upstream's address, as the client sent them; judged by `classify`. */
  path: string;
  /** The part before `path` in the client's URL; empty on a listener where `/` is the upstream. */
  prefix: string;
  identity: UpstreamIdentity;
  /** A watch gets an ERROR event before it is closed. */
  isWatch: boolean;
  /** exec, attach, portforward …; decides how a session learns why it ends. */
  subresource: string;
  /** Watch, log, exec, attach, port-forward, proxy: once connected, the answer has no time limit. */
  isStream: boolean;
  /** The Audit-Id of the answer and of the upstream's own audit log. */
  auditId: string;
  /** The body, if it was already read; it is sent instead of the request's own stream. */
  body?: Buffer;
  reshape?: Reshape;
  /** Asked for what is written to a connection, on both sides. */
  gateOf(socket: Socket): Gate;
  /** Asked when the answer comes in tiny pieces. */
  slowed: Wait;
  clock: Clock;
  hooks: ForwardHooks;
}

/** An answer that is read as a whole and changed before it goes on. */
export interface Reshape {
  /** These lines replace the client's lines of the same names. */
  headers: readonly string[];
  body(bytes: Buffer): Buffer;
}

export interface ForwardHooks {
  /** Before anything goes upstream. A StatusFault stops the request. */
  begins(): Promise<void> | undefined;
  /** Before the first byte of the answer leaves; `isOpen`: a stream or session follows, and `ended` will be called. */
  answers(code: number, isOpen: boolean): Promise<void> | undefined;
  ended(end: StreamEnd): Promise<void> | undefined;
  /** For the log. */
  misbehaves(why: string): void;
}

export interface ProxiedStream {
  /** Never rejects. */
  readonly done: Promise<void>;
  /** Ends the exchange. The client gets the reason wherever one fits: as the answer, as the last event of a watch, or as the last
   * frames of a session. */
  close(because: Status): void;
}

export function forward(forwarding: Forwarding): ProxiedStream {
  return new Forward(forwarding);
}

class Forward implements ProxiedStream {
  readonly done: Promise<void>;
  readonly #given: Forwarding;
  #exchange: RawExchange | undefined;
  #answer: PassedAnswer | undefined;
  #session: ProxySession | undefined;
  #response: ServerResponse | undefined;
  #closedBecause: Status | undefined;
  #hasOutcome = false;

  constructor(given: Forwarding) {
    this.#given = given;
    const { client } = given;
    const end = client.kind === 'response' ? client.response : client.socket;
    // When the client has gone, the upstream need not go on. A finished answer leaves the connection for reuse.
    end.once('close', () => {
      if (this.#answer?.isFinished !== true) this.#exchange?.abort();
    });
    end.on('error', () => this.#exchange?.abort());
    this.done = this.#run().catch((error: unknown) => this.#fail(error));
  }

  close(because: Status): void {
    this.#closedBecause ??= because;
    // A session may need the rest of a frame from the upstream, and then closes both sides itself.
    if (this.#session !== undefined) {
      this.#session.close(because);
      return;
    }
    this.#answer?.close(because);
    this.#exchange?.abort();
  }

  async #run(): Promise<void> {
    const { request, client, upstream, path, identity, isStream, auditId, body, hooks, gateOf } = this.#given;
    const upgrade = upgradeOf(request, client.kind === 'socket');
    await hooks.begins();
    if (this.#closedBecause !== undefined) return this.#refuse(this.#closedBecause);
    const { socket } = request;
    const exchange = upstream.connection.send({
      method: request.method ?? 'GET',
      path,
      headers: [
        ...this.#clientLines(),
        ...(upgrade === undefined ? [] : noBodyLines(request)),
        ...['Audit-ID', auditId, 'X-Forwarded-For', socket.remoteAddress ?? '', 'X-Forwarded-Proto', 'https'],
        ...impersonationLines(identity),
      ],
      body: upgrade === undefined ? (body === undefined ? bodyOf(request) : Readable.from([body])) : undefined,
      upgrade,
      isStream,
      gateOf,
      slowed: this.#given.slowed,
    });
    this.#exchange = exchange;
    if (this.#isClientGone()) exchange.abort();
    const answered = await exchange.answered;
    if (this.#closedBecause !== undefined) return this.#refuse(this.#closedBecause);
    if (answered.kind === 'failed') return this.#refuse(statusOfFailure(answered, upstream));
    if (answered.kind === 'response') return this.#pass(answered.response);
    const isAsked = answered.response.headers.upgrade?.toLowerCase() === upgrade?.toLowerCase();
    if (client.kind === 'socket' && isAsked) return this.#join(answered);
    exchange.abort();
    return this.#refuse(badGateway(`${upstream.name} changed to a protocol that was not requested`));
  }

  #clientLines(): string[] {
    const { request, body, reshape } = this.#given;
    const lines = requestLines(request.rawHeaders);
    if (body === undefined && reshape === undefined) return lines;
    // reshape() cannot read a compressed answer.
    const replaced = reshape === undefined ? [] : ['accept-encoding', ...namesIn(reshape.headers)];
    const kept = withoutLines(lines, body === undefined ? replaced : [...replaced, 'content-length']);
    const length = body === undefined ? [] : ['Content-Length', String(body.length)];
    return [...kept, ...length, ...(reshape?.headers ?? [])];
  }

  async #pass(upstreamResponse: IncomingMessage): Promise<void> {
    const { upstream, prefix, hooks, isStream, isWatch, auditId, clock, reshape, gateOf } = this.#given;
    const refusal = await foreignAnswer(upstreamResponse, { upstream, prefix, reshape });
    if (this.#closedBecause !== undefined) return this.#refuse(this.#closedBecause);
    if (refusal.kind === 'refused') {
      upstreamResponse.destroy();
      return this.#refuse(refusal.status);
    }
    const code = upstreamResponse.statusCode ?? 502;
    const isOpen = isStream && code < 300;
    // Behind the head of an answer there is no other. The head of a stream may come long before its first byte.
    if (!isOpen) await begun(upstreamResponse);
    if (this.#closedBecause !== undefined) return this.#refuse(this.#closedBecause);
    if (isBrokenOff(upstreamResponse)) {
      hooks.misbehaves('it broke its answer off before the first byte, or the answer is malformed');
      return this.#refuse(brokenOff(upstream.name));
    }
    await this.#recorded(code, isOpen);
    // It may have broken off while the audit line was written, and does not say so again.
    if (isBrokenOff(upstreamResponse)) {
      if (isOpen) await hooks.ended({ bytesIn: 0, bytesOut: 0, reason: 'the upstream broke off' });
      return this.#refuse(brokenOff(upstream.name));
    }
    // A client that went while the audit line was written does not close again, so its stream would stay for ever.
    if (this.#isClientGone()) {
      upstreamResponse.destroy();
      if (isOpen) await hooks.ended({ bytesIn: 0, bytesOut: 0, reason: 'the client went away' });
      return;
    }
    const response = this.#responseToClient();
    const parts = { upstreamResponse, response, isOpen, isWatch, auditId, clock, gateOf };
    const { location, start, warning } = refusal;
    this.#answer = new PassedAnswer({ ...parts, location, start, warning });
    if (this.#closedBecause !== undefined) this.#answer.close(this.#closedBecause);
    const end = await this.#answer.done;
    if (isOpen) await hooks.ended(end);
  }

  async #join(upgraded: { response: IncomingMessage; socket: Duplex; head: Buffer }): Promise<void> {
    const { client, upstream, path, subresource, hooks, clock, auditId, gateOf } = this.#given;
    if (client.kind !== 'socket') return;
    await this.#recorded(101, true);
    const ports = subresource === 'portforward' ? portsIn(path) : 0;
    this.#session = joined(client, upgraded, { clock, gateOf, auditId, name: upstream.name, subresource, ports });
    if (this.#closedBecause !== undefined) this.#session.close(this.#closedBecause);
    await hooks.ended(await this.#session.done);
  }

  async #refuse(status: Status): Promise<void> {
    const response = this.#responseToClient();
    if (response.headersSent) return;
    if (!this.#hasOutcome) await this.#recorded(status.code ?? 500, false);
    if (response.destroyed) return;
    // The rest of the body is not read, so the connection cannot serve another request.
    if (!this.#given.request.complete) response.setHeader('connection', 'close');
    sendStatus(response, status, { 'audit-id': this.#given.auditId });
  }

  /** Each request that was recorded before it went upstream has an outcome, also when its client has gone. */
  async #recorded(code: number, isOpen: boolean): Promise<void> {
    await this.#given.hooks.answers(code, isOpen);
    this.#hasOutcome = true;
  }

  async #fail(error: unknown): Promise<void> {
    this.#exchange?.abort();
    const status =
      error instanceof StatusFault
        ? error.statusIn('strict')
        : internalError('the request could not be passed on; the log of the server says why');
    try {
      await this.#refuse(status);
    } catch {
      const { client } = this.#given;
      if (client.kind === 'socket') client.socket.destroy();
      else client.response.destroy();
    }
  }

  #isClientGone(): boolean {
    const { client } = this.#given;
    return client.kind === 'response' ? client.response.destroyed : client.socket.destroyed;
  }

  /** Headers for a client whose connection began an upgrade are written by the same code as all others. */
  #responseToClient(): ServerResponse {
    const { client, request } = this.#given;
    this.#response ??= client.kind === 'response' ? client.response : responseOn(client, request);
    return this.#response;
  }
}

/** `ports=80&ports=443` and `ports=80,443` mean the same. */
function portsIn(path: string): number {
  const query = readQuery(splitUrl(path).query);
  return query.getAll('ports').flatMap((list) => list.split(',')).length;
}

function namesIn(lines: readonly string[]): string[] {
  return lines.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
}

function bodyOf(request: IncomingMessage): IncomingMessage | undefined {
  return announcesBody(request) ? request : undefined;
}
