// Finds the sender's token in a request: in the header Authorization, or in the list of WebSocket protocols, because a browser
// cannot send Authorization with a WebSocket. A request with two tokens is refused, since two readers could choose different ones.
import type { IncomingMessage } from 'node:http';
import { badRequest } from '../../apiserver/request/status-fault.ts';
import { bearersInProtocols, countOf } from './headers.ts';

export function bearerOf({ rawHeaders, headers }: IncomingMessage): string | undefined {
  const { tokens, others } = bearersInProtocols(headers['sec-websocket-protocol']);
  const count = countOf(rawHeaders, 'authorization') + tokens.length;
  if (count > 1) throw badRequest('send one token, found several');
  if (headers.authorization !== undefined) return /^Bearer +(\S+) *$/i.exec(headers.authorization)?.[1];
  const [token] = tokens;
  if (token === undefined) return undefined;
  if (others.length === 0)
    throw badRequest('name the protocol that you speak in Sec-WebSocket-Protocol besides the one that holds the token');
  return /^\S+$/.test(token) ? token : undefined;
}
