// The rights of a subject from the configuration alone: the rights of everybody, of project members by their role, of cluster
// members and of administrators. A scope can only narrow them.
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
      if (!isInsideSpace(directory, target, request)) return undefined;
      return proxiedRight(directory, subject, target.project);
    case 'ProjectVirtualCluster':
      return proxiedRight(directory, subject, target.project);
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

function proxiedRight(directory: Directory, subject: Subject, project: string): string | undefined {
  return roleRight(directory, subject, project, 'user');
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

/** A space is one namespace of its cluster: nothing else there can be reached through it. */
export function isInsideSpace(
  directory: Directory,
  target: { project: string; space: string },
  request: AccessRequest,
): boolean {
  if (isDiscoveryOrReview(request)) return true;
  const space = directory.projects.get(target.project)?.spaces.find(({ name }) => name === target.space);
  return space !== undefined && request.isResource && request.namespace === space.namespace;
}

/** For somebody who may use the space but asked for another namespace: kubectl asks for "default" by itself. */
export function outsideOfSpace(directory: Directory, subject: Subject, target: AccessRequest['target']): string {
  if (target.kind !== 'ProjectSpace' || proxiedRight(directory, subject, target.project) === undefined) return '';
  const space = directory.projects.get(target.project)?.spaces.find(({ name }) => name === target.space);
  return space === undefined ? '' : `; the space ${space.name} is the namespace ${space.namespace} alone`;
}
