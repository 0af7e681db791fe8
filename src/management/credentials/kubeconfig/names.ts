// Makes the names for a kubeconfig: the name of its access key, of its entries, and the user and group of its client certificate.
import type { SubjectName } from '../../scope/directory.ts';

export interface InstanceRef {
  project: string;
  name: string;
}

/** The server adds five characters. */
export function keyNamePrefix({ project, name }: InstanceRef): string {
  return `kubeconfig-${project}-${name}-`;
}

/** Names of projects and virtual clusters have no underscore, so that two instances never share an entry. */
export function entryName({ project, name }: InstanceRef): string {
  return `hostward_${project}_${name}`;
}

export function instanceText({ project, name }: InstanceRef): string {
  return `${project}/${name}`;
}

/** The user name of a key's subject in a virtual cluster. */
export function upstreamUser({ kind, name }: SubjectName): string {
  return kind === 'subject' ? 'hostward:subject' : `hostward:${kind}:${name}`;
}

/** The only group of a client certificate. Rights are bound to this group, so deleting the binding removes them. */
export function issueGroup(id: string): string {
  return `hostward:issue:${id}`;
}

/** Name of the ClusterRoleBinding and of the certificate signing request. */
export function issueObjectName(id: string): string {
  return `hostward-issue-${id}`;
}
