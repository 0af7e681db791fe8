// Decides whether one entry of a scope allows a request. Only rules and roles limit verbs; otherwise the subject's rights decide
// about verbs.
import type { Directory } from './directory.ts';
import { matchesPattern, namesProxy } from './patterns/resource-patterns.ts';
import { matchesURL } from './patterns/url-patterns.ts';
import {
  type AccessRequest,
  type Destination,
  hasProjectPrefix,
  instanceResource,
  isManagementResource,
  isPlainPath,
  namespaceOfProject,
  projectOfNamespace,
  reportResource,
  revocationResource,
  type ScopedRequest,
} from './request.ts';
import { all, type Entry, type RoleEntry, type RuleEntry } from './scope.ts';

export function matchesEntry(entry: Entry, request: AccessRequest, directory: Directory): boolean {
  if (!request.isResource && !isPlainPath(request.path)) return false;
  if (entry.kind === 'rule') return matchesRule(entry, request);
  if (entry.kind === 'role') return matchesRole(entry, request, directory);
  // The subresource proxy of a pod, service or node could reach resources that no list names.
  if (request.target.kind !== 'Management' && request.isResource && request.subresource === 'proxy') return false;
  if (request.target.kind === 'Management') return matchesManagement(entry, request);
  return reaches(entry, request.target);
}

type NamedEntry = Exclude<Entry, { kind: 'rule' } | { kind: 'role' }>;

function matchesManagement(entry: NamedEntry, request: AccessRequest): boolean {
  if (!request.isResource) return false;
  if (entry.kind === 'project') {
    if (entry.project === all) return hasProjectPrefix(request.namespace);
    return request.namespace === namespaceOfProject(entry.project);
  }
  if (entry.kind !== 'virtualCluster' || !isManagementResource(request, instanceResource)) return false;
  const isInProject = request.namespace === namespaceOfProject(entry.project);
  return isInProject && (entry.virtualCluster === all || entry.virtualCluster === request.name);
}

/** Whether a scope with this entry has anything to look for at a proxied API, so that discovery is open there. */
export function reaches(entry: Entry, target: Destination): boolean {
  switch (target.kind) {
    case 'Management':
      return true;
    case 'Cluster':
      if (entry.kind === 'rule') return ruleReaches(entry, target);
      return entry.kind === 'cluster' && (entry.cluster === all || entry.cluster === target.cluster);
    case 'ProjectSpace':
      if (entry.kind === 'rule') return ruleReaches(entry, target);
      if (entry.kind === 'space')
        return entry.project === target.project && (entry.space === all || entry.space === target.space);
      return entry.kind === 'project' && (entry.project === all || entry.project === target.project);
    case 'ProjectVirtualCluster':
      if (entry.kind === 'rule') return ruleReaches(entry, target);
      if (entry.kind === 'virtualCluster') {
        const isNamed = entry.virtualCluster === all || entry.virtualCluster === target.virtualCluster;
        return entry.project === target.project && isNamed;
      }
      return entry.kind === 'project' && (entry.project === all || entry.project === target.project);
    default:
      return target satisfies never;
  }
}

function matchesRole(entry: RoleEntry, request: AccessRequest, directory: Directory): boolean {
  if (request.target.kind !== 'Management') return false;
  switch (entry.role) {
    case 'platform-cli':
      return ['get', 'list', 'watch'].includes(request.verb) && isNarrowedInstance(entry, request);
    case 'vcluster':
      return request.verb === 'get' && isNarrowedInstance(entry, request);
    case 'agent':
      return isAgentRequest(entry, request, directory);
    case 'metrics-reader':
      // Metrics belong to no project, so that a role narrowed to projects does not include them.
      return !isNarrowed(entry) && !request.isResource && request.verb === 'get' && request.path === '/metrics';
    case 'network-peer':
    case 'workspace':
    case 'metrics-writer':
      return false;
    default:
      return entry.role satisfies never;
  }
}

function isNarrowed(entry: RoleEntry): boolean {
  return entry.projects.length > 0 || entry.virtualClusters.length > 0;
}

