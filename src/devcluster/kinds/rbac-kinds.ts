// Role, ClusterRole, RoleBinding and ClusterRoleBinding as data. The rules of access are in rbac/.
import { items, mapAt, setDefault, text } from '../../apiserver/kinds/fields.ts';
import { allVerbs, type Column, type Kind } from '../../apiserver/kinds/kind.ts';
import { ageColumn, nameColumn } from '../../apiserver/wire/table.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { isRecord } from '../../object/text/json.ts';
import { aggregationErrors, bindingErrors, rbacGroup, ruleErrors } from './role-validation.ts';

const base = { group: rbacGroup, version: 'v1', verbs: allVerbs } as const;

const createdColumn: Column = {
  name: 'Created At',
  type: 'date',
  description: 'Time at which the object was created',
  priority: 0,
  cell: (object) => object.metadata.creationTimestamp ?? '',
};
const roleColumns = [nameColumn, createdColumn];

const strategy = { allowsCreateOnUpdate: true, nameForm: 'pathSegment' } as const;

export const roleKind: Kind = {
  ...base,
  kind: 'Role',
  plural: 'roles',
  singular: 'role',
  namespaced: true,
  schema: 'io.k8s.api.rbac.v1.Role',
  storage: 'roles',
  strategy: { ...strategy, validate: ({ object }) => ruleErrors(object, true) },
  columns: roleColumns,
};

export const clusterRoleKind: Kind = {
  ...base,
  kind: 'ClusterRole',
  plural: 'clusterroles',
  singular: 'clusterrole',
  namespaced: false,
  schema: 'io.k8s.api.rbac.v1.ClusterRole',
  storage: 'clusterroles',
  strategy: { ...strategy, validate: ({ object }) => [...ruleErrors(object, false), ...aggregationErrors(object)] },
  columns: roleColumns,
};

function setBindingDefaults(binding: KubeObject): void {
  setDefault(mapAt(binding, 'roleRef'), 'apiGroup', rbacGroup);
  for (const subject of items(binding, 'subjects')) {
    const kind = text(subject, 'kind');
    if (isRecord(subject) && (kind === 'User' || kind === 'Group')) setDefault(subject, 'apiGroup', rbacGroup);
  }
}

/** The names of the subjects of one kind, for `-o wide`. */
function subjectColumn(name: string, kind: string): Column {
  return {
    name,
    type: 'string',
    priority: 1,
    cell: (binding) => {
      const subjects = items(binding, 'subjects').filter((subject) => text(subject, 'kind') === kind);
      const shown = subjects.map((subject) =>
        kind === 'ServiceAccount' ? `${text(subject, 'namespace')}/${text(subject, 'name')}` : text(subject, 'name'),
      );
      return shown.join(', ');
    },
  };
}

const bindingColumns: readonly Column[] = [
  nameColumn,
  {
    name: 'Role',
    type: 'string',
    priority: 0,
    cell: (binding) => `${text(binding, 'roleRef', 'kind')}/${text(binding, 'roleRef', 'name')}`,
  },
  ageColumn,
  subjectColumn('Users', 'User'),
  subjectColumn('Groups', 'Group'),
  subjectColumn('ServiceAccounts', 'ServiceAccount'),
];

export const roleBindingKind: Kind = {
  ...base,
  kind: 'RoleBinding',
  plural: 'rolebindings',
  singular: 'rolebinding',
  namespaced: true,
  schema: 'io.k8s.api.rbac.v1.RoleBinding',
  storage: 'rolebindings',
  strategy: {
    ...strategy,
    setDefaults: setBindingDefaults,
    validate: ({ object, old }) => bindingErrors(object, old, ['Role', 'ClusterRole']),
  },
  columns: bindingColumns,
};

export const clusterRoleBindingKind: Kind = {
  ...base,
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  singular: 'clusterrolebinding',
  namespaced: false,
  schema: 'io.k8s.api.rbac.v1.ClusterRoleBinding',
  storage: 'clusterrolebindings',
  strategy: {
    ...strategy,
    setDefaults: setBindingDefaults,
    validate: ({ object, old }) => bindingErrors(object, old, ['ClusterRole']),
  },
  columns: bindingColumns,
};
