// Makes the roles and bindings for a cluster behind this server from the configuration: the rights that Hostward needs, and the
// rights of the project roles. Every name is listed, because an unlimited right to impersonate would be a right to everything.
// Pure.
import type { ManagementProject, ManagementSettings, ProjectRole } from '../../config/settings/management-settings.ts';
import { Directory } from '../scope/directory.ts';
import { groupName, keyExtra, roleGroup, subjectExtra, subjectUser, userName } from './forward/upstream-identity.ts';

export interface UpstreamRule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  resourceNames?: string[];
}

export type UpstreamPlace = { cluster: string } | { project: string; virtualCluster: string };

/** The subject of a binding. */
export type BindingSubject =
  | { kind: 'User' | 'Group'; apiGroup: 'rbac.authorization.k8s.io'; name: string }
  | { kind: 'ServiceAccount'; namespace: string; name: string };

const rbac = 'rbac.authorization.k8s.io';
const apiVersion = `${rbac}/v1`;
/** The roles that reach clusters. A viewer reads the project in the management API alone. */
type ReachingRole = Exclude<ProjectRole, 'viewer'>;
const roles: readonly ReachingRole[] = ['user', 'admin'];
const clientSigner = 'kubernetes.io/kube-apiserver-client';
/** Kubernetes' own ClusterRoles for the roles of a project. */
const namespaceRole: Readonly<Record<ReachingRole, string>> = { user: 'edit', admin: 'admin' };

export function subjectNamed(user: string): BindingSubject {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user) ?? [];
  if (namespace !== undefined && name !== undefined) return { kind: 'ServiceAccount', namespace, name };
  return { kind: 'User', apiGroup: rbac, name: user };
}

/** Undefined for a place that is not configured. */
export function upstreamObjects(
  settings: ManagementSettings,
  place: UpstreamPlace,
  hostward: BindingSubject,
): object[] | undefined {
  const rules = proxyRules(settings, place);
  if (rules === undefined) return undefined;
  // Several places may lie in one cluster, and each has names of its own.
  const name =
    'cluster' in place ? `hostward:proxy:${place.cluster}` : `hostward:proxy:${place.project}:${place.virtualCluster}`;
  return [
    { apiVersion, kind: 'ClusterRole', metadata: { name }, rules },
    binding('ClusterRoleBinding', { name }, name, hostward),
    ...projectBindings(settings, place),
  ];
}

/** The rights that Hostward itself needs there. */
export function proxyRules(settings: ManagementSettings, place: UpstreamPlace): UpstreamRule[] | undefined {
  const projects = projectsAt(settings, place);
  if (projects === undefined) return undefined;
  const { userNames, knownGroups } = new Directory(settings);
  const users = userNames.map((name) => userName('user', name));
  const teams = settings.teams.map(({ name }) => userName('team', name));
  const roleGroups = projects.flatMap(({ name }) => roles.map((role) => roleGroup(name, role)));
  const groups = [...roleGroups, ...[...knownGroups].map(groupName), 'system:authenticated'];
  const extras = [keyExtra, subjectExtra].map((name) => `userextras/${name}`);
  const verbs = ['impersonate'];
  return [
    { apiGroups: [''], resources: ['users'], verbs, resourceNames: [...users, ...teams, subjectUser] },
    { apiGroups: [''], resources: ['groups'], verbs, resourceNames: groups },
    { apiGroups: ['authentication.k8s.io'], resources: extras, verbs },
    ...certificateRules(settings, place),
  ];
}

/** Only for a virtual cluster whose own signer signs client certificates. */
function certificateRules(settings: ManagementSettings, place: UpstreamPlace): UpstreamRule[] {
  if ('cluster' in place) return [];
  const { ingress, signing, clientCert } = instanceAt(settings, place) ?? {};
  if (ingress?.servedBy !== 'virtualCluster' || clientCert === undefined) return [];
  const certificates = 'certificates.k8s.io';
  const requests = 'certificatesigningrequests';
  const asking: UpstreamRule[] = [
    { apiGroups: [certificates], resources: [requests], verbs: ['create', 'get', 'watch', 'delete'] },
    { apiGroups: [certificates], resources: [`${requests}/approval`], verbs: ['update'] },
    { apiGroups: [certificates], resources: ['signers'], verbs: ['approve'], resourceNames: [clientSigner] },
  ];
  return [
    ...(signing === undefined ? asking : []),
    { apiGroups: [rbac], resources: ['clusterrolebindings'], verbs: ['create', 'list', 'delete'] },
    { apiGroups: [rbac], resources: ['clusterroles'], verbs: ['bind'], resourceNames: [clientCert.clusterRole] },
  ];
}

function projectBindings(settings: ManagementSettings, place: UpstreamPlace): object[] {
  if ('cluster' in place) {
    return settings.projects.flatMap((project) =>
      project.spaces
        .filter(({ cluster }) => cluster === place.cluster)
        .flatMap(({ namespace }) =>
          roles.map((role) => roleBinding(project.name, role, namespaceRole[role], { namespace })),
        ),
    );
  }
  const clusterRole = instanceAt(settings, place)?.clientCert.clusterRole ?? namespaceRole.admin;
  return roles.map((role) =>
    roleBinding(place.project, role, role === 'admin' ? clusterRole : namespaceRole[role], {}),
  );
}

function roleBinding(project: string, role: ProjectRole, clusterRole: string, at: { namespace?: string }): object {
  const group = roleGroup(project, role);
  const subject: BindingSubject = { kind: 'Group', apiGroup: rbac, name: group };
  const kind = at.namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding';
  return binding(kind, { name: group, ...at }, clusterRole, subject);
}

function binding(kind: string, metadata: object, role: string, subject: BindingSubject): object {
  const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name: role };
  return { apiVersion, kind, metadata, roleRef, subjects: [subject] };
}

function instanceAt({ projects }: ManagementSettings, place: { project: string; virtualCluster: string }) {
  const project = projects.find(({ name }) => name === place.project);
  return project?.virtualClusters.find(({ name }) => name === place.virtualCluster);
}

function projectsAt(settings: ManagementSettings, place: UpstreamPlace): readonly ManagementProject[] | undefined {
  if ('cluster' in place) {
    if (!settings.clusters.some(({ name }) => name === place.cluster)) return undefined;
    return settings.projects.filter(({ spaces }) => spaces.some(({ cluster }) => cluster === place.cluster));
  }
  if (instanceAt(settings, place) === undefined) return undefined;
  return settings.projects.filter(({ name }) => name === place.project);
}
