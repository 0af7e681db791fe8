// Writes the 403 for a user who lacks a right, and refuses requests that impersonate another user.
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
  const fullResource = subresource === '' ? resource : `${resource}/${subresource}`;
  const scope = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const why = `User "${user.name}" cannot ${verb} resource "${fullResource}" in API group "${group}" ${scope}${tail}`;
  return forbidden({ group, resource }, name, why);
}

const impersonationPrefix = 'impersonate-';
/** A header name can fill the whole header block; the answer quotes only its beginning. */
const shownLength = 60;

/** Ignoring the header would run the request with the sender's own rights, which may be wider than the impersonated user's. */
export function refuseImpersonation({ headers }: IncomingMessage): void {
  const header = Object.keys(headers).find((name) => name.startsWith(impersonationPrefix));
  if (header === undefined) return;
  const why = `this server does not act for other users, found the header "${header.slice(0, shownLength)}"; send the request without it`;
  throw new StatusFault(forbidden({ group: '', resource: 'users' }, '', why));
}
