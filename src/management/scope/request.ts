// A request as the evaluator sees it: the target server, and a resource or a path there. It has only names; the evaluator does not
// ask whether the named object exists.

export type Destination =
  | { kind: 'Management' }
  | { kind: 'Cluster'; cluster: string }
  | { kind: 'ProjectSpace'; project: string; space: string }
  | { kind: 'ProjectVirtualCluster'; project: string; virtualCluster: string };

export interface ScopedRequest {
  isResource: true;
  target: Destination;
  /** An upgrade counts as create, with every method. */
  verb: string;
  group: string;
  resource: string;
  subresource: string;
  /** Empty for cluster-scoped resources and across all namespaces. */
  namespace: string;
  /** The resource is namespaced and the request names no namespace. Where this is unknown, say true: it allows less. */
  allNamespaces?: boolean;
  /** The name in the URL, or in `fieldSelector=metadata.name=` of a list or watch. */
  name: string;
  /** A kubeconfig with client certificate is asked for. */
  clientCert?: boolean;
  /** The cluster that the body of an agent's report names. Before the body is read it is absent, and means any cluster. */
  cluster?: string;
}

export interface PathRequest {
  isResource: false;
  target: Destination;
  /** The method in lower case. */
  verb: string;
  /** Below the prefix of the target, as sent. */
  path: string;
}

export type AccessRequest = ScopedRequest | PathRequest;

export const managementGroup = 'management.platform';
export const keyResource = 'ownedaccesskeys';
export const tokenResource = 'directclusterendpointtokens';
export const instanceResource = 'virtualclusterinstances';
export const revocationResource = 'revocations';
export const reportResource = 'agentreports';

const projectPrefix = 'p-';

export function namespaceOfProject(project: string): string {
  return projectPrefix + project;
}

/** `*` among projects matches every namespace with the prefix, even if no project name follows. */
export function hasProjectPrefix(namespace: string): boolean {
  return namespace.startsWith(projectPrefix);
}

/** Undefined for a namespace that belongs to no project. */
export function projectOfNamespace(namespace: string): string | undefined {
  return hasProjectPrefix(namespace) && namespace.length > projectPrefix.length
    ? namespace.slice(projectPrefix.length)
    : undefined;
}

export function isManagementResource(request: AccessRequest, resource: string): request is ScopedRequest {
  return (
    request.isResource &&
    request.target.kind === 'Management' &&
    request.group === managementGroup &&
    request.resource === resource
  );
}

/** No step is empty, `.`, `..` or percent-encoded; such a path could mean another one behind a proxy. */
export function isPlainPath(path: string): boolean {
  if (path === '/') return true;
  if (!path.startsWith('/') || path.includes('%')) return false;
  const steps = path.slice(1).split('/');
  // Discovery clients send one slash at the end.
  if (steps.length > 1 && steps.at(-1) === '') steps.pop();
  return steps.every((step) => step !== '' && step !== '.' && step !== '..');
}

/** In words, for explanations and denials. */
export function requestText(request: AccessRequest): string {
  if (!request.isResource) return `${request.verb} ${request.path}`;
  const { verb, group, resource, subresource, namespace, name } = request;
  const what = `${resource}${subresource === '' ? '' : `/${subresource}`}${group === '' ? '' : `.${group}`}`;
  return `${verb} ${what}${name === '' ? '' : ` ${name}`}${namespace === '' ? '' : ` in ${namespace}`}`;
}
