// Limits what one credential, and all credentials together, hold open at a time: connections, requests, watches and the bytes of
// bodies. One key that
// leaks, or one program that opens watches in a loop, must not take the server from everybody else. In: the name of the credential.
// Out: 429 with Retry-After beyond a limit.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { constrainedMemory } from 'node:process';
import { tooManyRequests } from '../../object/meta/status.ts';
import { StatusFault } from '../request/status-fault.ts';

export type Held = 'connections' | 'requests' | 'watches' | 'proxied' | 'bodies';

/**
 * A bound in bytes that holds in a small container too: a share of the memory limit of the process, and at most so many. Without a limit the
 * system answers 0, or more than any machine has.
 */
export function memoryShare(share: number, mostBytes: number, limitBytes: number = constrainedMemory()): number {
  return limitBytes > 0 ? Math.min(mostBytes, Math.floor(limitBytes * share)) : mostBytes;
}

export interface Limit {
  ofOne: number;
  altogether: number;
}

/** With TLS 96 KiB, and as much again that the system holds of an answer that nobody reads: it may not be seen here, and counts as ours. */
const connectionBytes = 192 * 1024;

/** What a request that passes the proxy can hold: two connections, and on both the buffers of an answer that arrives faster than it is read. */
const proxiedBytes = 768 * 1024;

/** How many connections fit into a share of the memory. */
export function connectionsIn(share: number, most: number, bytes: number = connectionBytes): number {
  return memoryShare(share / bytes, most);
}

/**
 * Connections: over HTTP/1.1 each open request and watch has its own, so one credential needs as many as its 2,000 requests to
 * clusters behind the server and its watches. 3,500 idle ones of one key ended a server with 384 MiB.
 * Requests: kube-apiserver serves 400 reads at a time by default.
 * Watches: an informer has one for each kind and namespace, and a pipeline one for each `kubectl wait`.
 * Proxied: a controller that watches every kind has a few hundred. 256 answers of a megabyte at a time ended a server with 384 MiB.
 * Bodies, in bytes: 64 of the longest at a time, and 512 altogether, fewer in a small container; a parsed body takes several times its
 * bytes.
 */
export const callerLimits: Readonly<Record<Held, Limit>> = {
  connections: { ofOne: connectionsIn(1 / 8, 4_000), altogether: connectionsIn(1 / 4, 16_000) },
  requests: { ofOne: 400, altogether: 2_000 },
  watches: { ofOne: 1_000, altogether: 10_000 },
  proxied: {
    ofOne: connectionsIn(1 / 8, 2_000, proxiedBytes),
    altogether: connectionsIn(1 / 4, 10_000, proxiedBytes),
  },
  bodies: { ofOne: 4 * 1024 * 1024, altogether: memoryShare(1 / 16, 32 * 1024 * 1024) },
};

/** A request ends within milliseconds, and clients spread their second attempt by themselves. */
const retryAfterSeconds = 1;

const names: Readonly<Record<Held, string>> = {
  connections: 'open connections',
  requests: 'requests at a time',
  watches: 'open watches',
  proxied: 'open requests to clusters behind this server',
  bodies: 'bytes of request bodies without an answer',
};
const wayOut: Readonly<Record<Held, string>> = {
  connections: 'close some, or send more requests on each',
  requests: 'wait for answers before sending more',
  watches: 'close some, or share one watch between readers',
  proxied: 'close some',
  bodies: 'wait for answers before sending more',
};

