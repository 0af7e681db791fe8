// Keeps the open connections to one API server: a pool for requests and a pool for streams, both with the same certificates. In:
// the access of a request. Out: the pool that dispatches it. Must never know a request.
import type { buildConnector, Dispatcher } from 'undici';
import Pool from 'undici/lib/dispatcher/pool.js';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { ClusterAccess } from '../credentials/access.ts';
import { sameTarget, sameTls } from '../credentials/access-cache.ts';
import { certificatesOf } from '../credentials/tls-context.ts';
import { type Exchanged, NoAnswer } from './exchange.ts';

export interface PoolsOptions {
  name: string;
  clock: Clock;
  log: Log;
  /** Opens the sockets; absent = TCP, and TLS where the server's address says so. */
  connector?: SocketOpener | undefined;
}

/** Is given the certificates with which a connection over TLS is opened. */
export type SocketOpener = (tls: buildConnector.BuildOptions) => buildConnector.connector;

export interface Wires {
  access: ClusterAccess;
  /** Scheme, host and port of the server. */
  origin: string;
  /** The beginning of each path. */
  basePath: string;
  requests: Dispatcher;
  streams: Dispatcher;
}

/** The writer has at most this many requests in flight; a read may wait a moment behind them. */
const requestConnections = 32;
/** Each watch needs a connection; one daemon is not meant for several hundred mapped namespaces. */
const streamConnections = 512;
const connectTimeoutMs = 10_000;
/** Below the 90 s after which kube-apiserver closes an idle connection. */
const keepAliveMs = 60_000;

function isSame(a: ClusterAccess, b: ClusterAccess): boolean {
  return sameTarget(a, b) && sameTls(a, b);
}

export class Pools {
  readonly #options: PoolsOptions;
  #wires: Wires | undefined;
  /** All connections share them, as it takes a millisecond to read them. */
  #certificates: object = {};
  /** When the pool of requests was opened, and when it last brought an answer. */
  #openedMs = 0;
  #heardMs = Number.NEGATIVE_INFINITY;
  /** Pools with old certificates that still finish their requests. */
  readonly #retired = new Set<Dispatcher>();

  constructor(options: PoolsOptions) {
    this.#options = options;
  }

  /** Opens new connections when the certificates have changed. */
  of(access: ClusterAccess): Wires {
    const wires = this.#wires;
    if (wires !== undefined && (wires.access === access || isSame(wires.access, access))) return wires;
    if (wires !== undefined) {
      this.#options.log.info({ cluster: this.#options.name }, 'server or certificates changed, connecting again');
      this.#retire(wires.requests);
      // A stream of minutes must not go on with a server that the credentials no longer name.
      if (sameTarget(wires.access, access)) this.#retire(wires.streams);
      else void wires.streams.destroy();
    }
    const { origin, pathname, protocol } = new URL(access.server);
    this.#certificates = protocol === 'https:' ? certificatesOf(access) : {};
    const requests = this.#dispatcher(access, requestConnections);
    const streams = this.#dispatcher(access, streamConnections);
    this.#openedMs = this.#options.clock.now();
    this.#wires = { access, origin, basePath: pathname.replace(/\/+$/, ''), requests, streams };
    return this.#wires;
  }

  /**
   * How a request ended. A request learns that its connection has died in silence only when its whole time limit has passed. The connections
   * that are kept beside it have mostly died too, so the next request opens a new one.
   */
  note(result: Exchanged, sentMs: number): void {
    const nowMs = this.#options.clock.now();
    if (result.kind === 'response') this.#heardMs = nowMs;
    if (result.kind !== 'error' || !(result.error instanceof NoAnswer) || this.#wires === undefined) return;
    if (this.#heardMs > sentMs || this.#openedMs > sentMs) return;
    this.#options.log.info({ cluster: this.#options.name }, 'no answer, connecting again');
    this.#retire(this.#wires.requests);
    this.#wires = { ...this.#wires, requests: this.#dispatcher(this.#wires.access, requestConnections) };
    this.#openedMs = nowMs;
  }

  #dispatcher(access: ClusterAccess, connections: number): Dispatcher {
    const { servername, rejectUnauthorized } = access.tls;
    const tls = { rejectUnauthorized, ...this.#certificates, ...(servername === undefined ? {} : { servername }) };
    const { proxy } = access;
    if (proxy !== undefined) return new proxy.Agent({ uri: proxy.url, requestTls: tls, connections, allowH2: false });
    return new Pool(new URL(access.server).origin, {
      connections,
      pipelining: 1,
      // HTTP/1.1, because HTTP/2 pings do not detect a dead peer, and one HTTP/2 connection would carry all traffic.
      allowH2: false,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      connect: this.#options.connector?.(tls) ?? { ...tls, timeout: connectTimeoutMs },
    });
  }

  #retire(dispatcher: Dispatcher): void {
    this.#retired.add(dispatcher);
    dispatcher.close().then(
      () => this.#retired.delete(dispatcher),
      () => this.#retired.delete(dispatcher),
    );
  }

  async close(): Promise<void> {
    const all = [...this.#retired, ...(this.#wires === undefined ? [] : [this.#wires.requests, this.#wires.streams])];
    this.#retired.clear();
    this.#wires = undefined;
    await Promise.all(all.map((dispatcher) => dispatcher.destroy()));
  }
}
