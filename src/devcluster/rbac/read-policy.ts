// Reads roles and bindings as clients write them into the form in which rights are decided.
import { at, items, text } from '../../apiserver/kinds/fields.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import type { Binding } from './policy.ts';
import type { PolicyRule } from './rules.ts';

export function rulesIn(role: KubeObject): PolicyRule[] {
  return items(role, 'rules').map((rule) => ({
    verbs: texts(rule, 'verbs'),
    apiGroups: texts(rule, 'apiGroups'),
    resources: texts(rule, 'resources'),
    resourceNames: texts(rule, 'resourceNames'),
    nonResourceURLs: texts(rule, 'nonResourceURLs'),
  }));
}

export function bindingIn(binding: KubeObject): Binding {
  const { name = '', namespace = '' } = binding.metadata;
  return {
    name,
    namespace,
    roleRef: { kind: text(binding, 'roleRef', 'kind'), name: text(binding, 'roleRef', 'name') },
    subjects: items(binding, 'subjects').map((subject) => ({
      kind: text(subject, 'kind'),
      name: text(subject, 'name'),
      namespace: text(subject, 'namespace'),
    })),
  };
}

/** Whether the role gathers the rules of other roles. */
export function isAggregated(role: KubeObject | undefined): boolean {
  return items(at(role, 'aggregationRule'), 'clusterRoleSelectors').length > 0;
}

function texts(rule: unknown, member: string): string[] {
  return items(rule, member).map(String);
}
