// Decides whether one RBAC-style rule covers a request. In: a rule and a target. Out: yes or no. Must never know which user
// holds which rules: the tenant decides that.
import type { Decision, User } from './identity.ts';
import type { Target } from './target.ts';

export interface AccessRule {
  verbs: readonly string[];
  /** '' is the core group; `*` matches every group. */
  apiGroups?: readonly string[];
  /** `pods`, `pods/status`, `*`. */
  resources?: readonly string[];
  resourceNames?: readonly string[];
  /** Absent = every namespace and the cluster scope. */
  namespaces?: readonly string[];
  nonResourceURLs?: readonly string[];
}

/** The tenant's answers to the review kinds, such as SubjectAccessReview. */
export interface Reviewer {
  decide(user: User, target: Target): Decision | Promise<Decision>;
  /** The rules that count in this namespace; rules of other namespaces are left out of the answer. */
  rulesOf(user: User, namespace: string): readonly AccessRule[] | Promise<readonly AccessRule[]>;
  /** Why `rulesOf` may lack rules; empty = it lacks none. */
  ruleFault?(user: User, namespace: string): Promise<string>;
  userOfToken(token: string): User | undefined;
}

/** Members of this group may do everything. */
export const mastersGroup = 'system:masters';

export function covers(rule: AccessRule, target: Target): boolean {
  if (!includes(rule.verbs, target.verb)) return false;
  if (!target.isResource) return (rule.nonResourceURLs ?? []).some((pattern) => matchesPath(pattern, target.path));
  const resource = target.subresource === '' ? target.resource : `${target.resource}/${target.subresource}`;
  if (!includes(rule.apiGroups ?? [], target.group)) return false;
  if (!includes(rule.resources ?? [], resource)) return false;
  if (rule.resourceNames !== undefined && !rule.resourceNames.includes(target.name)) return false;
  return rule.namespaces === undefined || rule.namespaces.includes(target.namespace);
}

function includes(list: readonly string[], value: string): boolean {
  return list.includes('*') || list.includes(value);
}

function matchesPath(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : pattern === path;
}
