// Permits only the protocol changes that exec, attach and port-forward need. Pure.
import type { IncomingMessage } from 'node:http';
import { announcesBody } from '../../../apiserver/limits/client-error.ts';
import { badRequest } from '../../../apiserver/request/status-fault.ts';

const known = ['websocket', 'SPDY/3.1'] as const;

/** Undefined = an ordinary request. Throws a 400 for every other protocol. */
export function upgradeOf(request: IncomingMessage, isUpgrade: boolean): string | undefined {
  const wanted = request.headers.upgrade;
  if (wanted === undefined && !isUpgrade) return undefined;
  const found = known.find((one) => one.toLowerCase() === wanted?.toLowerCase());
  if (found === undefined)
    throw badRequest(`the protocol "${(wanted ?? '').slice(0, 60)}" cannot be changed to; use ${known.join(' or ')}`);
  // Node takes a request with a body for an ordinary one, whatever its header Connection says.
  if (announcesBody(request)) throw badRequest('a request to change the protocol must not have a body');
  if (!isUpgrade) throw badRequest('a request with the header Upgrade must have the header "Connection: Upgrade"');
  return found;
}
