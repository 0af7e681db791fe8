// Requests for a credential that are refused whatever their body says, because everything that they can make would be wider than its
// maker. A review must say no to them. In: the credential of the maker. Out: the reason, in words. Pure.
import { covers } from './covers.ts';
import type { Subject } from './directory.ts';
import {
  type AccessRequest,
  instanceResource,
  isManagementResource,
  keyResource,
  projectOfNamespace,
} from './request.ts';
import { all, type MaybeScope, type Scope } from './scope.ts';

interface Maker {
  subject: Subject;
  /** Its own, and those of the keys that made it. */
  scopes: readonly MaybeScope[];
}

/** Length of a chain of keys, each made by the one before. A longer chain is more than a person can follow, so it is refused. */
export const maxMakers = 8;

const chainEnds = `a chain of keys that make each other ends after ${maxMakers}`;

/** Undefined = some key can be made. */
export function whyNoKey({ subject, scopes }: Maker, request: AccessRequest): string | undefined {
  if (!isManagementResource(request, keyResource) || request.subresource !== '' || request.verb !== 'create')
    return undefined;
  const isScoped = scopes.some((scope) => scope !== undefined);
  if (isScoped && hasMostMakers(scopes)) return chainEnds;
  // An administrator with a scope makes keys as anybody else does.
  const isFree = subject.isAdministrator && !isScoped;
  if (subject.kind !== 'subject' || isFree || subject.teams.size > 0) return undefined;
  return 'only an administrator makes keys of a subject';
}

/** Of the key that a kubeconfig without a client certificate holds; undefined = it can be made. */
export function whyNoKubeconfigKey({ scopes }: Maker, request: AccessRequest): string | undefined {
  if (!isManagementResource(request, instanceResource) || request.clientCert === true) return undefined;
  if (request.subresource !== 'kubeconfig' || request.verb !== 'create') return undefined;
  if (hasMostMakers(scopes)) return chainEnds;
  if (covers(scopes, scopeOf(request)).covered) return undefined;
  return 'its kubeconfig holds a key for the whole virtual cluster, which no single entry of the scope of the calling key covers';
}

function hasMostMakers(scopes: Maker['scopes']): boolean {
  return scopes.length > maxMakers;
}

/** Without a name, of all virtual clusters; outside a project, of those in all projects. */
function scopeOf({ namespace, name }: { namespace: string; name: string }): Scope {
  const project = projectOfNamespace(namespace);
  const path = 'spec.scope.virtualClusters[0]';
  if (project === undefined) return { entries: [{ kind: 'project', project: all, path }] };
  return { entries: [{ kind: 'virtualCluster', project, virtualCluster: name === '' ? all : name, path }] };
}
