// The rights that every valid key has, even with an empty scope: to discover the API, to ask about itself, to manage its own key
// object, and to make a direct token that is never wider than itself.
import {
  type AccessRequest,
  instanceResource,
  isPlainPath,
  keyResource,
  managementGroup,
  tokenResource,
} from './request.ts';

/** OpenAPI, version and health: each of these and every path below it. */
const openPaths: ReadonlySet<string> = new Set(['openapi', 'version', 'healthz', 'livez', 'readyz']);

/** Discovery: `/api/v1` and `/apis/GROUP/VERSION` at most. The objects themselves are deeper. */
const discoverySteps: ReadonlyMap<string, number> = new Map([
  ['api', 2],
  ['apis', 3],
]);

const reviews: ReadonlySet<string> = new Set([
  'selfsubjectaccessreviews.authorization.k8s.io',
  'selfsubjectrulesreviews.authorization.k8s.io',
  'selfsubjectreviews.authentication.k8s.io',
]);

/** On the management API, and on every proxied API that the scope can reach: without it kubectl does not work there. */
export function isDiscoveryOrReview(request: AccessRequest): boolean {
  if (request.isResource) {
    const { verb, group, resource, subresource } = request;
    return verb === 'create' && subresource === '' && reviews.has(`${resource}.${group}`);
  }
  if (request.verb !== 'get' && request.verb !== 'head') return false;
  if (!isPlainPath(request.path)) return false;
  const steps = request.path.split('/').filter((step) => step !== '');
  const [first] = steps;
  return first === undefined || openPaths.has(first) || steps.length <= (discoverySteps.get(first) ?? 0);
}

/** A key may write its own object; the rules in keys/rules/change.ts limit the change itself. */
const ownKeyVerbs: ReadonlySet<string> = new Set(['get', 'update', 'patch', 'delete', 'list', 'watch']);

/** On the management API alone. `keyName` is the caller's own key. */
export function isOwnKeyOrToken(request: AccessRequest, keyName: string): boolean {
  if (!request.isResource || request.target.kind !== 'Management') return false;
  const { verb, group, resource, subresource, namespace, name } = request;
  if (group !== managementGroup || subresource !== '' || namespace !== '') return false;
  if (resource === keyResource) return name === keyName && ownKeyVerbs.has(verb);
  return resource === tokenResource && verb === 'create';
}

/** Verbs on the keys that a subject owns, and direct tokens: rights of everybody. */
export function isEverybodysRight(request: AccessRequest): boolean {
  if (!request.isResource || request.group !== managementGroup || request.namespace !== '') return false;
  if (request.resource === keyResource) return true;
  return request.resource === tokenResource && request.verb === 'create' && request.subresource === '';
}

/** The request makes a credential: a key, a new value of a key, a token or a kubeconfig. */
export function isIssuing(request: AccessRequest): boolean {
  if (!request.isResource || request.target.kind !== 'Management' || request.group !== managementGroup) return false;
  if (request.verb !== 'create') return false;
  const { resource, subresource } = request;
  return [keyResource, tokenResource].includes(resource) || (resource === instanceResource && subresource !== '');
}
