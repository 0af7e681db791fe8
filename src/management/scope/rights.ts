// The rights of a subject from the configuration alone: the rights of everybody, of project members by their role, of cluster
// members and of administrators. A scope can only narrow them. That a request stays in its place is judged before, in place.ts.
import type { ProjectRole } from '../../config/settings/management-settings.ts';
import { isDiscoveryOrReview, isEverybodysRight } from './base-grant.ts';
import { type Directory, isMember, type Subject } from './directory.ts';
import { type AccessRequest, instanceResource, isManagementResource, projectOfNamespace } from './request.ts';

/** The words of the right that allows the request; undefined = no right allows it. */
export function rightFor(directory: Directory, subject: Subject, request: AccessRequest): string | undefined {
  if (subject.isAdministrator) return 'administrator';
  const { target } = request;
  switch (target.kind) {
    case 'Management':
      return managementRight(directory, subject, request);
    case 'Cluster': {
      const members = directory.clusters.get(target.cluster)?.members ?? [];
      const isIn = members.some((member) => isMember(member, subject));
      return isIn ? `member of cluster ${target.cluster}` : undefined;
    }
    case 'ProjectSpace':
    case 'ProjectVirtualCluster':
      return roleRight(directory, subject, target.project, 'user');
    default:
      return target satisfies never;
  }
}

function managementRight(directory: Directory, subject: Subject, request: AccessRequest): string | undefined {
  if (isDiscoveryOrReview(request) || isEverybodysRight(request)) return 'everybody';
  if (!isManagementResource(request, instanceResource)) return undefined;
  const project = projectOfNamespace(request.namespace);
  if (project === undefined) return undefined;
  const needed = neededRole(request.verb, request.subresource, request.clientCert === true);
  return needed === undefined ? undefined : roleRight(directory, subject, project, needed);
}

function neededRole(verb: string, subresource: string, clientCert: boolean): ProjectRole | undefined {
  if (subresource === '') return verb === 'get' || verb === 'list' || verb === 'watch' ? 'viewer' : undefined;
  if (subresource !== 'kubeconfig' || verb !== 'create') return undefined;
  return clientCert ? 'admin' : 'user';
}

/** Each role holds the ones before it. */
const roleOrder: readonly ProjectRole[] = ['viewer', 'user', 'admin'];

function roleRight(directory: Directory, subject: Subject, project: string, needed: ProjectRole): string | undefined {
  const members = directory.projects.get(project)?.members ?? [];
  const held = members.find(
    (member) => roleOrder.indexOf(member.role) >= roleOrder.indexOf(needed) && isMember(member, subject),
  );
  return held === undefined ? undefined : `${held.role} of project ${project}`;
}
