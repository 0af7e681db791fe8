// The deprecated rules of a scope.
import type { MatrixRequest, MatrixRule, MatrixTarget } from '../matrix-case.ts';
import { isOddPath, type ResourceRequest } from './request.ts';
import { isEmpty } from './sentence.ts';

/** Whether every condition of the rule holds for the request. */
export function ruleMatches(rule: MatrixRule, request: MatrixRequest): boolean {
  if (!ruleAdmitsTarget(rule, request.target)) return false;
  if (!verbMatches(rule, request.verb)) return false;
  if (request.isResource) return ruleMatchesResource(rule, request);
  return ruleMatchesPath(rule, request.path);
}

/** N 8: "a rule every target that its requestTargets, cluster and virtualClusters admit". */
export function ruleAdmitsTarget(rule: MatrixRule, target: MatrixTarget): boolean {
  // R 2.2: "Allowed request targets; empty list means every request."
  if (!isEmpty(rule.requestTargets) && !rule.requestTargets?.includes(target.kind)) return false;
  // R 2.2: "when set, non-cluster requests are not allowed; empty means no restriction". D 2.6: "cluster target only".
  if (rule.cluster !== undefined && rule.cluster !== '')
    if (target.kind !== 'Cluster' || target.cluster !== rule.cluster) return false;
  // D 2.6: "virtualClusters ⇒ virtual cluster target only". R 2.2: "empty list means no restriction".
  if (isEmpty(rule.virtualClusters)) return true;
  if (target.kind !== 'ProjectVirtualCluster') return false;
  return (rule.virtualClusters ?? []).some((entry) => {
    // R 2.2: "name (string; empty means all) and namespace (string; empty means all)".
    const nameMatches = (entry.name ?? '') === '' || entry.name === target.virtualCluster;
    // N virtualClusters: "The namespace is that of the instance: `p-<project>`."
    const namespaceMatches = (entry.namespace ?? '') === '' || entry.namespace === `p-${target.project}`;
    return nameMatches && namespaceMatches;
  });
}

/** R 2.2: "Matching verbs; empty list means every verb." N verbs: "`*` as the only verb is every verb". */
function verbMatches(rule: MatrixRule, verb: string): boolean {
  const verbs = rule.verbs ?? [];
  if (verbs.length === 0) return true;
  if (verbs.length === 1 && verbs[0] === '*') return true;
  return verbs.includes(verb);
}

function ruleMatchesResource(rule: MatrixRule, request: ResourceRequest): boolean {
  // D 2.6: "only `nonResourceURLs` set ⇒ matches no resource request; together with resources or namespaces ⇒ 422".
  if (!isEmpty(rule.nonResourceURLs)) return false;
  return (
    kindMatches(rule, request) &&
    nameMatches(rule, request) &&
    namespaceMatches(rule, request) &&
    proxyIsNamed(rule, request)
  );
}

/** R 2.2: "Empty list of entries means all kinds in all groups." */
function kindMatches(rule: MatrixRule, request: ResourceRequest): boolean {
  if (isEmpty(rule.resources)) return true;
  return (rule.resources ?? []).some((entry) => {
    // R 2.2: "empty string is the core API group".
    if ((entry.group ?? '') !== request.group) return false;
    // R 2.2: "An empty resources list means all resources and subresources in the group."
    if (isEmpty(entry.resources)) return true;
    return (entry.resources ?? []).some((pattern) => patternMatches(pattern, request));
  });
}

function patternMatches(pattern: string, { resource, subresource }: ResourceRequest): boolean {
  // R 2.2: "`*` matches everything".
  if (pattern === '*') return true;
  // R 2.2: "a plain name matches that resource".
  if (subresource === '') return pattern === resource;
  // R 2.2: "`name/sub` matches a subresource, … `name/*` matches all subresources of name, `*/sub` matches that subresource on
  // all resources".
  return [`${resource}/${subresource}`, `${resource}/*`, `*/${subresource}`].includes(pattern);
}

/**
 * R 2.2: "Instance names matched; … empty list means every instance." D 2.6: "never matches list or create, except a list
 * with `fieldSelector=metadata.name=`". N resourceNames: "Never matches a create, not even of a subresource whose URL has a
 * name."
 */
function nameMatches(rule: MatrixRule, request: ResourceRequest): boolean {
  if (isEmpty(rule.resourceNames)) return true;
  if (request.verb === 'create' || request.name === '') return false;
  return (rule.resourceNames ?? []).includes(request.name);
}

/**
 * R 2.2: "Namespaces matched; empty string matches non-namespaced resources; empty list means every namespace." N namespaces:
 * "The empty text matches requests without a namespace, but no request across all namespaces."
 */
function namespaceMatches(rule: MatrixRule, request: ResourceRequest): boolean {
  if (isEmpty(rule.namespaces)) return true;
  if (request.allNamespaces === true) return false;
  return (rule.namespaces ?? []).includes(request.namespace);
}

/**
 * N 9: "On proxied targets a scope allows a subresource `proxy` only by a rule with the entry `<resource>/proxy` or
 * `* /proxy` (without the blank)."
 */
function proxyIsNamed(rule: MatrixRule, request: ResourceRequest): boolean {
  if (!isProxyOnProxied(request)) return true;
  return (rule.resources ?? []).some(
    (entry) =>
      (entry.group ?? '') === request.group &&
      (entry.resources ?? []).some((pattern) => pattern === `${request.resource}/proxy` || pattern === '*/proxy'),
  );
}

export function isProxyOnProxied(request: MatrixRequest): boolean {
  return request.target.kind !== 'Management' && request.isResource && request.subresource === 'proxy';
}

/** R 2.2: "URL paths checked; a `*` is allowed only as the full, final path step." */
function ruleMatchesPath(rule: MatrixRule, path: string): boolean {
  if (isOddPath(path)) return false;
  // N 11: "A rule without nonResourceURLs matches a non-resource request when it has no resources, resourceNames and
  // namespaces."
  if (isEmpty(rule.nonResourceURLs))
    return isEmpty(rule.resources) && isEmpty(rule.resourceNames) && isEmpty(rule.namespaces);
  return (rule.nonResourceURLs ?? []).some((pattern) => {
    // R 2.2: "a `*` is allowed only as the full, final path step". Alone it is such a step, with nothing before it.
    if (pattern === '*') return true;
    // N nonResourceURLs: "`/a/*` matches every path that begins with `/a/`."
    return pattern.endsWith('/*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
  });
}
