// The place of a request, judged once for everybody: before persons, rights and scopes. A space is one namespace of its cluster,
// and nothing else there can be reached through it, whoever asks. Pure.
import { isDiscoveryOrReview } from './base-grant.ts';
import type { Directory } from './directory.ts';
import type { AccessRequest } from './request.ts';

/** Discovery and self-reviews are about no namespace. */
export function staysInPlace(directory: Directory, request: AccessRequest): boolean {
  if (request.target.kind !== 'ProjectSpace' || isDiscoveryOrReview(request)) return true;
  const namespace = spaceNamespace(directory, request.target);
  return namespace !== undefined && request.isResource && request.namespace === namespace;
}

/** For somebody who may use the space but asked for another namespace: kubectl asks for "default" by itself. */
export function placeText(directory: Directory, target: AccessRequest['target']): string {
  if (target.kind !== 'ProjectSpace') return '';
  const namespace = spaceNamespace(directory, target);
  return namespace === undefined ? '' : `; the space ${target.space} is the namespace ${namespace} alone`;
}

function spaceNamespace(directory: Directory, at: { project: string; space: string }): string | undefined {
  return directory.projects.get(at.project)?.spaces.find(({ name }) => name === at.space)?.namespace;
}
