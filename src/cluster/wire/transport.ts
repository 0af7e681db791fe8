// Carries requests to one API server: keeps connections open, renews credentials, enforces deadlines, and explains network
// errors. In: an ApiRequest. Out: an Answer or a stream. Must never know what the bodies mean.
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Answer } from '../answer.ts';
import type { Access, Credentials } from '../credentials/access.ts';
import { AccessCache } from '../credentials/access-cache.ts';
import { CredentialsError, excerpt, messageOf } from '../errors.ts';
import {
  type ApiRequest,
  answerTooLong,
  type Connection,
  type Stream,
  type StreamEnd,
  type StreamRequest,
  type StreamSink,
} from './connection.ts';
import { Exchange, type Exchanged } from './exchange.ts';
import { explain } from './explain.ts';
import { Pools } from './pools.ts';
import { retryAfterMs } from './retry-after.ts';
import { toAnswer } from './status-answer.ts';
import { type Streamed, Streaming } from './streaming.ts';

export interface ConnectionOptions {
  name: string;
  credentials: Credentials;
  clock: Clock;
  log: Log;
  /** Shared between connections, because one log line per warning and process is enough. */
  seenWarnings?: Set<string>;
  version?: string;
}

const defaultTimeoutMs = 30_000;
const defaultMaxBytes = 8 * 1024 * 1024;
/** A server that makes up new warnings must not fill our memory. */
const warningLimit = 200;

export function openConnection(options: ConnectionOptions): Connection {
  return new Transport(options);
}

type Response = Extract<Exchanged, { kind: 'response' }>;

class Transport implements Connection {
  readonly name: string;
  readonly server: string;
  #origin: string;
  #basePath: string;
  #options: ConnectionOptions;
  #clock: Clock;
  #log: Log;
  #access: AccessCache;
  #pools: Pools;
  #seenWarnings: Set<string>;
  #isClosed = false;

  constructor(options: ConnectionOptions) {
    const url = new URL(options.credentials.server);
    this.name = options.name;
    this.server = options.credentials.server;
    this.#origin = url.origin;
    this.#basePath = url.pathname.replace(/\/+$/, '');
    this.#options = options;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#pools = new Pools({ ...options, origin: url.origin });
    this.#access = new AccessCache(options.credentials, options.clock, options.log);
    this.#seenWarnings = options.seenWarnings ?? new Set();
  }

  async request(request: ApiRequest): Promise<Answer> {
    let access: Access;
    try {
      const current = this.#access.current();
      access = current instanceof Promise ? await current : current;
    } catch (error) {
      return this.#credentialsFailed(error);
    }
    const answer = this.#read(request, await this.#exchange(request, access));
    if (answer.kind !== 'unauthorized') return answer;
    const renewed = await this.#access.renew(access);
    return renewed === undefined ? answer : this.#read(request, await this.#exchange(request, renewed));
  }

