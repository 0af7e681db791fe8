// All roles and bindings of a cluster at one moment, and the rights that they give a user. In: the four kinds as data. Out: a
// decision with its reason, the rules of a user, and why a grant would be an escalation. Must never know the store.
import type { Decision, User } from '../../apiserver/request/identity.ts';
import type { Target } from '../../apiserver/request/target.ts';
import { quoted } from '../../object/meta/field-error.ts';
import { allows, goTexts, missingRules, type PolicyRule, ruleLines } from './rules.ts';

export interface BoundSubject {
  kind: string;
  name: string;
  /** Of a service account; empty = the namespace of the binding. */
  namespace: string;
}

export interface RoleRef {
  kind: string;
  name: string;
}

export interface Binding {
  name: string;
  /** Empty for a ClusterRoleBinding. */
  namespace: string;
  roleRef: RoleRef;
  subjects: readonly BoundSubject[];
}

export interface Policy {
  /** Rules by name. */
  clusterRoles: ReadonlyMap<string, readonly PolicyRule[]>;
  /** Rules by `namespace/name`. */
  roles: ReadonlyMap<string, readonly PolicyRule[]>;
  clusterRoleBindings: readonly Binding[];
  /** By namespace. */
  roleBindings: ReadonlyMap<string, readonly Binding[]>;
}

type Grant = { kind: 'rule'; rule: PolicyRule; source: string } | { kind: 'fault'; why: string };

/** Rules of a role that a binding names; undefined = there is no such role. */
export function rulesOfRole(policy: Policy, { kind, name }: RoleRef, namespace: string) {
  return kind === 'Role' ? policy.roles.get(`${namespace}/${name}`) : policy.clusterRoles.get(name);
}

function* grants(policy: Policy, user: User, namespace: string): Generator<Grant> {
  const local = namespace === '' ? [] : (policy.roleBindings.get(namespace) ?? []);
  for (const binding of [...policy.clusterRoleBindings, ...local]) {
    const subject = binding.subjects.find((one) => isUser(one, user, binding.namespace));
    if (subject === undefined) continue;
    const rules = rulesOfRole(policy, binding.roleRef, binding.namespace);
    if (rules === undefined) yield { kind: 'fault', why: roleMissing(binding.roleRef) };
    for (const rule of rules ?? []) yield { kind: 'rule', rule, source: sourceOf(binding, subject) };
  }
}

function roleMissing({ kind, name }: RoleRef): string {
  return `${kind.toLowerCase()}.rbac.authorization.k8s.io ${quoted(name)} not found`;
}

function isUser({ kind, name, namespace }: BoundSubject, user: User, bindingNamespace: string): boolean {
  switch (kind) {
    case 'User':
      return user.name === name;
    case 'Group':
      return user.groups.includes(name);
    case 'ServiceAccount': {
      const of = namespace === '' ? bindingNamespace : namespace;
      return of !== '' && user.name === `system:serviceaccount:${of}:${name}`;
    }
    default:
      return false;
  }
}

/** The real server writes name before namespace here. */
function sourceOf(binding: Binding, subject: BoundSubject): string {
  const { name, namespace, roleRef } = binding;
  const kind = namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding';
  const which = namespace === '' ? name : `${name}/${namespace}`;
  const owner = subject.namespace === '' ? namespace : subject.namespace;
  const whom = subject.kind === 'ServiceAccount' ? `${subject.name}/${owner}` : subject.name;
  return `${kind} ${quoted(which)} of ${roleRef.kind} ${quoted(roleRef.name)} to ${subject.kind} ${quoted(whom)}`;
}

export function decide(policy: Policy, user: User, target: Target): Decision {
  const faults: string[] = [];
  for (const grant of grants(policy, user, target.namespace)) {
    if (grant.kind === 'fault') faults.push(grant.why);
    else if (allows(grant.rule, target)) return { allowed: true, reason: `RBAC: allowed by ${grant.source}` };
  }
  return faults.length === 0 ? { allowed: false } : { allowed: false, reason: `RBAC: ${aggregate(faults)}` };
}

/** `fault` says which roles are missing; the rules of all other roles are there. */
export function rulesFor(policy: Policy, user: User, namespace: string): { rules: PolicyRule[]; fault: string } {
  const rules: PolicyRule[] = [];
  const faults: string[] = [];
  for (const grant of grants(policy, user, namespace)) {
    if (grant.kind === 'fault') faults.push(grant.why);
    else rules.push(grant.rule);
  }
  return { rules, fault: aggregate(faults) };
}

/** Why the user may not grant these rules in this namespace; undefined = the user holds all of them. */
export function escalation(
  policy: Policy,
  user: User,
  granted: { rules: readonly PolicyRule[]; namespace: string },
): string | undefined {
  const held = rulesFor(policy, user, granted.namespace);
  const missing = missingRules(held.rules, granted.rules);
  if (missing.length === 0) return undefined;
  const who = `user ${quoted(user.name)} (groups=${goTexts(user.groups)})`;
  const why = `${who} is attempting to grant RBAC permissions not currently held:\n${ruleLines(missing).join('\n')}`;
  return held.fault === '' ? why : `${why}; resolution errors: [${held.fault}]`;
}

/** Each sentence once; several are in brackets. */
function aggregate(faults: readonly string[]): string {
  const texts = [...new Set(faults)];
  return texts.length > 1 ? `[${texts.join(', ')}]` : (texts[0] ?? '');
}
