// Turns method and URL into a request for the evaluator: the target server, and a resource or a path there. Authorization and
// routing use the same result: a path that two readers could understand differently is refused here, and the query is written again.
import { queryFault, writeQuery } from '../../apiserver/request/query.ts';
import {
  methodOf,
  outsideTarget,
  parseTarget,
  splitUrl,
  type Target,
  withSelectedName,
} from '../../apiserver/request/target.ts';
import { badRequest, pathNotFound, type Status } from '../../object/meta/status.ts';
import { type AccessRequest, type Destination, instanceResource } from './request.ts';

export type Classified =
  /** `rest` is the path below the prefix of the target, and the query as it was judged: this is served here or sent on. */
  | { kind: 'request'; request: AccessRequest; prefix: string; rest: string }
  | { kind: 'notFound' }
  | { kind: 'bad'; message: string };

export interface ArrivedRequest {
  method: string;
  /** The URL as the client sent it, without the path of the base address. */
  url: string;
  /** The request has an Upgrade header. */
  isUpgrade: boolean;
}

const management = '/kubernetes/management';
const proxiedPath = /^\/kubernetes\/(?:cluster|project)(?:[/?]|$)/;

/** A request to a cluster behind this server, as its target carries it through the chain. */
export interface Proxied {
  request: AccessRequest;
  prefix: string;
  rest: string;
  /** Why nothing can be asked for there: the answer once the sender is proved. */
  fault?: Status;
}

/** The part of a target that says which cluster behind this server it is about; undefined = this server itself. */
export function proxiedIn(target: Target & { proxied?: Proxied }): Proxied | undefined {
  return target.proxied;
}

export function isProxiedUrl(url: string): boolean {
  return proxiedPath.test(url);
}

/**
 * The classification in the form that goes through the chain of filters. A `fault` is answered before anybody looks who sent the
 * request. `isLocal`: the request came through the socket of this machine, which leads to no cluster.
 */
export function targetOf(asked: ArrivedRequest & { isLocal?: boolean }): {
  target: Target & { proxied?: Proxied };
  fault?: Status;
} {
  const { method, url, isLocal = false } = asked;
  const isProxied = isProxiedUrl(url) && !isLocal;
  const own = isProxied ? asked : { ...asked, method: methodOf({ method, url }, 'strict') };
  const read = readAsked(own);
  const outside = () => outsideTarget(own.method, splitUrl(url).path);
  switch (read.kind) {
    case 'request': {
      const { request, prefix, rest, target } = read;
      if (isProxied) return { target: { ...target, proxied: { request, prefix, rest } } };
      return { target: request.target.kind === 'Management' ? target : outside() };
    }
    case 'notFound':
      return { target: isProxied ? unclear(asked, pathNotFound()) : outside() };
    case 'bad': {
      const fault = badRequest(read.message);
      return isProxied ? { target: unclear(asked, fault) } : { target: outside(), fault };
    }
    default:
      return read satisfies never;
  }
}

/** For the audit log: the path of a request that could not be classified. */
function unclear({ method, url }: ArrivedRequest, fault: Status): Target & { proxied: Proxied } {
  const target = parseTarget(method, splitUrl(url).path);
  const request = {
    ...{ isResource: false as const, target: { kind: 'Management' as const } },
    ...{ verb: method.toLowerCase(), path: target.path },
  };
  return { ...target, proxied: { request, prefix: '', rest: url, fault } };
}

export function classify(asked: ArrivedRequest): Classified {
  const read = readAsked(asked);
  if (read.kind !== 'request') return read;
  const { target: _target, ...classified } = read;
  return classified;
}

type Read = Exclude<Classified, { kind: 'request' }> | (Extract<Classified, { kind: 'request' }> & { target: Target });

function readAsked({ method, url, isUpgrade }: ArrivedRequest): Read {
  const { path, query } = splitUrl(url);
  if (!isUnambiguous(path)) return { kind: 'bad', message: notPlain(path) };
  const fault = queryFault(query);
  if (fault !== undefined) return { kind: 'bad', message: fault };
  const found = destinationOf(path);
  if (found === undefined) return { kind: 'notFound' };
  const target = parseTarget(method, `${found.rest}?${query}`);
  // Behind `proxy` the query is for another program, and kube-apiserver passes it on unread.
  const isUnread = target.subresource === 'proxy' && query !== '';
  const rest = found.rest + (isUnread ? `?${query}` : writeQuery(target.query));
  // `rest` is the end of the path, except that a bare prefix stands for `/` below it.
  const prefix = path.endsWith(found.rest) ? path.slice(0, path.length - found.rest.length) : path;
  if (!target.isResource) {
    if (isUpgrade && found.target.kind !== 'Management')
      return { kind: 'bad', message: 'a path without a resource is not upgraded to another protocol' };
    const request = { isResource: false as const, target: found.target, verb: target.verb, path: target.path };
    return { kind: 'request', request, prefix, rest, target };
  }
  if (isUpgrade && (target.verb === 'list' || target.verb === 'watch'))
    return { kind: 'bad', message: 'a list or watch is not upgraded to another protocol' };
  return { kind: 'request', request: resourceRequest(found.target, target, isUpgrade), prefix, rest, target };
}

