// How a request of the authorisation matrix travels: method, URL and body. Some requests of the matrix have no URL, because
// they only exist between two parts of a program; for these there is no answer here.
import type { MatrixRequest, MatrixTarget } from '../matrix-case.ts';

export interface WireRequest {
  method: string;
  path: string;
  body?: object;
  type?: string;
}

type ResourceRequest = Extract<MatrixRequest, { isResource: true }>;

export const managementPath = '/kubernetes/management';
const methods: Readonly<Record<string, string>> = {
  get: 'GET',
  list: 'GET',
  watch: 'GET',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETE',
};
const clusterScoped: ReadonlySet<string> = new Set([
  ...['ownedaccesskeys', 'directclusterendpointtokens', 'nodes', 'namespaces'],
  ...['selfsubjectaccessreviews', 'selfsubjectrulesreviews', 'subjectaccessreviews', 'selfsubjectreviews'],
]);

/** Where the API of a target begins. */
export function prefixOf(target: MatrixTarget): string {
  switch (target.kind) {
    case 'Management':
      return managementPath;
    case 'Cluster':
      return `/kubernetes/cluster/${target.cluster}`;
    case 'ProjectSpace':
      return `/kubernetes/project/${target.project}/space/${target.space}`;
    case 'ProjectVirtualCluster':
      return `/kubernetes/project/${target.project}/virtualcluster/${target.virtualCluster}`;
  }
}

export function wireRequestOf(request: MatrixRequest): WireRequest | undefined {
  if (request.isResource) return hasUrl(request) ? resourceRequest(request) : undefined;
  // An odd path is 400 for everybody, which is a test of its own.
  if (/\/\/|\/\.\.?(\/|$)|%/.test(request.path) || !request.path.startsWith('/')) return undefined;
  return { method: request.verb.toUpperCase(), path: prefixOf(request.target) + request.path };
}

function hasUrl(request: ResourceRequest): boolean {
  const { verb, resource, subresource, namespace, name, allNamespaces, clientCert } = request;
  if (methods[verb] === undefined) return false;
  // The body of a kubeconfig says whether it wants a certificate; that is judged behind the authorisation.
  if (clientCert === true) return false;
  // As Kubernetes has it, the URL of a namespace says that it lies in itself.
  if (isOneNamespace(request)) {
    if (namespace !== name) return false;
    // A key or a token in a namespace is 404 for everybody, which is a test of its own.
  } else if (clusterScoped.has(resource) && namespace !== '') return false;
  if (subresource !== '') {
    if (!['get', 'create', 'update', 'patch', 'delete'].includes(verb) || name === '') return false;
  } else {
    if (['get', 'update', 'patch', 'delete'].includes(verb) !== (name !== '') && !isSelection(verb)) return false;
  }
  // A URL cannot say that a namespaced object has no namespace, and a POST without namespace is not one to all of them.
  if (!clusterScoped.has(resource) && namespace === '')
    return allNamespaces === true && ['list', 'watch', 'deletecollection'].includes(verb);
  return true;
}

function isOneNamespace({ resource, name, verb }: ResourceRequest): boolean {
  return resource === 'namespaces' && name !== '' && !isSelection(verb);
}

function isSelection(verb: string): boolean {
  return verb === 'list' || verb === 'watch';
}

function resourceRequest(request: ResourceRequest): WireRequest {
  const { verb, group, resource, subresource, namespace, name } = request;
  const root = group === '' ? '/api/v1' : `/apis/${group}/v1`;
  const place = namespace === '' || isOneNamespace(request) ? root : `${root}/namespaces/${namespace}`;
  const steps = [place, resource];
  if (name !== '' && !isSelection(verb)) steps.push(name);
  if (subresource !== '') steps.push(subresource);
  const query = queryOf(verb, name);
  const path = `${prefixOf(request.target)}${steps.join('/')}${query.size > 0 ? `?${query}` : ''}`;
  const method = methods[verb] as string;
  if (!['POST', 'PUT', 'PATCH'].includes(method)) return { method, path };
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  return { method, path, body: bodyOf(request), type };
}

function queryOf(verb: string, name: string): URLSearchParams {
  const query = new URLSearchParams();
  if (verb === 'watch') query.set('watch', 'true');
  if (isSelection(verb) && name !== '') query.set('fieldSelector', `metadata.name=${name}`);
  // Every check is made and nothing is changed, so that each cell finds the world of its case.
  if (!isSelection(verb) && verb !== 'get') query.set('dryRun', 'All');
  return query;
}

function bodyOf({ verb, resource, subresource, name }: ResourceRequest): object {
  if (subresource !== '' || resource !== 'ownedaccesskeys') return {};
  if (verb === 'create') return { metadata: { generateName: 'made-' }, spec: {} };
  return verb === 'update' ? { metadata: { name }, spec: {} } : { metadata: { labels: { touched: 'yes' } } };
}