  stream(request: StreamRequest, sink: StreamSink): Stream {
    let live: Streaming | undefined;
    let isAborted = false;
    const run = async (): Promise<StreamEnd> => {
      let access: Access | undefined;
      try {
        access = await this.#access.current();
      } catch (error) {
        return { kind: 'broken', message: this.#credentialsFailed(error).message };
      }
      for (let attempt = 0; ; attempt++) {
        if (isAborted || access === undefined) return { kind: 'aborted' };
        const used: Access = access;
        const result = await new Promise<Streamed>((settle) => {
          live = new Streaming(this.#clock, request, sink, settle);
          this.#dispatch('streams', used, { method: 'GET', path: request.path, accept: request.accept }, live);
        });
        const end = this.#readStream(request, result);
        if (end.kind !== 'answered' || end.answer.kind !== 'unauthorized' || attempt > 0) return end;
        access = await this.#access.renew(used);
        if (access === undefined) return end;
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

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#pools.close();
  }

  #exchange(request: ApiRequest, access: Access): Promise<Exchanged> {
    return new Promise((settle) => {
      const limits = {
        timeoutMs: request.timeoutMs ?? defaultTimeoutMs,
        maxBytes: request.maxBytes ?? defaultMaxBytes,
        permit: request.permit,
        signal: request.signal,
        handle: request.handle,
      };
      this.#dispatch('requests', access, request, new Exchange(this.#clock, limits, settle));
    });
  }

  #dispatch(
    lane: 'requests' | 'streams',
    access: Access,
    request: Pick<ApiRequest, 'method' | 'path' | 'body' | 'contentType'> & Pick<StreamRequest, 'accept'>,
    handler: Exchange | Streaming,
  ): void {
    try {
      if (this.#isClosed) throw new Error('the connection is closed');
      this.#pools.of(access)[lane].dispatch(
        {
          origin: this.#origin,
          path: this.#basePath + request.path,
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
    access: Access,
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

  #read(request: ApiRequest, result: Exchanged): Answer {
    switch (result.kind) {
      case 'response':
        return this.#toAnswer(request, result);
      case 'notPermitted':
        return { kind: 'notSent', reason: 'noLease' };
      case 'tooLong': {
        const message = `${request.method} ${pathOnly(request.path)} at ${this.server}: the answer is longer than ${request.maxBytes ?? defaultMaxBytes} bytes`;
        return { kind: 'refused', status: 0, reason: answerTooLong, message };
      }
      case 'error':
        return this.#unreached(request.method, request.path, result.error);
      default:
        return result satisfies never;
    }
  }

  #readStream(request: StreamRequest, result: Streamed): StreamEnd {
    switch (result.kind) {
      case 'ended':
      case 'aborted':
        return result;
      case 'silent':
        return { kind: 'silent', message: `watching ${this.server}: no byte for ${request.silenceMs / 1000} s` };
      case 'error':
        return { kind: 'broken', message: this.#unreached('GET', request.path, result.error).message };
      case 'response': {
        const answer = this.#toAnswer({ method: 'GET', path: request.path }, result);
        if (answer.kind !== 'ok' && answer.kind !== 'notSent') return { kind: 'answered', answer };
        return { kind: 'broken', message: `watching ${this.server}: wanted status 200, found ${result.status}` };
      }
      default:
        return result satisfies never;
    }
  }

  #toAnswer({ method, path }: ApiRequest, { status, headers, body }: Response): Answer {
    if (headers['warning'] !== undefined) this.#warn(headers['warning']);
    const retryAfter = headers['retry-after'];
    return toAnswer({
      status,
      what: `${method} ${pathOnly(path)}`,
      method,
      server: this.server,
      location: headers.location,
      retryAfterMs: retryAfter === undefined ? undefined : retryAfterMs(retryAfter, this.#clock.wallTime()),
      body,
    });
  }

  #unreached(method: string, path: string, error: unknown): Extract<Answer, { kind: 'failed' }> {
    const { message, fix, mayPass } = explain(error, this.server, this.#options.credentials.source);
    const full = `${method} ${pathOnly(path)}: ${message}`;
    return { kind: 'failed', status: undefined, retryAfterMs: undefined, message: full, fix, mayPass };
  }

  #credentialsFailed(error: unknown): Extract<Answer, { kind: 'failed' }> {
    const fix = error instanceof CredentialsError ? (error.faults[0]?.fix ?? '') : '';
    return { kind: 'failed', status: undefined, retryAfterMs: undefined, message: messageOf(error), fix };
  }

  #warn(header: string | string[]): void {
    for (const warning of typeof header === 'string' ? [header] : header) {
      const text = excerpt(warning.replace(/^299 \S+ /, ''));
      if (this.#seenWarnings.has(text) || this.#seenWarnings.size >= warningLimit) continue;
      this.#seenWarnings.add(text);
      this.#log.warn({ cluster: this.name, warning: text }, 'the api server warns');
    }
  }
}

/** Selectors and continue tokens are long and do not help in a message. */
function pathOnly(path: string): string {
  const query = path.indexOf('?');
  return query < 0 ? path : path.slice(0, query);
}
