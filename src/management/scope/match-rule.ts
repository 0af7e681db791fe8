// Decides whether a deprecated rule allows a request: every condition in the rule must hold.

import { matchesPattern, namesProxy } from './patterns/resource-patterns.ts';
import { matchesURL } from './patterns/url-patterns.ts';
import { type AccessRequest, type Destination, namespaceOfProject, type ScopedRequest } from './request.ts';
import type { RuleEntry } from './scope.ts';

export function matchesRule(rule: RuleEntry, request: AccessRequest): boolean {
  if (rule.verbs.length > 0 && !rule.verbs.includes(request.verb)) return false;
  if (!ruleReaches(rule, request.target)) return false;
  return request.isResource ? matchesResource(rule, request) : matchesPath(rule, request.path);
}

export function ruleReaches(rule: RuleEntry, target: Destination): boolean {
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