/** The same for a target on the management API that has been parsed already, as a review names it. */
export function managementRequest(target: Target): AccessRequest {
  const destination: Destination = { kind: 'Management' };
  if (target.isResource) return resourceRequest(destination, target, false);
  return { isResource: false, target: destination, verb: target.verb, path: target.path };
}

/** The same for a resource of a proxied API that a review names. */
export function proxiedRequest(
  destination: Destination,
  asked: { verb: string; group: string; resource: string; subresource: string; namespace: string; name: string },
): AccessRequest {
  const what = { isResource: true as const, target: destination, ...asked };
  const { verb, group, resource, namespace, name } = asked;
  const isWithoutName = namespace === '' && name === '' && verb !== 'create';
  return isWithoutName && mayBeNamespaced(destination, group, resource) ? { ...what, allNamespaces: true } : what;
}

function resourceRequest(destination: Destination, target: Target, isUpgrade: boolean): AccessRequest {
  const { group, resource, subresource, namespace, name } = withSelectedName(target);
  const what = { isResource: true as const, target: destination, group, resource, subresource, namespace, name };
  // An upgraded connection carries commands, so it counts as create even when GET opened it.
  const verb = isUpgrade ? 'create' : target.verb;
  const isWithoutName = namespace === '' && target.name === '' && target.verb !== 'create';
  return isWithoutName && mayBeNamespaced(destination, group, resource)
    ? { ...what, verb, allNamespaces: true }
    : { ...what, verb };
}

/** On proxied APIs the kinds are unknown, and an unknown one counts as namespaced: that allows less. */
function mayBeNamespaced(destination: Destination, group: string, resource: string): boolean {
  if (destination.kind === 'Management') return resource === instanceResource;
  return !clusterScoped.has(group === '' ? resource : `${resource}.${group}`);
}

/** Well-known kinds without namespace, so that rules for requests without namespace can list them. */
const clusterScoped: ReadonlySet<string> = new Set([
  'namespaces',
  'nodes',
  'persistentvolumes',
  'apiservices.apiregistration.k8s.io',
  'clusterrolebindings.rbac.authorization.k8s.io',
  'clusterroles.rbac.authorization.k8s.io',
  'customresourcedefinitions.apiextensions.k8s.io',
  'ingressclasses.networking.k8s.io',
  'priorityclasses.scheduling.k8s.io',
  'runtimeclasses.node.k8s.io',
  'storageclasses.storage.k8s.io',
]);

function destinationOf(path: string): { target: Destination; rest: string } | undefined {
  if (path === management || path.startsWith(`${management}/`))
    return { target: { kind: 'Management' }, rest: path.slice(management.length) || '/' };
  const [, root, kind, first, second, third, ...steps] = path.split('/');
  if (root !== 'kubernetes' || first === undefined || first === '') return undefined;
  if (kind === 'cluster') {
    const below = [second, third, ...steps].filter((step) => step !== undefined);
    return { target: { kind: 'Cluster', cluster: first }, rest: `/${below.join('/')}` };
  }
  if (kind !== 'project' || third === undefined || third === '') return undefined;
  const rest = `/${steps.join('/')}`;
  if (second === 'virtualcluster')
    return { target: { kind: 'ProjectVirtualCluster', project: first, virtualCluster: third }, rest };
  if (second === 'space') return { target: { kind: 'ProjectSpace', project: first, space: third }, rest };
  return undefined;
}

/** kube-apiserver takes `a%5Cb` for a name, but a proxy on the way to it may take the backslash for a slash. */
function notPlain(path: string): string {
  const general = 'the path is not plain: no empty, dot or encoded steps';
  return /\\|%5c/i.test(path)
    ? `${general}, and no backslash: a name that holds one is not reached through this server`
    : general;
}

/** Names with a percent sign are legal (`system%3Anode`); slashes, dots and control characters behind one are tricks. */
function isUnambiguous(path: string): boolean {
  if (!path.startsWith('/') || /[\\\p{Cc} #]/u.test(path)) return false;
  const steps = path.slice(1).split('/');
  // Discovery clients send one slash at the end.
  if (steps.length > 1 && steps.at(-1) === '') steps.pop();
  return path === '/' || steps.every(isUnambiguousStep);
}

function isUnambiguousStep(step: string): boolean {
  if (step === '' || step === '.' || step === '..') return false;
  if (!step.includes('%')) return true;
  let decoded: string;
  try {
    decoded = decodeURIComponent(step);
  } catch {
    return false;
  }
  // Decoded twice it must be the same, or a second reader would see another path.
  return decoded !== '.' && decoded !== '..' && !/[/\\%\p{Cc}]/u.test(decoded);
}
