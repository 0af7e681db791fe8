// Reads what a request is about, finds the sender of one to a cluster behind this server, and counts what a sender holds open there.
// The token is in the header Authorization, or in the list of WebSocket protocols, because a browser cannot send Authorization with
// a WebSocket. A request with two proofs is refused, since two readers could choose different ones.
import type { IncomingMessage } from 'node:http';
import { type Filters, wrongCredentials } from '../../apiserver/chain/chain.ts';
import type { Entrance, ServedRequest } from '../../apiserver/chain/served-request.ts';
import type { CallerLimits, Holder } from '../../apiserver/limits/caller-limits.ts';
import type { LoopTime } from '../../apiserver/limits/loop-time.ts';
import { bearerIn, type User } from '../../apiserver/request/identity.ts';
import { badRequest } from '../../apiserver/request/status-fault.ts';
import type { UnreadAnswers } from '../../apiserver/wire/unread-answers.ts';
import type { Credential } from '../scope/allows.ts';
import { proxiedIn, targetOf } from '../scope/classify.ts';
import { bearersInProtocols, countOf } from './forward/headers.ts';
import { maxReviewBytes, reviewIn } from './reviews.ts';

/**
 * Of every listener of the management server, of its ingress and of direct endpoints. Clients send far less, and much larger headers
 * would cost memory for each connection.
 */
export const maxHeaderBytes = 16 * 1024;

/** A listener on which `/` is the API of one virtual cluster. */
export interface InstanceEntrance extends Entrance {
  /** The holder of the connection's client certificate; undefined = no certificate. Throws a StatusFault for an invalid one. */
  holder(request: IncomingMessage): { user: User } | undefined;
}

/** The only reader of URLs. `isLocal`: the request came through the socket of this machine, which leads to no cluster. */
export function classifier(isLocal: (request: IncomingMessage) => boolean): Filters['classify'] {
  return (request, entrance) => {
    const { method = 'GET', url = '/', headers } = request;
    const isUpgrade = headers.upgrade !== undefined;
    return targetOf({ method, url: (entrance?.base ?? '') + url, isUpgrade, isLocal: isLocal(request) });
  };
}

export interface SenderParts {
  /** Undefined = an unknown credential. Throws a StatusFault for a known credential that is not valid now. */
  authenticate(bearer: string, address: string | undefined): Promise<User | undefined>;
  /** Seconds to wait for a source with too many wrong credentials. */
  failedLogin(source: string): number | undefined;
}

export async function proxiedSender(
  { request, entrance }: ServedRequest,
  parts: SenderParts,
): Promise<User | undefined> {
  const source = request.socket.remoteAddress ?? '';
  const bearer = bearerOf(request);
  const holder = isInstance(entrance) ? entrance.holder(request) : undefined;
  if (bearer !== undefined && holder !== undefined)
    throw badRequest('send either a client certificate or a token, found both');
  const user = bearer === undefined ? holder?.user : await parts.authenticate(bearer, source);
  // A wrong token in the list of protocols is a guess as one in the header Authorization is.
  if (user === undefined && bearer !== undefined) throw wrongCredentials(source, parts.failedLogin);
  return user;
}

function isInstance(entrance: Entrance | undefined): entrance is InstanceEntrance {
  return entrance !== undefined && 'holder' in entrance;
}

function bearerOf({ rawHeaders, headers }: IncomingMessage): string | undefined {
  const { tokens, others } = bearersInProtocols(headers['sec-websocket-protocol']);
  const count = countOf(rawHeaders, 'authorization') + tokens.length;
  if (count > 1) throw badRequest('send one token, found several');
  if (headers.authorization !== undefined) return bearerIn(headers.authorization);
  const [token] = tokens;
  if (token === undefined) return undefined;
  if (others.length === 0)
    throw badRequest('name the protocol that you speak in Sec-WebSocket-Protocol besides the one that holds the token');
  return /^\S+$/.test(token) ? token : undefined;
}

/** Whom the limits count for what this credential does. */
export function creditedTo({ keyName, subject }: Pick<Credential, 'keyName' | 'subject'>): Holder {
  return { key: keyName, owner: `${subject.kind} ${subject.name}` };
}

/** The head of a request to a cluster, its audit line and its way there count like other work; what is streamed afterwards uses little. */
export function proxiedAdmission(
  limits: Pick<CallerLimits, 'admit' | 'admitBody'>,
  unread: UnreadAnswers,
  loopTime: Pick<LoopTime, 'enters'>,
): (of: Holder, exchange: ServedRequest) => Promise<void> {
  return (of, exchange) => {
    if (exchange.client.kind === 'response') unread.opened(exchange.client.response, of.owner);
    return loopTime.enters(of, () => admitProxied(limits, of, exchange));
  };
}

/** Everything is streamed, but reviews are read here. */
function admitProxied(
  limits: Pick<CallerLimits, 'admit' | 'admitBody'>,
  of: Holder,
  { client, target }: ServedRequest,
): void {
  limits.admit('proxied', of, client.kind === 'response' ? client.response : client.socket);
  const proxied = proxiedIn(target);
  if (proxied === undefined || client.kind !== 'response' || reviewIn(proxied.request) !== 'access') return;
  limits.admitBody(of, client.response, maxReviewBytes);
}
