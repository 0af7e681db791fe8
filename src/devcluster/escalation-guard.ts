// Refuses a role or a binding that grants rights which its writer does not hold, because users must not extend their own rights.
// The verbs `escalate` (on roles) and `bind` (on the role of a binding) lift the check.
import type { Admission, AdmissionRequest } from '../apiserver/kinds/kit.ts';
import { mastersGroup } from '../apiserver/request/access-rules.ts';
import type { User } from '../apiserver/request/identity.ts';
import { StatusFault } from '../apiserver/request/status-fault.ts';
import type { Target, Verb } from '../apiserver/request/target.ts';
import type { KubeObject } from '../object/meta/object.ts';
import { forbidden, notFound } from '../object/meta/status.ts';
import { equalJson, type Json } from '../object/text/json.ts';
import { rbacGroup } from './kinds/role-validation.ts';
import { decide, escalation, type Policy, rulesOfRole } from './rbac/policy.ts';
import { bindingIn, isAggregated, rulesIn } from './rbac/read-policy.ts';
import type { PolicyRule } from './rbac/rules.ts';

export function escalationGuard(policy: () => Promise<Policy>): Admission {
  return async (request) => {
    const { kind, object, old, user } = request;
    if (kind.group !== rbacGroup || object === undefined || user.groups.includes(mastersGroup)) return;
    if (old !== undefined && isOnlyHousekeeping(object, old)) return;
    if (object['roleRef'] === undefined) checkRole(request, object, await policy());
    else checkBinding(request, object, await policy());
  };
}

const fullAuthority: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: [], nonResourceURLs: [] },
  { verbs: ['*'], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: ['*'] },
];

function checkRole(request: AdmissionRequest, role: KubeObject, policy: Policy): void {
  const { kind, namespace, requestName, old, user } = request;
  if (holds(policy, user, 'escalate', { resource: kind.plural, namespace, name: requestName })) return;
  const why = escalation(policy, user, { rules: rulesIn(role), namespace });
  if (why !== undefined) refuse(request, why);
  if (!isAggregated(role) && !isAggregated(old)) return;
  if (escalation(policy, user, { rules: fullAuthority, namespace }) === undefined) return;
  refuse(request, 'must have cluster-admin privileges to use the aggregationRule');
}

function checkBinding(request: AdmissionRequest, object: KubeObject, policy: Policy): void {
  const { kind, namespace, user } = request;
  const { roleRef } = bindingIn(object);
  const resource = roleRef.kind === 'Role' ? 'roles' : 'clusterroles';
  if (holds(policy, user, 'bind', { resource, namespace, name: roleRef.name })) return;
  const rules = rulesOfRole(policy, roleRef, namespace);
  // The real server, too, names the resource of the binding next to the name of the role.
  if (rules === undefined) throw new StatusFault(notFound({ group: kind.group, resource: kind.plural }, roleRef.name));
  const why = escalation(policy, user, { rules, namespace });
  if (why !== undefined) refuse(request, why);
}

function holds(
  policy: Policy,
  user: User,
  verb: string,
  about: Pick<Target, 'resource' | 'namespace' | 'name'>,
): boolean {
  const target = { isResource: true, verb: verb as Verb, path: '', group: rbacGroup, version: 'v1', subresource: '' };
  return decide(policy, user, { ...target, ...about, query: new URLSearchParams() }).allowed;
}

function refuse({ kind, name }: AdmissionRequest, why: string): never {
  throw new StatusFault(forbidden({ group: kind.group, resource: kind.plural }, name, why));
}

/** The garbage collector must be able to finish an object with any rules. */
function isOnlyHousekeeping(object: KubeObject, old: KubeObject): boolean {
  const bare = ({ metadata, ...rest }: KubeObject) => {
    const { ownerReferences: _owners, finalizers: _finalizers, managedFields: _managed, ...kept } = metadata;
    return { metadata: kept, ...rest } as unknown as Json;
  };
  return equalJson(bare(object), bare(old));
}
