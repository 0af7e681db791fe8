// Limits what one credential, one owner with all credentials, and everybody together hold open at a time: connections, requests, watches
// and the bytes of bodies. One key that leaks, one program that opens watches in a loop, or an owner who makes key after key, must not
// take the server from everybody else: when all is taken, who holds most gives way to who holds less. In: the holder of the credential.
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

/** Of a credential: keys are made within a moment, and so are tokens of a key; owners stand in the configuration. */
export interface Holder {
  key: string;
  owner: string;
}

/** Of what all may hold. Two owners, each with a program that has run wild, still leave the server to those who hold less. */
const shareOfOwner = 1 / 2;

/** With TLS 96 KiB, and as much again that the system holds of an answer that nobody reads: it may not be seen here, and counts as ours. */
const connectionBytes = 192 * 1024;

/**
 * A quiet watch costs 250 KiB with both of its connections. One whose answer stands still costs 750 KiB, most of it on the way from the
 * cluster, where the system takes in more than is read: 256 such ended a server with 256 MiB. What has passed has a bound of its own.
 */
const proxiedBytes = 512 * 1024;

/** How many connections fit into a share of the memory. */
export function connectionsIn(share: number, most: number, bytes: number = connectionBytes): number {
  return memoryShare(share / bytes, most);
}

/**
 * Connections: over HTTP/1.1 each open request and watch has its own, so one credential needs as many as its 2,000 requests to
 * clusters behind the server and its watches. 3,500 idle ones of one key ended a server with 384 MiB.
 * Requests: kube-apiserver serves 400 reads at a time by default.
 * Watches: an informer has one for each kind and namespace, and a pipeline one for each `kubectl wait`.
 * Proxied: a controller that watches every kind has a few hundred.
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

/** Something that is held open. */
interface Holding {
  of: Holder;
  /** False = to end it now would end what is nearly done. */
  mayEnd(): boolean;
  end(): void;
}

type Sums = Map<string, number>;
type OfEach<Value> = Readonly<Record<Held, Value>>;

function ofEach<Value>(make: () => Value): Record<Held, Value> {
  return { connections: make(), requests: make(), watches: make(), proxied: make(), bodies: make() };
}

export class CallerLimits {
  readonly #limits: OfEach<Limit>;
  readonly #ofKeys: OfEach<Sums> = ofEach(() => new Map());
  readonly #ofOwners: OfEach<Sums> = ofEach(() => new Map());
  /** Oldest first, each with the function that takes it from the counts. */
  readonly #holdings: OfEach<Map<Holding, () => void>> = ofEach(() => new Map());
  readonly #open = ofEach(() => 0);
  readonly #refused = ofEach(() => 0);
  readonly #gaveWay = ofEach(() => 0);
  /** The credentials that have authenticated on a connection; nearly always one. */
  readonly #connected = new WeakMap<Socket, Set<string>>();

  constructor(limits: Partial<OfEach<Limit>> = {}) {
    this.#limits = { ...callerLimits, ...limits };
  }

  open(held: Held): number {
    return this.#open[held];
  }

  /** Refusals since the start. */
  refused(held: Held): number {
    return this.#refused[held];
  }

  /** Since the start: what was ended for somebody who holds less. */
  gaveWay(held: Held): number {
    return this.#gaveWay[held];
  }

  /** Called for each authenticated request; counts a connection once for each credential on it. */
  connects(socket: Socket, of: Holder): void {
    const known = this.#connected.get(socket);
    if (known?.has(of.key) === true) return;
    // A connection of a proxy in front carries the requests of others too.
    const mayEnd = () => this.#connected.get(socket)?.size === 1;
    const leave = this.#enter('connections', { of, mayEnd, end: () => socket.destroy() });
    if (known === undefined) this.#connected.set(socket, new Set([of.key]));
    else known.add(of.key);
    // A proxy in front sends the requests of many credentials on one connection.
    if (known !== undefined) socket.setMaxListeners(0);
    socket.once('close', leave);
    if (socket.destroyed) leave();
  }

