// Parses the method and URL of a request into a Target: verb, group, version, namespace, resource, name, subresource.
// Holds the grammar of API URLs. Must never know which resources exist.

export type Verb =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'
  | 'deletecollection'
  /** Non-resource requests keep their method, in lower case. */
  | 'head'
  | 'post'
  | 'put'
  | 'options';

export interface Target {
  isResource: boolean;
  verb: Verb;
  /** The path as sent, without the server's prefix. */
  path: string;
  group: string;
  version: string;
  /** Empty = cluster scope, or all namespaces. */
  namespace: string;
  resource: string;
  name: string;
  subresource: string;
  /** The path goes on below the subresource, as in `nodes/n/proxy/metrics`: it needs the right to the subresource. */
  isDeeper?: true;
  query: URLSearchParams;
}

const noQuery = new URLSearchParams();

export function parseTarget(method: string, url: string, prefix = ''): Target {
  const questionMark = url.indexOf('?');
  let path = questionMark < 0 ? url : url.slice(0, questionMark);
  const query = questionMark < 0 ? noQuery : new URLSearchParams(url.slice(questionMark + 1));
  if (prefix !== '') path = pathBelow(prefix, path);
  const parts = path.split('/');
  if (parts[1] === 'api' && parts.length > 3) return resourceTarget(method, path, query, '', parts, 2);
  if (parts[1] === 'apis' && parts.length > 4) return resourceTarget(method, path, query, part(parts, 2), parts, 3);
  return plainTarget(method, path, query);
}

/** Empty when the path is outside the prefix: `/managementfoo` is outside `/management`. */
function pathBelow(prefix: string, path: string): string {
  if (path === prefix) return '/';
  return path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : '';
}

function plainTarget(method: string, path: string, query: URLSearchParams): Target {
  const verb = method.toLowerCase() as Verb;
  return { ...noResource, isResource: false, verb, path, query };
}

const noResource = { group: '', version: '', namespace: '', resource: '', name: '', subresource: '' };

/** `at` is the index of the version; after it comes [namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE]]. */
function resourceTarget(
  method: string,
  path: string,
  query: URLSearchParams,
  group: string,
  parts: string[],
  at: number,
): Target {
  const version = part(parts, at);
  const rest = parts.slice(at + 1);
  // Old clients ask for a watch with a path prefix instead of `?watch=true`.
  const isWatchPath = rest[0] === 'watch' && method === 'GET';
  if (isWatchPath) rest.shift();
  // Like the real server: ignore a trailing slash, and treat a path with an empty segment as a non-resource path.
  if (rest.at(-1) === '') rest.pop();
  if (rest.length === 0 || rest.includes('')) return plainTarget(method, path, query);
  let namespace = '';
  // namespaces/x/status and /finalize are subresources of the namespace; every other path names objects in the namespace.
  if (rest[0] === 'namespaces' && rest.length > 2 && rest[2] !== 'status' && rest[2] !== 'finalize') {
    namespace = part(rest, 1);
    rest.splice(0, 2);
  } else if (rest[0] === 'namespaces' && rest.length > 1) {
    namespace = part(rest, 1);
  }
  const deeper = rest.length > 3 ? { isDeeper: true as const } : undefined;
  const name = part(rest, 1);
  const resource = part(rest, 0);
  if (isWatchPath) {
    const narrowed = new URLSearchParams(query);
    if (name !== '') narrowed.set('fieldSelector', `metadata.name=${name}`);
    const watched = { group, version, namespace, resource, name: '', subresource: '', ...deeper };
    return { isResource: true, verb: 'watch', path, ...watched, query: narrowed };
  }
  const verb = resourceVerb(method, name, query);
  const named = { group, version, namespace, resource, name, subresource: part(rest, 2), ...deeper };
  return { isResource: true, verb, path, ...named, query };
}

function resourceVerb(method: string, name: string, query: URLSearchParams): Verb {
  switch (method) {
    case 'GET':
      if (name !== '') return 'get';
      return isTrue(query.get('watch')) ? 'watch' : 'list';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name === '' ? 'deletecollection' : 'delete';
    default:
      return method.toLowerCase() as Verb;
  }
}

/** Reads a query boolean as the real server does: true when present and neither `false` nor `0`. */
export function isTrue(value: string | null): boolean {
  return value !== null && value !== 'false' && value !== '0';
}

function part(parts: readonly string[], index: number): string {
  const text = parts[index] ?? '';
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
