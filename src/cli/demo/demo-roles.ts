// Gives the clusters of the demo the roles and bindings that the management API needs there, the same that `hostward upstream-rbac`
// prints. In: the settings of the API, a client for each cluster. Out: objects in the clusters.
import type { ResourceRef } from '../../cluster/wire/scope.ts';
import type { ManagementSettings } from '../../config/settings/management-settings.ts';
import { userName } from '../../management/proxy/forward/upstream-identity.ts';
import { subjectNamed, type UpstreamPlace, upstreamObjects } from '../../management/proxy/upstream-roles.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { type ClusterClient, expectOk } from '../line/cluster-client.ts';

const group = 'rbac.authorization.k8s.io';
const resources: Readonly<Record<string, ResourceRef>> = {
  ClusterRole: { path: `apis/${group}/v1`, resource: 'clusterroles', kind: 'ClusterRole' },
  ClusterRoleBinding: { path: `apis/${group}/v1`, resource: 'clusterrolebindings', kind: 'ClusterRoleBinding' },
  RoleBinding: { path: `apis/${group}/v1`, resource: 'rolebindings', kind: 'RoleBinding' },
};
/** As whom the demo's own kubeconfigs log in. */
const logsInAs = 'admin';

export async function writeRoles(
  client: ClusterClient,
  settings: ManagementSettings,
  place: UpstreamPlace,
): Promise<void> {
  for (const object of upstreamObjects(settings, place, subjectNamed(logsInAs)) ?? [])
    await write(client, object as KubeObject);
}

/** What `upstream-rbac` leaves to the people of a cluster: which of its members may do what there. */
export async function bindMembers(client: ClusterClient, users: readonly string[]): Promise<void> {
  const subjects = users.map((name) => ({ kind: 'User', apiGroup: group, name: userName('user', name) }));
  await write(client, {
    apiVersion: `${group}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'demo-members' },
    subjects,
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'cluster-admin' },
  });
}

async function write(client: ClusterClient, object: KubeObject): Promise<void> {
  const resource = resources[object.kind ?? ''];
  if (resource === undefined)
    throw new Error(`write the roles of the demo: want a role or binding, found ${object.kind}`);
  expectOk(await client.create(resource, object), 'write the roles of the demo');
}
