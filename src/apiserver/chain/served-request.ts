// One request on its way through the chain, with everything that has been found out about it. Each filter adds what it found; nobody
// reads the URL again.
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../clock.ts';
import type { Status } from '../../object/meta/status.ts';
import type { AuditTrail } from '../caller/audit-trail.ts';
import { boundLastBytes } from '../limits/last-bytes.ts';
import type { User } from '../request/identity.ts';
import type { Target } from '../request/target.ts';

/** Where the answer goes. */
export type Client =
  | { kind: 'response'; response: ServerResponse }
  /** The raw socket of an upgrade; `head` holds bytes that followed the header lines. The clock bounds the answer's last bytes. */
  | { kind: 'socket'; socket: Socket; head: Buffer; clock: Clock };

/** A listener of the tenant's own, on which `/` stands for another path. */
export interface Entrance {
  base: string;
}

export class ServedRequest {
  readonly request: IncomingMessage;
  readonly client: Client;
  /** Undefined = the listener of the server itself. */
  readonly entrance: Entrance | undefined;
  readonly target: Target;
  readonly trail: AuditTrail;
  /** Whoever sent the request, once that is proved. */
  sender: User | undefined;
  /** Awaited after each wait: resolves when it is this caller's turn, for which the loop works from here on. Absent = nobody counts. */
  works: (() => Promise<void> | undefined) | undefined;
  /** Why the sender's credential does not hold any more; undefined = it does. */
  ended: (() => Status | undefined) | undefined;
  #user: User | undefined;
  #response: ServerResponse | undefined;

  constructor(of: Pick<ServedRequest, 'request' | 'client' | 'entrance' | 'target' | 'trail'>) {
    this.request = of.request;
    this.client = of.client;
    this.entrance = of.entrance;
    this.target = of.target;
    this.trail = of.trail;
  }

  /** Before anything is done: the line in the audit log, and the turn of the caller. Throws a StatusFault when there is no line. */
  async begins(): Promise<void> {
    await this.trail.begins();
    await this.works?.();
  }

  /** The user that the request runs as: the sender, or whom the sender impersonates. Only behind authorization. */
  get user(): User {
    if (this.#user === undefined) throw new Error('serve a request: want it authorized before');
    return this.#user;
  }

  set user(user: User) {
    this.#user = user;
  }

  /** Headers for a client whose connection began an upgrade are written by the same code as all others. */
  get response(): ServerResponse {
    const { client, request } = this;
    this.#response ??= client.kind === 'response' ? client.response : responseOn(client, request);
    return this.#response;
  }
}

/**
 * An answer on a socket that left the server for an upgrade; afterwards the socket closes, so that nothing that was sent behind the
 * request is ever read (CVE-2018-1002105).
 */
export function responseOn(
  { socket, clock }: { socket: Socket; clock: Clock },
  request: IncomingMessage,
): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.once('prefinish', () => boundLastBytes(socket, clock));
  response.once('finish', () => socket.destroySoon());
  return response;
}
