// The words of a 403: who may not do what, where.
import { forbidden, type Status } from '../../object/meta/status.ts';
import type { User } from './identity.ts';
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
