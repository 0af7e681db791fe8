// One request of a daemon as the fault proxy sees it: what it is about, by its method and path alone.
import type { RigSide } from '../stage/rig-cluster.ts';

export type PassingVerb =
  | 'list'
  | 'watch'
  | 'get'
  | 'create'
  | 'update'
  | 'delete'
  /** Any request about the lease. */
  | 'lease'
  /** Events for people. */
  | 'event'
  /** Version, rights and discovery. */
  | 'other';

export interface Passing {
  readonly id: number;
  readonly side: RigSide;
  readonly daemon: string;
  readonly method: string;
  readonly path: string;
  readonly verb: PassingVerb;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly query: URLSearchParams;
  readonly contentType: string;
  readonly body: string;
  readonly atMs: number;
  /** A list of heads, by which the daemon proves its caches. */
  readonly isProof: boolean;
  /** Undefined until the API server has answered. */
  status?: number;
  /** What a fault did to it. */
  fate?: string;
}

/** What makes two requests of a daemon a list and a watch of the same objects. */
export function scopeOf({ daemon, side, path, query }: Passing): string {
  return [daemon, side, path.split('?')[0], query.get('labelSelector'), query.get('fieldSelector')].join(' ');
}

export interface RawRequest {
  id: number;
  side: RigSide;
  daemon: string;
  method: string;
  path: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: string;
  atMs: number;
}

export function passingOf({ headers, ...raw }: RawRequest): Passing {
  const [pathname = '', search] = raw.path.split('?', 2);
  const searchParams = new URLSearchParams(search);
  const parts = pathname.split('/').filter((part) => part !== '');
  const rest = parts[0] === 'api' ? parts.slice(2) : parts[0] === 'apis' ? parts.slice(3) : [];
  const isWithin = rest[0] === 'namespaces' && rest.length > 2;
  const [resource = '', name = ''] = isWithin ? rest.slice(2) : rest;
  return {
    ...raw,
    verb: verbOf(raw.method, { resource, name, query: searchParams }),
    resource,
    namespace: isWithin ? (rest[1] ?? '') : '',
    name,
    query: searchParams,
    contentType: String(headers['content-type'] ?? ''),
    isProof: String(headers['accept'] ?? '').includes('PartialObjectMetadata'),
  };
}

function verbOf(
  method: string,
  { resource, name, query }: { resource: string; name: string; query: URLSearchParams },
): PassingVerb {
  if (resource === '' || resource.endsWith('reviews')) return 'other';
  if (resource === 'leases') return 'lease';
  if (resource === 'events') return 'event';
  if (method === 'GET' && query.get('watch') !== null) return 'watch';
  if (method === 'GET') return name === '' ? 'list' : 'get';
  if (method === 'POST') return 'create';
  return method === 'DELETE' ? 'delete' : 'update';
}

export function isWrite({ verb }: Passing): boolean {
  return verb === 'create' || verb === 'update' || verb === 'delete';
}

/** One event of a watch. */
export interface WatchedLine {
  readonly type: string;
  readonly resource: string;
  readonly key: string;
  readonly uid: string;
  readonly revision: string;
}

export function watchedLine(text: string, resource: string): WatchedLine {
  const { type, object } = JSON.parse(text) as {
    type: string;
    object: { metadata?: { namespace?: string; name?: string; uid?: string; resourceVersion?: string } };
  };
  const { namespace = '', name = '', uid = '', resourceVersion: revision = '' } = object.metadata ?? {};
  return { type, resource, key: `${namespace}/${name}`, uid, revision };
}
