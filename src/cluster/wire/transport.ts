// Carries requests to one API server: keeps connections open, renews credentials, enforces deadlines, and explains network
// errors. In: an ApiRequest. Out: an Answer or a stream. Must never know what the bodies mean.
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Answer } from '../answer.ts';
import type { ClusterAccess, Credentials } from '../credentials/access.ts';
import { reasoned } from '../credentials/why-refused.ts';
import { excerpt } from '../errors.ts';
import {
  type ApiRequest,
  answerTooLong,
  type ClusterConnection,
  type Stream,
  type StreamRequest,
  type StreamSink,
  type WatchStreamEnd,
} from './connection.ts';
import { Exchange, type Exchanged } from './exchange.ts';
import { credentialsFailed, pathOnly, signOf, unreached } from './explain.ts';
import { FollowedAccess } from './followed-access.ts';
import { Pools, type SocketOpener, type Wires } from './pools.ts';
import type { AddressState, ClusterIdentity } from './same-cluster.ts';
import { retryAfterMs, toAnswer } from './status-answer.ts';
import { type Streamed, Streaming } from './streaming.ts';

export interface ConnectionOptions {
  name: string;
  credentials: Credentials;
  clock: Clock;
  log: Log;
  /** Shared between connections, because one log line per warning and process is enough. */
  seenWarnings?: Set<string>;
  version?: string;
  /** Opens the sockets; absent = TCP, and TLS where the server's address says so. */
  connector?: SocketOpener | undefined;
}

const defaultTimeoutMs = 30_000;
const defaultMaxBytes = 8 * 1024 * 1024;
/** A server that makes up new warnings must not fill our memory. */
const warningLimit = 200;
/** A server that needs longer to show one object is not ready to be taken. */
const proofTimeoutMs = 10_000;

export function openConnection(options: ConnectionOptions): ClusterConnection {
  return new Transport(options);
}

type Response = Extract<Exchanged, { kind: 'response' }>;

class Transport implements ClusterConnection {
  readonly name: string;
  #options: ConnectionOptions;
  #clock: Clock;
  #log: Log;
  readonly #access: FollowedAccess;
  #pools: Pools;
  #seenWarnings: Set<string>;
  #isClosed = false;
  /** The way that is in use. */
  #way: Pick<ClusterAccess, 'server' | 'proxy'>;