function isNarrowedInstance(entry: RoleEntry, request: AccessRequest): boolean {
  if (!isManagementResource(request, instanceResource) || request.subresource !== '') return false;
  if (!isNarrowed(entry)) return true;
  const project = projectOfNamespace(request.namespace);
  if (project === undefined) return false;
  return (
    entry.projects.includes(project) ||
    entry.virtualClusters.some((one) => one.project === project && one.name === request.name)
  );
}

/** An agent reads the revocations, which are the same for every cluster, and sends reports of its clusters. */
function isAgentRequest(entry: RoleEntry, request: AccessRequest, directory: Directory): boolean {
  const isReading = isManagementResource(request, revocationResource) && isRead(request);
  const isReport = isManagementResource(request, reportResource) && request.verb === 'create';
  if (!(isReading || isReport) || request.subresource !== '' || request.namespace !== '') return false;
  if (!isNarrowed(entry)) return true;
  const projects = [...entry.projects, ...entry.virtualClusters.map(({ project }) => project)];
  return projects.some((name) =>
    directory.projects
      .get(name)
      ?.spaces.some(({ cluster }) => request.cluster === undefined || request.cluster === cluster),
  );
}

function isRead({ verb }: AccessRequest): boolean {
  return verb === 'list' || verb === 'watch';
}

// Decides whether a deprecated rule allows a request: every condition in the rule must hold.
function matchesRule(rule: RuleEntry, request: AccessRequest): boolean {
  if (rule.verbs.length > 0 && !rule.verbs.includes(request.verb)) return false;
  if (!ruleReaches(rule, request.target)) return false;
  return request.isResource ? matchesResource(rule, request) : matchesPath(rule, request.path);
}

function ruleReaches(rule: RuleEntry, target: Destination): boolean {
  if (!rule.targets.has(target.kind)) return false;
  if (target.kind === 'Cluster') return rule.cluster === '' || rule.cluster === target.cluster;
  if (target.kind !== 'ProjectVirtualCluster' || rule.virtualClusters.length === 0) return true;
  const namespace = namespaceOfProject(target.project);
  return rule.virtualClusters.some(
    (one) =>
      (one.name === '' || one.name === target.virtualCluster) && (one.namespace === '' || one.namespace === namespace),
  );
}

function matchesPath(rule: RuleEntry, path: string): boolean {
  if (rule.nonResourceURLs.length > 0) return rule.nonResourceURLs.some((pattern) => matchesURL(pattern, path));
  return rule.resources.length === 0 && rule.namespaces.length === 0;
}

function matchesResource(rule: RuleEntry, request: ScopedRequest): boolean {
  if (rule.nonResourceURLs.length > 0) return false;
  return matchesKind(rule, request) && matchesName(rule, request) && matchesNamespace(rule, request);
}

function matchesKind(rule: RuleEntry, { target, group, resource, subresource }: ScopedRequest): boolean {
  // Behind a proxy, `proxy` leads to anything that a pod or a node serves: only a pattern that names it means it.
  const needsName = target.kind !== 'Management' && subresource === 'proxy';
  if (rule.resources.length === 0) return !needsName;
  return rule.resources.some((entry) => {
    if (entry.group !== group) return false;
    if (entry.patterns.length === 0) return !needsName;
    return entry.patterns.some(
      (pattern) => matchesPattern(pattern, resource, subresource) && (!needsName || namesProxy(pattern)),
    );
  });
}

function matchesName(rule: RuleEntry, { verb, name }: ScopedRequest): boolean {
  if (rule.resourceNames.length === 0) return true;
  // The name of a new object is in the body, which an authorizer does not see.
  return verb !== 'create' && name !== '' && rule.resourceNames.includes(name);
}

function matchesNamespace(rule: RuleEntry, { namespace, allNamespaces }: ScopedRequest): boolean {
  if (rule.namespaces.length === 0) return true;
  // A request across all namespaces shows the objects of every namespace, so it does not count as one without a namespace.
  return rule.namespaces.includes(namespace) && !(namespace === '' && allNamespaces === true);
}
