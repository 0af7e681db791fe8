// What the sentences say about requests alone: resources, discovery, self-reviews and odd paths.
import type { MatrixConfiguration, MatrixRequest } from '../matrix-case.ts';

export type ResourceRequest = Extract<MatrixRequest, { isResource: true }>;

export const ownGroup = 'management.platform';
export const readVerbs: readonly string[] = ['get', 'list', 'watch'];

function isClusterScoped(request: ResourceRequest, group: string, resource: string): boolean {
  return isOf(request, group, resource) && request.namespace === '' && request.allNamespaces !== true;
}

function isOf(request: ResourceRequest, group: string, resource: string): boolean {
  return request.group === group && request.resource === resource;
}

/**
 * N 2: "create of selfsubjectaccessreviews and selfsubjectrulesreviews of authorization.k8s.io and of selfsubjectreviews of
 * authentication.k8s.io". The note asks for no namespace with keys and tokens, and says nothing of a namespace here.
 */
export function isSelfReview(request: MatrixRequest): boolean {
  if (!request.isResource || request.verb !== 'create' || request.subresource !== '') return false;
  return (
    isOf(request, 'authorization.k8s.io', 'selfsubjectaccessreviews') ||
    isOf(request, 'authorization.k8s.io', 'selfsubjectrulesreviews') ||
    isOf(request, 'authentication.k8s.io', 'selfsubjectreviews')
  );
}

/**
 * N 2: "get and head of `/`, and of /api, /apis, /openapi, /version, /healthz, /livez and /readyz and of every path below
 * these". N 10 keeps odd paths out of every entry and every base; here as well, because `/apis/../metrics` is below /apis for
 * one reader and not for the next.
 */
export function isDiscovery(request: MatrixRequest): boolean {
  if (request.isResource) return false;
  if (request.verb !== 'get' && request.verb !== 'head') return false;
  if (request.path === '/') return true;
  if (isOddPath(request.path)) return false;
  const roots = ['/api', '/apis', '/openapi', '/version', '/healthz', '/livez', '/readyz'];
  return roots.some((root) => request.path === root || request.path.startsWith(`${root}/`));
}

/**
 * N 10: "A path of a non-resource request that has an empty, `.` or `..` step or a `%` matches no scope entry and no base.
 * One slash at the end is fine." A path without any slash, the empty one among them, is no path below the target.
 */
export function isOddPath(path: string): boolean {
  if (path.includes('%') || !path.startsWith('/')) return true;
  const steps = path.split('/').slice(1);
  if (steps.at(-1) === '') steps.pop();
  return steps.some((step) => step === '' || step === '.' || step === '..');
}

/** The resource ownedaccesskeys itself or one of its subresources (cluster-scoped, D 1.1). */
export function isOnKeys(request: MatrixRequest): request is ResourceRequest & { target: { kind: 'Management' } } {
  return (
    request.target.kind === 'Management' && request.isResource && isClusterScoped(request, ownGroup, 'ownedaccesskeys')
  );
}

/** D 2.2, N 2: create of directclusterendpointtokens, which have no namespace. */
export function isTokenCreation(request: MatrixRequest): boolean {
  return (
    request.target.kind === 'Management' &&
    request.isResource &&
    request.verb === 'create' &&
    request.subresource === '' &&
    isClusterScoped(request, ownGroup, 'directclusterendpointtokens')
  );
}

/** The resource virtualclusterinstances on Management, whatever the verb, the subresource and the namespace. */
export function isOnInstances(request: MatrixRequest): request is ResourceRequest {
  return (
    request.target.kind === 'Management' &&
    request.isResource &&
    request.group === ownGroup &&
    request.resource === 'virtualclusterinstances'
  );
}

/**
 * N 4: "a request to ProjectSpace must be a resource request in the namespace that the configuration gives to that space, or
 * discovery or a self-review".
 */
export function staysInSpace(request: MatrixRequest, configuration: MatrixConfiguration): boolean {
  const { target } = request;
  if (target.kind !== 'ProjectSpace') return true;
  if (isDiscovery(request) || isSelfReview(request)) return true;
  if (!request.isResource || request.namespace === '') return false;
  return configuration.projects.some(
    (project) =>
      project.name === target.project &&
      (project.spaces ?? []).some((space) => space.name === target.space && space.namespace === request.namespace),
  );
}