  constructor(options: ConnectionOptions) {
    this.name = options.name;
    this.#way = { server: options.credentials.server, proxy: undefined };
    this.#options = options;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#pools = new Pools(options);
    this.#access = new FollowedAccess({
      ...options,
      ask: (access, path) => this.#ask(access, path),
      giveUp: () => void this.#pools.close(),
    });
    this.#seenWarnings = options.seenWarnings ?? new Set();
  }

  async request(request: ApiRequest): Promise<Answer> {
    let access: ClusterAccess;
    try {
      const current = this.#access.current();
      access = current instanceof Promise ? await current : current;
    } catch (error) {
      return credentialsFailed(error);
    }
    const answered = this.#access.expectAnswer(access);
    const result = await this.#exchange(request, access);
    answered();
    const answer = this.#read(request, result);
    const isUnopened = this.#note(result, access);
    if (answer.kind !== 'unauthorized' && !isUnopened) return answer;
    const renewed = await this.#access.renew(access);
    const last = renewed === undefined ? answer : this.#read(request, await this.#exchange(request, renewed));
    return reasoned(last, renewed ?? access, this.#clock.wallTime());
  }

  stream(request: StreamRequest, sink: StreamSink): Stream {
    let live: Streaming | undefined;
    let isAborted = false;
    const run = async (): Promise<WatchStreamEnd> => {
      let access: ClusterAccess | undefined;
      try {
        access = await this.#access.current();
      } catch (error) {
        return { kind: 'broken', message: credentialsFailed(error).message };
      }
      for (let attempt = 0; ; attempt++) {
        if (isAborted || access === undefined) return { kind: 'aborted' };
        const used: ClusterAccess = access;
        const answered = this.#access.expectAnswer(used);
        const result = await new Promise<Streamed>((settle) => {
          const heard = { data: (chunk: Buffer) => sink.data(chunk), opened: () => [answered(), sink.opened()] };
          live = new Streaming(this.#clock, request, heard, settle);
          const { path, accept } = request;
          this.#dispatch({ lane: 'streams', access: used, pools: this.#pools }, { method: 'GET', path, accept }, live);
        });
        answered();
        const end = this.#readStream(request, result);
        const isUnopened = this.#note(result, used);
        const isRefused = end.kind === 'answered' && end.answer.kind === 'unauthorized';
        if (!isRefused && !isUnopened) return end;
        access = attempt > 0 ? undefined : await this.#access.renew(used);
        if (access === undefined)
          return end.kind === 'answered' ? { ...end, answer: reasoned(end.answer, used, this.#clock.wallTime()) } : end;
      }
    };
    return {
      ended: run(),
      pause: () => live?.pause(),
      resume: () => live?.resume(),
      abort: () => {
        isAborted = true;
        live?.abort();
      },
    };
  }

  get server(): string {
    return this.#way.server;
  }

  get address(): AddressState {
    return this.#access.same.state(this.#way.server);
  }

  pin(identity: ClusterIdentity): void {
    this.#access.same.pin(identity);
  }

  reread(): Promise<void> {
    return this.#access.reread();
  }

  subscribe(listener: () => void): () => void {
    return this.#access.subscribe(listener);
  }

  #note(result: Exchanged | Streamed, access: ClusterAccess): boolean {
    return this.#access.note(signOf(result, access.server, this.#options.credentials.source), access);
  }

  /** One request to a server that is not in use yet. */
  async #ask(access: ClusterAccess, path: string): Promise<Answer> {
    const pools = new Pools(this.#options);
    try {
      const request: ApiRequest = { method: 'GET', path, timeoutMs: proofTimeoutMs };
      return this.#read(request, await this.#exchange(request, access, pools), access.server);
    } finally {
      await pools.close();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#access.stop();
    await this.#pools.close();
  }

  #exchange(request: ApiRequest, access: ClusterAccess, pools = this.#pools): Promise<Exchanged> {
    const sentMs = this.#clock.now();
    return new Promise((resolve) => {
      const settle = (result: Exchanged) => [pools.note(result, sentMs), resolve(result)];
      const limits = {
        timeoutMs: request.timeoutMs ?? defaultTimeoutMs,
        maxBytes: request.maxBytes ?? defaultMaxBytes,
        permit: request.permit,
        signal: request.signal,
        handle: request.handle,
      };
      this.#dispatch({ lane: 'requests', access, pools }, request, new Exchange(this.#clock, limits, settle));
    });
  }

  #dispatch(
    { lane, access, pools }: { lane: 'requests' | 'streams'; access: ClusterAccess; pools: Pools },
    request: Pick<ApiRequest, 'method' | 'path' | 'body' | 'contentType'> & Pick<StreamRequest, 'accept'>,
    handler: Exchange | Streaming,
  ): void {
    try {
      if (this.#isClosed) throw new Error('the connection is closed');
      const wires: Wires = pools.of(access);
      if (pools === this.#pools) this.#way = access;
      wires[lane].dispatch(
        {
          origin: wires.origin,
          path: wires.basePath + request.path,
          method: request.method,
          headers: this.#headers(access, request),
          body: request.body ?? null,
          headersTimeout: 0,
          bodyTimeout: 0,
        },
        handler,
      );
    } catch (error) {
      // A bad certificate or key throws here, at its first use.
      handler.fail(error);
    }
  }

  #headers(
    access: ClusterAccess,
    { contentType, accept = 'application/json' }: Pick<ApiRequest, 'contentType'> & Pick<StreamRequest, 'accept'>,
  ): Record<string, string | string[]> {
    const headers: Record<string, string | string[]> = {
      ...access.headers,
      accept,
      'user-agent': `hostward/${this.#options.version ?? '0'} (${this.name})`,
    };
    if (contentType !== undefined) headers['content-type'] = contentType;
    return headers;
  }

  #read(request: ApiRequest, result: Exchanged, server = this.#way.server): Answer {
    switch (result.kind) {
      case 'response':
        return this.#toAnswer(request, result, server);
      case 'notPermitted':
        return { kind: 'notSent', reason: 'noLease' };
      case 'tooLong': {
        const message = `${request.method} ${pathOnly(request.path)} at ${this.server}: the answer is longer than ${request.maxBytes ?? defaultMaxBytes} bytes`;
        return { kind: 'refused', status: 0, reason: answerTooLong, message };
      }
      case 'error':
        return this.#unreached(request, result.error, server);
      default:
        return result satisfies never;
    }
  }

  #readStream(request: StreamRequest, result: Streamed): WatchStreamEnd {
    switch (result.kind) {
      case 'ended':
      case 'aborted':
        return result;
      case 'silent':
        return { kind: 'silent', message: `watching ${this.server}: no byte for ${request.silenceMs / 1000} s` };
      case 'error':
        return {
          kind: 'broken',
          message: this.#unreached({ method: 'GET', path: request.path }, result.error).message,
        };
      case 'response': {
        const answer = this.#toAnswer({ method: 'GET', path: request.path }, result);
        if (answer.kind !== 'ok' && answer.kind !== 'notSent') return { kind: 'answered', answer };
        return { kind: 'broken', message: `watching ${this.server}: wanted status 200, found ${result.status}` };
      }
      default:
        return result satisfies never;
    }
  }

  #toAnswer({ method, path }: ApiRequest, { status, headers, body }: Response, server = this.#way.server): Answer {
    if (headers['warning'] !== undefined) this.#warn(headers['warning']);
    const retryAfter = headers['retry-after'];
    return toAnswer({
      status,
      what: `${method} ${pathOnly(path)}`,
      method,
      server,
      location: headers.location,
      retryAfterMs: retryAfter === undefined ? undefined : retryAfterMs(retryAfter, this.#clock.wallTime()),
      body,
    });
  }

  #unreached(request: Pick<ApiRequest, 'method' | 'path'>, error: unknown, server = this.#way.server) {
    return unreached(request, error, { server, proxy: this.#way.proxy?.url, source: this.#options.credentials.source });
  }

  #warn(header: string | string[]): void {
    for (const warning of typeof header === 'string' ? [header] : header) {
      // As it came: a server sends it with every answer, and to make it readable takes longer than to find it.
      if (this.#seenWarnings.has(warning) || this.#seenWarnings.size >= warningLimit) continue;
      this.#seenWarnings.add(warning);
      const text = excerpt(warning.replace(/^299 \S+ (?:"(.*)"$)?/s, '$1'));
      this.#log.warn({ cluster: this.name, warning: text }, 'the api server warns');
    }
  }
}
