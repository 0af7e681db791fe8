// Writes the roles and bindings that every cluster has from the start, and gathers the rules of aggregated roles once.

import type { ApiServer } from '../apiserver/server.ts';
import { changeIfPresent, systemCall } from '../apiserver/verbs/system-call.ts';
import { fromStoredText, storagePrefix } from '../apiserver/wire/stored-text.ts';
import type { KubeObject } from '../object/meta/object.ts';
import { ensure } from './first-objects.ts';
import { clusterRoleKind } from './kinds/rbac-kinds.ts';
import { rbacGroup } from './kinds/role-validation.ts';
import { aggregated } from './rbac/aggregation.ts';
import bootstrap from './rbac/bootstrap-roles.json' with { type: 'json' };

export async function writeBootstrapRoles(server: ApiServer): Promise<void> {
  for (const [plural, objects] of Object.entries(bootstrap)) {
    for (const object of structuredClone(objects) as unknown as KubeObject[])
      await ensure(server, `/apis/${rbacGroup}/v1/${plural}`, object);
  }
  await gatherRules(server);
}

async function gatherRules({ kit }: ApiServer): Promise<void> {
  const page = await kit.store.list(storagePrefix(clusterRoleKind, ''));
  if (page.kind !== 'page') throw new Error('gather the rules of aggregated roles: the store has no list of roles');
  const roles = page.records.map(({ value, revision }) => fromStoredText(value, clusterRoleKind, revision));
  for (const { metadata, rules } of aggregated(roles) as (KubeObject & { rules: unknown[] })[]) {
    const call = systemCall(kit, clusterRoleKind, { namespace: '', name: metadata.name ?? '' });
    await changeIfPresent(call, metadata.uid ?? '', (role) => {
      role['rules'] = rules;
    });
  }
}
