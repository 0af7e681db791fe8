// A right that an account needs, and the namespaces in which it has lost everything. Pure.

export interface Permission {
  verb: 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete';
  /** API group, '' for the core group. */
  group: string;
  resource: string;
  /** Undefined = in all namespaces. */
  namespace: string | undefined;
  /** Undefined = on objects of any name. */
  name?: string;
}

/**
 * The namespaces of which all is lost, each with what that is: one that is being deleted loses its Roles before it ends, and to ask for
 * rules of a Role would mislead.
 */
export function lostNamespaces<T extends { namespace?: string | undefined }>(
  all: readonly T[],
  isLost: (one: T) => boolean,
): ReadonlyMap<string, readonly T[]> {
  const lost = new Map<string, readonly T[]>();
  for (const [namespace, theirs] of Map.groupBy(all, (one) => one.namespace))
    if (namespace !== undefined && theirs.every(isLost)) lost.set(namespace, theirs);
  return lost;
}
