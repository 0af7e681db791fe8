// The words of a 403: who may not do what, where.
import type { IncomingMessage } from 'node:http';
import { forbidden, type Status } from '../../object/meta/status.ts';
import type { User } from './identity.ts';
import { StatusFault } from './status-fault.ts';
import type { Target } from './target.ts';

export function deniedBecause(user: User, target: Target, reason = ''): Status {
  const tail = reason === '' ? '' : `: ${reason}`;
  const { verb, resource, subresource, group, namespace, name, path } = target;
  if (!target.isResource) {
    return forbidden({ group: '', resource: '' }, '', `User "${user.name}" cannot ${verb} path "${path}"${tail}`);
  }
  const what = subresource === '' ? resource : `${resource}/${subresource}`;
  const place = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const why = `User "${user.name}" cannot ${verb} resource "${what}" in API group "${group}" ${place}${tail}`;
  return forbidden({ group, resource }, name, why);
}

const impersonationPrefix = 'impersonate-';
/** A header's name may be as long as all headers together; the answer needs its beginning only. */
const shownLength = 60;

/** Carrying out such a request as its sender would give the sender's rights to what was meant to run with fewer. */
export function refuseImpersonation({ headers }: IncomingMessage): void {
  const header = Object.keys(headers).find((name) => name.startsWith(impersonationPrefix));
  if (header === undefined) return;
  const why = `this server does not act for other users, found the header "${header.slice(0, shownLength)}"; send the request without it`;
  throw new StatusFault(forbidden({ group: '', resource: 'users' }, '', why));
}
