// Limits the connections on which nobody has authenticated yet, for each source and altogether, so that idle and slow clients
// cannot take all connections. A new connection is let in, and the oldest one that has no request running gives way.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { tooManyRequests } from '../../object/meta/status.ts';
import { connectionsIn } from './caller-limits.ts';
import { writeByHand } from './client-error.ts';
import { boundLastBytes } from './last-bytes.ts';
import { sourceOf } from './source.ts';

export interface UnprovenLimits {
  perSource: number;
  altogether: number;
  /** Younger connections count towards the limit of their source, but only older ones give way to it. */
  youngMs: number;
}

/**
 * A connection is unproven for a handshake and one request. Behind a load balancer all clients have one address, and 256 of them
 * may be that far for longer than it takes; after a restart a thousand clients connect within two seconds, and are let in.
 * 1,024 connections cost about 96 MiB with TLS, so a small container has fewer.
 */
const defaultLimits: UnprovenLimits = { perSource: 256, altogether: connectionsIn(1 / 4, 1024), youngMs: 2_000 };
/** Who takes longer to say what the request is wants to occupy a connection; the limit holds within a second. */
export const slowHeads = { headersTimeout: 10_000, connectionsCheckingInterval: 1_000 };
export const handshakeTimeout = slowHeads.headersTimeout;
/** An attack of thousands of connections must not fill the log. */
const logIntervalMs = 10_000;
const retryAfterSeconds = 1;

interface Unproven {
  source: string;
  /** The TLS socket as soon as there is one. */
  socket: Socket;
  /** HTTP can be spoken: the socket is not in its handshake. */
  speaks: boolean;
  requests: number;
  enteredAtMs: number;
}

export class UnprovenConnections {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #limits: UnprovenLimits;
  /** By address and port of the client, which the raw socket and the TLS socket share. Oldest first, as in each source. */
  readonly #all = new Map<string, Unproven>();
  readonly #bySource = new Map<string, Map<string, Unproven>>();
  #loggedAtMs = -logIntervalMs;
  /** Connections that were closed for others since the start. */
  gaveWay = 0;

  constructor({ clock, log, limits = defaultLimits }: { clock: Clock; log: Log; limits?: UnprovenLimits }) {
    this.#clock = clock;
    this.#log = log;
    this.#limits = limits;
  }

  get count(): number {
    return this.#all.size;
  }

  guard(server: Server, { isTls }: { isTls: boolean }): void {
    server.on('connection', (socket: Socket) => this.#enters(socket, !isTls));
    server.on('secureConnection', (socket: Socket) => this.#secured(socket));
    server.on('request', ({ socket }, response) => {
      const connection = this.#all.get(keyOf(socket));
      if (connection === undefined) return;
      connection.requests++;
      response.once('close', () => connection.requests--);
    });
  }

  /** Somebody authenticated on this connection. */
  proved(socket: Socket): void {
    this.#forget(keyOf(socket));
  }

  #enters(socket: Socket, speaks: boolean): void {
    const key = keyOf(socket);
    const source = sourceOf(socket.remoteAddress);
    const connection = { source, socket, speaks, requests: 0, enteredAtMs: this.#clock.now() };
    socket.once('close', () => {
      // Another connection may have the same port by now.
      if (this.#all.get(key) === connection) this.#forget(key);
    });
    const fromThere = this.#bySource.get(source) ?? new Map<string, Unproven>();
    this.#bySource.set(source, fromThere);
    this.#all.set(key, connection);
    fromThere.set(key, connection);
    const { perSource, altogether } = this.#limits;
    while (fromThere.size > perSource && this.#isOld(fromThere)) this.#makeRoom(fromThere, 'from one address');
    if (this.#all.size > altogether) this.#makeRoom(this.#largestSource(), 'altogether');
  }

  #secured(socket: Socket): void {
    const connection = this.#all.get(keyOf(socket));
    if (connection === undefined) return;
    connection.socket = socket;
    connection.speaks = true;
  }

  /** Oldest first, so that the first one decides. */
  #isOld(among: ReadonlyMap<string, Unproven>): boolean {
    const [oldest] = among.values();
    return oldest !== undefined && this.#clock.now() - oldest.enteredAtMs >= this.#limits.youngMs;
  }

  /** The newest connection is last, so it gives way only when every other one has a request running. */
  #makeRoom(among: ReadonlyMap<string, Unproven>, why: string): void {
    const [key, connection] =
      [...among].find(([, { requests }]) => requests === 0) ?? ([...among][0] as [string, Unproven]);
    this.#forget(key);
    this.gaveWay++;
    this.#tell(connection, why);
    dismiss(connection, why);
    boundLastBytes(connection.socket, this.#clock);
  }

  #largestSource(): ReadonlyMap<string, Unproven> {
    let largest: ReadonlyMap<string, Unproven> = new Map();
    for (const source of this.#bySource.values()) if (source.size > largest.size) largest = source;
    return largest;
  }

  #tell({ source }: Unproven, why: string): void {
    const nowMs = this.#clock.now();
    if (nowMs - this.#loggedAtMs < logIntervalMs) return;
    this.#loggedAtMs = nowMs;
    const { gaveWay } = this;
    this.#log.warn({ source, limits: this.#limits, gaveWay }, `too many connections without authentication ${why}`);
  }

  #forget(key: string): void {
    const connection = this.#all.get(key);
    if (connection === undefined) return;
    this.#all.delete(key);
    const fromThere = this.#bySource.get(connection.source);
    fromThere?.delete(key);
    if (fromThere?.size === 0) this.#bySource.delete(connection.source);
  }
}

function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Says why, where that is possible: before the end of a handshake, and in the middle of an answer, it is not. */
function dismiss({ socket, speaks, requests }: Unproven, why: string): void {
  if (!speaks || requests > 0 || !socket.writable) {
    socket.destroy();
    return;
  }
  const message = `too many connections ${why} have not authenticated: connect again and send a request with a key at once`;
  const status = tooManyRequests(message, retryAfterSeconds);
  // A client that does not read must not keep the socket.
  writeByHand(socket, status, { headers: [`Retry-After: ${retryAfterSeconds}`], written: () => socket.destroy() });
}
