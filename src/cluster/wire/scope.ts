// What part of a cluster a window looks at, and the paths that ask for it.
import type { ResourceRef } from '../write/writer.ts';

export interface Scope {
  ref: ResourceRef;
  /** Undefined = all namespaces, or a resource that has none. */
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

/** No resourceVersion: the server then answers with what is true now, not with what a cache remembers. */
export function listPath(scope: Scope, page: { limit: number; continueToken: string | undefined }): string {
  return withQuery(scope, {
    limit: String(page.limit),
    ...(page.continueToken === undefined ? {} : { continue: page.continueToken }),
  });
}

export function watchPath(scope: Scope, watch: { resourceVersion: string; timeoutSeconds: number }): string {
  return withQuery(scope, {
    watch: '1',
    allowWatchBookmarks: 'true',
    resourceVersion: watch.resourceVersion,
    timeoutSeconds: String(watch.timeoutSeconds),
  });
}

function withQuery(scope: Scope, parameters: Record<string, string>): string {
  const query = new URLSearchParams();
  if (scope.labelSelector !== undefined) query.set('labelSelector', scope.labelSelector);
  if (scope.fieldSelector !== undefined) query.set('fieldSelector', scope.fieldSelector);
  for (const [name, value] of Object.entries(parameters)) query.set(name, value);
  return `${collectionPath(scope.ref, scope.namespace)}?${query.toString()}`;
}