  /** Counts the request until its answer, or the socket of its upgrade, has ended. */
  admit(held: 'requests' | 'watches' | 'proxied', of: Holder, answer: ServerResponse | Socket): void {
    const leave = this.#enter(held, { of, mayEnd: always, end: () => answer.destroy() });
    answer.once('close', leave);
    if (answer.destroyed) leave();
  }

  /**
   * Counts the body from its announcement until the answer, at most `mostBytes`, beyond which the request is refused anyway. When
   * all bodies together are too many, the connection of one is closed that its client has not sent whole.
   */
  admitBody(of: Holder, response: ServerResponse, mostBytes: number): void {
    const request = response.req;
    const { 'content-length': announced, 'transfer-encoding': encoding } = request.headers;
    const bytes = Math.min(encoding === undefined ? Number(announced ?? 0) : mostBytes, mostBytes);
    if (bytes === 0) return;
    const body = { of, mayEnd: () => !request.complete, end: () => request.socket.destroy() };
    const leave = this.#enter('bodies', body, bytes);
    response.once('close', leave);
    // A client may hang up while its key is looked at, and does not hang up again.
    if (response.destroyed) leave();
  }

  #enter(held: Held, holding: Holding, amount = 1): () => void {
    const { key, owner } = holding.of;
    const { ofOne, altogether } = this.#limits[held];
    const ofOwner = Math.max(ofOne, Math.floor(altogether * shareOfOwner));
    const [ofKeys, ofOwners, holdings] = [this.#ofKeys[held], this.#ofOwners[held], this.#holdings[held]];
    const [mine, ofMine] = [ofKeys.get(key) ?? 0, ofOwners.get(owner) ?? 0];
    if (mine + amount > ofOne)
      throw this.#tooMany(held, `your access key has ${mine} ${names[held]}, and one key may have ${ofOne}`);
    if (ofMine + amount > ofOwner)
      throw this.#tooMany(
        held,
        `the access keys of your owner have ${ofMine} ${names[held]}, and one owner may have ${ofOwner}`,
      );
    while (this.#open[held] + amount > altogether && this.#giveWay(held, ofMine + amount));
    if (this.#open[held] + amount > altogether)
      throw this.#tooMany(
        held,
        `this server has ${this.#open[held]} ${names[held]}, and all keys together may have ${altogether}`,
      );
    add(ofKeys, key, amount);
    add(ofOwners, owner, amount);
    this.#open[held] += amount;
    const leave = () => {
      if (!holdings.delete(holding)) return;
      this.#open[held] -= amount;
      add(ofKeys, key, -amount);
      add(ofOwners, owner, -amount);
    };
    holdings.set(holding, leave);
    return leave;
  }

  /** Ends the oldest of the owner who holds most. False when nobody holds more than `least`: then there is no room. */
  #giveWay(held: Held, least: number): boolean {
    const ofOwners = this.#ofOwners[held];
    let most = least;
    let found: [Holding, () => void] | undefined;
    for (const each of this.#holdings[held]) {
      const sum = ofOwners.get(each[0].of.owner) ?? 0;
      if (sum <= most || !each[0].mayEnd()) continue;
      most = sum;
      found = each;
    }
    if (found === undefined) return false;
    const [{ end }, leave] = found;
    this.#gaveWay[held]++;
    leave();
    end();
    return true;
  }

  #tooMany(held: Held, what: string): StatusFault {
    this.#refused[held]++;
    const message = `${what}; ${wayOut[held]}, and try again in ${retryAfterSeconds} second`;
    return new StatusFault(tooManyRequests(message, retryAfterSeconds));
  }
}

const always = () => true;

function add(sums: Sums, name: string, amount: number): void {
  const sum = (sums.get(name) ?? 0) + amount;
  if (sum <= 0) sums.delete(name);
  else sums.set(name, sum);
}
