// What the subject of a key may do now, before any scope.
import type { MatrixConfiguration, MatrixKey, MatrixRequest, MatrixRole } from '../matrix-case.ts';
import { isDiscovery, isOnInstances, isOnKeys, isSelfReview, isTokenCreation, readVerbs } from './request.ts';
import type { Sentence } from './sentence.ts';
import { isAdministrator, isClusterMember, rolesIn } from './subject.ts';

export interface RightsQuestion {
  key: MatrixKey;
  configuration: MatrixConfiguration;
  request: MatrixRequest;
}

export const rights: readonly Sentence<RightsQuestion>[] = [
  {
    text: 'D 2.2, N 1: rights of an administrator are everything on every target',
    applies: ({ key, configuration }) => isAdministrator(key, configuration),
  },
  {
    text: 'D 2.2, N 2: everybody has every verb on ownedaccesskeys',
    applies: ({ request }) => isOnKeys(request),
  },
  {
    text: 'D 2.2, N 2: everybody has create of directclusterendpointtokens',
    applies: ({ request }) => isTokenCreation(request),
  },
  {
    text: 'D 2.2, N 2: everybody has create of the self-reviews on Management',
    applies: ({ request }) => request.target.kind === 'Management' && isSelfReview(request),
  },
  {
    text: 'N 2: everybody has get and head of discovery, OpenAPI, version and health on Management',
    applies: ({ request }) => request.target.kind === 'Management' && isDiscovery(request),
  },
  {
    text: "D 2.2, N 5: a project viewer has get, list and watch of the project's instances",
    applies: (question) =>
      isOnInstances(question.request) &&
      readVerbs.includes(question.request.verb) &&
      question.request.subresource === '' &&
      hasRoleInNamespace(question, ['viewer', 'user', 'admin']),
  },
  {
    text: 'D 2.2, N 5: a project user has create of kubeconfig besides',
    applies: (question) =>
      createsKubeconfig(question.request) &&
      !asksForCertificate(question.request) &&
      hasRoleInNamespace(question, ['user', 'admin']),
  },
  {
    text: 'D 2.2, N 5: a project admin has clientCert besides',
    applies: (question) => createsKubeconfig(question.request) && hasRoleInNamespace(question, ['admin']),
  },
  {
    text: 'D 2.2, N 5: project users and admins may do everything on the proxied virtual clusters',
    applies: ({ key, configuration, request: { target } }) =>
      target.kind === 'ProjectVirtualCluster' && hasRole(target.project, { key, configuration }, ['user', 'admin']),
  },
  {
    text: 'D 2.2, N 4, N 5: project users and admins may do everything in the namespace of a space of the project',
    applies: ({ key, configuration, request }) =>
      request.target.kind === 'ProjectSpace' &&
      hasRole(request.target.project, { key, configuration }, ['user', 'admin']),
  },
  {
    text: 'D 2.2, N 5: a cluster member may do everything on the direct endpoint of the cluster',
    applies: ({ key, configuration, request: { target } }) =>
      target.kind === 'Cluster' && isClusterMember(target.cluster, key, configuration),
  },
];

type Bearer = Pick<RightsQuestion, 'key' | 'configuration'>;

function hasRole(project: string, { key, configuration }: Bearer, wanted: readonly MatrixRole[]): boolean {
  const roles = rolesIn(project, key, configuration);
  return wanted.some((role) => roles.has(role));
}

/** D 1.1: instances are in the namespace `p-<project>`. */
function hasRoleInNamespace(question: RightsQuestion, wanted: readonly MatrixRole[]): boolean {
  const { request, configuration } = question;
  return configuration.projects.some(
    (project) =>
      request.isResource && request.namespace === `p-${project.name}` && hasRole(project.name, question, wanted),
  );
}

function createsKubeconfig(request: MatrixRequest): boolean {
  return isOnInstances(request) && request.verb === 'create' && request.subresource === 'kubeconfig';
}

export function asksForCertificate(request: MatrixRequest): boolean {
  return createsKubeconfig(request) && request.isResource && request.clientCert === true;
}
