// Makes the HTTP server in front of a chain: how long a head may be and may take, which upgrades are let through, and what is answered
// where Node would answer itself. In: certificates and limits. Out: a server that does not listen yet, and each request with its client.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { TlsOptions } from 'node:tls';
import type { Clock } from '../../clock.ts';
import { acceptUpgrades, announcesBody, answerClientErrors } from '../limits/client-error.ts';
import { keepOpenSockets } from '../limits/last-bytes.ts';
import { handshakeTimeout, slowHeads, type UnprovenConnections } from '../limits/unproven-connections.ts';
import type { Client } from './served-request.ts';

export interface ListenerOptions {
  /** Undefined = plain HTTP. */
  tls: TlsOptions | undefined;
  /** Longer headers get 431. */
  maxHeaderBytes: number;
  /** Limits the connections on which nobody has authenticated. */
  unproven: UnprovenConnections | undefined;
  clock: Clock;
  /** Everywhere else a wish to change the protocol is ignored, as HTTP allows. */
  takesUpgrades(url: string): boolean;
  handle(request: IncomingMessage, client: Client): void;
}

/** Longer than clients keep idle connections: if the server closed first, a request could meet a closing connection. */
const keepAliveMs = 120_000;

export function makeListener({ tls, maxHeaderBytes, unproven, clock, takesUpgrades, handle }: ListenerOptions): Server {
  const settings = {
    maxHeaderSize: maxHeaderBytes,
    keepAliveTimeout: keepAliveMs,
    ...slowHeads,
    // A socket with unread bytes behind a body that Node hands over does not notice that its client has gone.
    shouldUpgradeCallback: (request: IncomingMessage) => takesUpgrades(request.url ?? '/') && !announcesBody(request),
  };
  const answer: Parameters<typeof createServer>[1] = (request, response) =>
    handle(request, { kind: 'response', response });
  const server: Server | TlsServer =
    tls === undefined
      ? createServer(settings, answer)
      : createTlsServer({ ...settings, handshakeTimeout, ...tls }, answer);
  keepOpenSockets(server);
  answerClientErrors(server, { maxHeaderBytes, clock });
  unproven?.guard(server, { isTls: tls !== undefined });
  acceptUpgrades(server, clock, (request, socket, head) => handle(request, { kind: 'socket', socket, head, clock }));
  return server;
}
