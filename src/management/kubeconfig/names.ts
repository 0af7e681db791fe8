// The names that belong to a kubeconfig: of its access key, of its entries, and of what a client certificate is known by in the
// virtual cluster.
import type { SubjectName } from '../scope/directory.ts';

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

/** The user name that a virtual cluster knows the subject of a key by. */
export function upstreamUser({ kind, name }: SubjectName): string {
  return kind === 'subject' ? 'hostward:subject' : `hostward:${kind}:${name}`;
}

/** The one group of a client certificate: rights are bound to it, so that they go when the binding goes. */
export function issueGroup(id: string): string {
  return `hostward:issue:${id}`;
}

/** Of the ClusterRoleBinding and of the certificate signing request. */
export function issueObjectName(id: string): string {
  return `hostward-issue-${id}`;
}
