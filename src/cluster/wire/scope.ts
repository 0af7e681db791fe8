// Names resources and the part of a cluster that a window shows, and builds the request paths for both.

/** A resource by its plural name, group, version and kind, e.g. { path: 'api/v1', resource: 'endpoints', kind: 'Endpoints' }. */
export interface ResourceRef {
  /** `api/v1` or `apis/<group>/<version>`. */
  path: string;
  resource: string;
  /** The kind of one object: an answer of another kind is not about this resource. */
  kind: string;
}

/** The apiVersion of the resource: `v1` or `<group>/<version>`. */
export function apiVersionOf({ path }: Pick<ResourceRef, 'path'>): string {
  return path.replace(/^apis?\//, '');
}

export const endpointsResource: ResourceRef = { path: 'api/v1', resource: 'endpoints', kind: 'Endpoints' };
export const namespacesResource: ResourceRef = { path: 'api/v1', resource: 'namespaces', kind: 'Namespace' };
export const servicesResource: ResourceRef = { path: 'api/v1', resource: 'services', kind: 'Service' };
export const eventsResource: ResourceRef = { path: 'api/v1', resource: 'events', kind: 'Event' };
export const leasesResource: ResourceRef = { path: 'apis/coordination.k8s.io/v1', resource: 'leases', kind: 'Lease' };

export interface WindowScope {
  ref: ResourceRef;
  /** Undefined = all namespaces, or a resource without namespaces. */
  namespace: string | undefined;
  labelSelector: string | undefined;
  fieldSelector: string | undefined;
}

export function collectionPath(ref: ResourceRef, namespace: string | undefined): string {
  return namespace === undefined
    ? `/${ref.path}/${ref.resource}`
    : `/${ref.path}/namespaces/${encodeURIComponent(namespace)}/${ref.resource}`;
}

export function objectPath(ref: ResourceRef, place: { namespace: string; name: string }): string {
  const namespace = place.namespace === '' ? undefined : place.namespace;
  return `${collectionPath(ref, namespace)}/${encodeURIComponent(place.name)}`;
}

/** Without a resourceVersion the server answers with its current state; with one it may answer from an old cache. */
export function listPath(scope: WindowScope, page: { limit: number; continueToken: string | undefined }): string {
  return withQuery(scope, {
    limit: String(page.limit),
    ...(page.continueToken === undefined ? {} : { continue: page.continueToken }),
  });
}

export function watchPath(scope: WindowScope, watch: { resourceVersion: string; timeoutSeconds: number }): string {
  return withQuery(scope, {
    watch: '1',
    allowWatchBookmarks: 'true',
    resourceVersion: watch.resourceVersion,
    timeoutSeconds: String(watch.timeoutSeconds),
  });
}

function withQuery(scope: WindowScope, parameters: Record<string, string>): string {
  const query = new URLSearchParams();
  if (scope.labelSelector !== undefined) query.set('labelSelector', scope.labelSelector);
  if (scope.fieldSelector !== undefined) query.set('fieldSelector', scope.fieldSelector);
  for (const [name, value] of Object.entries(parameters)) query.set(name, value);
  return `${collectionPath(scope.ref, scope.namespace)}?${query.toString()}`;
}
