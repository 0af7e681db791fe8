// The managed roles of a scope (D 2.5, N 7). All of them concern Management alone.
import type { MatrixConfiguration, MatrixRequest, MatrixScope } from '../matrix-case.ts';
import { isOnInstances, ownGroup, readVerbs } from './request.ts';
import { isEmpty } from './sentence.ts';

type RoleEntry = NonNullable<MatrixScope['roles']>[number];

export function roleAllows(entry: RoleEntry, request: MatrixRequest, configuration: MatrixConfiguration): boolean {
  if (request.target.kind !== 'Management') return false;
  switch (entry.role) {
    // "platform-cli: get, list, watch of virtualclusterinstances without subresource".
    case 'platform-cli':
      return readsInstances(entry, request, readVerbs);
    // "vcluster: get of the same".
    case 'vcluster':
      return readsInstances(entry, request, ['get']);
    case 'agent':
      return agentAllows(entry, request, configuration);
    // "metrics-reader: get of /metrics; nothing when narrowed".
    case 'metrics-reader':
      return !request.isResource && request.verb === 'get' && request.path === '/metrics' && !isNarrowed(entry);
    default:
      // D 2.5: "`network-peer`, `workspace`, `metrics-writer` accepted, nothing beyond the base".
      return false;
  }
}

/** D 2.5: "A role's `projects` and `virtualClusters` (`project/name`) form one union that narrows the role, both empty = all." */
function isNarrowed(entry: RoleEntry): boolean {
  return !isEmpty(entry.projects) || !isEmpty(entry.virtualClusters);
}

function readsInstances(entry: RoleEntry, request: MatrixRequest, verbs: readonly string[]): boolean {
  if (!isOnInstances(request) || request.subresource !== '' || !verbs.includes(request.verb)) return false;
  // "Not narrowed: across all namespaces too."
  if (!isNarrowed(entry)) return true;
  // "Narrowed: by project to its namespace, by `project/name` to requests with that name."
  const byProject = (entry.projects ?? []).some((project) => request.namespace === `p-${project}`);
  const byName = (entry.virtualClusters ?? []).some((text) => `p-${text}` === `${request.namespace}/${request.name}`);
  return byProject || byName;
}

/** "agent: list and watch of revocations, create of agentreports, without namespace and subresource". */
function agentAllows(entry: RoleEntry, request: MatrixRequest, configuration: MatrixConfiguration): boolean {
  if (!request.isResource || request.group !== ownGroup) return false;
  if (request.namespace !== '' || request.subresource !== '') return false;
  const reads = request.resource === 'revocations' && ['list', 'watch'].includes(request.verb);
  const writes = request.resource === 'agentreports' && request.verb === 'create';
  if (!reads && !writes) return false;
  if (!isNarrowed(entry)) return true;
  const clusters = clustersOf(entry, configuration);
  return request.cluster === undefined ? clusters.size > 0 : clusters.has(request.cluster);
}

/** "narrowed: the clusters that the spaces of the named projects, or of the projects of the named virtual clusters, are in". */
function clustersOf(entry: RoleEntry, configuration: MatrixConfiguration): Set<string> {
  const named = new Set(entry.projects ?? []);
  for (const text of entry.virtualClusters ?? []) named.add(text.split('/')[0] ?? '');
  const clusters = new Set<string>();
  for (const project of configuration.projects)
    if (named.has(project.name)) for (const space of project.spaces ?? []) clusters.add(space.cluster);
  return clusters;
}