export class CallerLimits {
  readonly #limits: Readonly<Record<Held, Limit>>;
  readonly #counts: Readonly<Record<Held, Map<string, number>>> = {
    connections: new Map(),
    requests: new Map(),
    watches: new Map(),
    proxied: new Map(),
    bodies: new Map(),
  };
  readonly #open: Record<Held, number> = { connections: 0, requests: 0, watches: 0, proxied: 0, bodies: 0 };
  readonly #refused: Record<Held, number> = { connections: 0, requests: 0, watches: 0, proxied: 0, bodies: 0 };
  /** Oldest first. */
  readonly #bodies = new Set<{ isWhole(): boolean; leave(): void; end(): void }>();
  /** The credentials that have authenticated on a connection; nearly always one. */
  readonly #connected = new WeakMap<Socket, Set<string>>();

  constructor(limits: Partial<Readonly<Record<Held, Limit>>> = {}) {
    this.#limits = { ...callerLimits, ...limits };
  }

  open(held: Held): number {
    return this.#open[held];
  }

  /** Refusals since the start. */
  refused(held: Held): number {
    return this.#refused[held];
  }

  /** Called for each authenticated request; counts a connection once for each credential on it. */
  connects(socket: Socket, credential: string): void {
    const known = this.#connected.get(socket);
    if (known?.has(credential) === true) return;
    const leave = this.#enter('connections', credential);
    if (known === undefined) this.#connected.set(socket, new Set([credential]));
    else known.add(credential);
    // A proxy in front sends the requests of many credentials on one connection.
    if (known !== undefined) socket.setMaxListeners(0);
    socket.once('close', leave);
    if (socket.destroyed) leave();
  }

  /** Counts the request until its answer, or the socket of its upgrade, has ended. */
  admit(held: 'requests' | 'watches' | 'proxied', credential: string, answer: ServerResponse | Socket): void {
    const leave = this.#enter(held, credential);
    answer.once('close', leave);
    if (answer.destroyed) leave();
  }

  /**
   * Counts the body from its announcement until the answer, at most `mostBytes`, beyond which the request is refused anyway. When
   * all bodies together are too many, the oldest one whose client has not sent it whole gives way: its connection is closed.
   */
  admitBody(credential: string, response: ServerResponse, mostBytes: number): void {
    const request = response.req;
    const { 'content-length': announced, 'transfer-encoding': encoding } = request.headers;
    const bytes = Math.min(encoding === undefined ? Number(announced ?? 0) : mostBytes, mostBytes);
    if (bytes === 0) return;
    while (this.#open.bodies + bytes > this.#limits.bodies.altogether && this.#giveWay());
    const leave = this.#enter('bodies', credential, bytes);
    const body = { isWhole: () => request.complete, leave, end: () => request.socket.destroy() };
    this.#bodies.add(body);
    const closed = () => {
      this.#bodies.delete(body);
      leave();
    };
    response.once('close', closed);
    // A client may hang up while its key is looked at, and does not hang up again.
    if (response.destroyed) closed();
  }

  /** False when every body has arrived whole. */
  #giveWay(): boolean {
    for (const body of this.#bodies) {
      if (body.isWhole()) continue;
      this.#bodies.delete(body);
      body.leave();
      body.end();
      return true;
    }
    return false;
  }

  #enter(held: Held, credential: string, amount = 1): () => void {
    const { ofOne, altogether } = this.#limits[held];
    const counts = this.#counts[held];
    const count = counts.get(credential) ?? 0;
    if (count + amount > ofOne)
      throw this.#tooMany(held, `your access key has ${count} ${names[held]}, and one key may have ${ofOne}`);
    if (this.#open[held] + amount > altogether)
      throw this.#tooMany(
        held,
        `this server has ${this.#open[held]} ${names[held]}, and all keys together may have ${altogether}`,
      );
    counts.set(credential, count + amount);
    this.#open[held] += amount;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#open[held] -= amount;
      const left = (counts.get(credential) ?? amount) - amount;
      if (left <= 0) counts.delete(credential);
      else counts.set(credential, left);
    };
  }

  #tooMany(held: Held, what: string): StatusFault {
    this.#refused[held]++;
    const message = `${what}; ${wayOut[held]}, and try again in ${retryAfterSeconds} second`;
    return new StatusFault(tooManyRequests(message, retryAfterSeconds));
  }
}
