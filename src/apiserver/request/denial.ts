// Writes the 403 for a user who lacks a right, and refuses requests that impersonate another user.
import type { IncomingMessage } from 'node:http';
import { quoted } from '../../object/meta/field-error.ts';
import { forbidden, type Status } from '../../object/meta/status.ts';
import type { User } from './identity.ts';
import { StatusFault } from './status-fault.ts';
import type { Target } from './target.ts';

export function deniedBecause(user: User, target: Target, reason = ''): Status {
  const tail = reason === '' ? '' : `: ${reason}`;
  const { verb, resource, subresource, group, namespace, name, path } = target;
  if (!target.isResource) {
    const why = harmless(`User ${quoted(user.name)} cannot ${verb} path ${quoted(path)}`);
    return forbidden({ group: '', resource: '' }, '', `${why}${tail}`);
  }
  const fullResource = subresource === '' ? resource : `${resource}/${subresource}`;
  const scope = namespace === '' ? 'at the cluster scope' : `in the namespace ${quoted(namespace)}`;
  const what = `resource ${quoted(fullResource)} in API group ${quoted(group)}`;
  const why = harmless(`User ${quoted(user.name)} cannot ${verb} ${what} ${scope}`);
  return forbidden({ group, resource }, name, `${why}${tail}`);
}

/** As in the real server: a browser that takes the answer for HTML must find no tags. */
function harmless(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const impersonationPrefix = 'impersonate-';
/** A header name can fill the whole header block; the answer quotes only its beginning. */
const shownLength = 60;

/** For a server without impersonation. Ignoring the header would run the request with the sender's own rights, which may be wider than the impersonated user's. */
export function refuseImpersonation({ headers }: IncomingMessage): void {
  // Some servers treat both spellings as one header.
  const header = Object.keys(headers).find((name) => name.replaceAll('_', '-').startsWith(impersonationPrefix));
  if (header === undefined) return;
  const why = `this server acts for its own callers only, found the header "${header.slice(0, shownLength)}"; send the request without it`;
  throw new StatusFault(forbidden({ group: '', resource: 'users' }, '', why));
}
