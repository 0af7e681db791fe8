// Parses the method and URL of a request into a Target: verb, group, version, namespace, resource, name, subresource.
// Holds the grammar of API URLs. Must never know which resources exist.
import type { IncomingMessage } from 'node:http';
import type { Dialect } from './dialect.ts';
import { isTrue, readQuery, selectedName } from './query.ts';

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
  /** The path as sent, without the server's prefix; empty when it lies outside. */
  path: string;
  /** The path as sent, when it lies outside of the prefix. */
  outside?: string;
  group: string;
  version: string;
  /** Empty = cluster scope, or all namespaces. */
  namespace: string;
  resource: string;
  name: string;
  subresource: string;
  /** A list or watch of this object alone: a right on named objects allows it. */
  selected?: string;
  /** The path goes on below the subresource, as in `nodes/n/proxy/metrics`: it needs the right to the subresource. */
  isDeeper?: true;
  query: URLSearchParams;
}

const noQuery = new URLSearchParams();

/** `query` without its question mark. */
export function splitUrl(url: string): { path: string; query: string } {
  const mark = url.indexOf('?');
  return mark < 0 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
}

export function parseTarget(method: string, url: string, prefix = ''): Target {
  const parts = splitUrl(url);
  const query = parts.query === '' ? noQuery : readQuery(parts.query);
  const path = prefix === '' ? parts.path : pathBelow(prefix, parts.path);
  if (path === '') return outsideTarget(method, parts.path, query);
  const steps = path.split('/');
  if (steps[1] === 'api' && steps.length > 3) return resourceTarget(method, path, query, '', steps, 2);
  if (steps[1] === 'apis' && steps.length > 4) return resourceTarget(method, path, query, part(steps, 2), steps, 3);
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

export function outsideTarget(method: string, path: string, query = noQuery): Target {
  return { ...plainTarget(method, '', query), outside: path };
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
    // Like the real server: here only a name in the path counts, not one in the selector.
    const watched = { group, version, namespace, resource, name: '', selected: name, subresource: '', ...deeper };
    return { isResource: true, verb: 'watch', path, ...watched, query: narrowed };
  }
  const verb = resourceVerb(method, name, query);
  const selected = verb === 'list' || verb === 'watch' ? { selected: selectedName(query) } : undefined;
  const named = { group, version, namespace, resource, name, ...selected, subresource: part(rest, 2), ...deeper };
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

/** The target as rights are judged on it; the request itself stays a list or a watch. */
export function withSelectedName(target: Target): Target {
  const { name, selected = '' } = target;
  return name === '' && selected !== '' ? { ...target, name: selected } : target;
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

/** The strict dialect serves HEAD as GET; Node drops the body. A watch has no end, so HEAD of a watch stays refused. */
export function methodOf(
  { method = 'GET', url = '' }: Pick<IncomingMessage, 'method' | 'url'>,
  dialect: Dialect,
): string {
  const isHead = method === 'HEAD' && dialect === 'strict';
  const { path, query } = splitUrl(url);
  return isHead && !isTrue(readQuery(query).get('watch')) && !path.includes('/watch/') ? 'GET' : method;
}
