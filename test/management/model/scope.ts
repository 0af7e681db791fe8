// What one scope allows: the base grant of every live key, and the entries of the scope.
import type { MatrixConfiguration, MatrixRequest, MatrixScope, MatrixTarget } from '../matrix-case.ts';
import {
  isDiscovery,
  isOddPath,
  isOnInstances,
  isOnKeys,
  isSelfReview,
  isTokenCreation,
  staysInSpace,
} from './request.ts';
import { roleAllows } from './roles.ts';
import { isProxyOnProxied, ruleAdmitsTarget, ruleMatches } from './rules.ts';
import type { Sentence } from './sentence.ts';

export interface ScopeQuestion {
  scope: MatrixScope;
  /** Name of the key that is presented, also where the scope is that of its maker. */
  caller: string;
  configuration: MatrixConfiguration;
  request: MatrixRequest;
}

export const baseGrant: readonly Sentence<ScopeQuestion>[] = [
  {
    text: 'D 2.3, N 10: the base grant has discovery, OpenAPI, version and health on Management and on every target in reach',
    applies: ({ scope, request }) =>
      !request.isResource && !isOddPath(request.path) && isDiscovery(request) && reaches(scope, request.target),
  },
  {
    text: 'D 2.3: the base grant has the self-reviews on Management and on every target in reach',
    applies: ({ scope, request }) => isSelfReview(request) && reaches(scope, request.target),
  },
  {
    text: 'D 2.3, N 3: the base grant has get, delete, update, patch, list and watch of the own key',
    applies: ({ caller, request }) =>
      isOnKeys(request) &&
      request.name === caller &&
      request.subresource === '' &&
      ['get', 'delete', 'update', 'patch', 'list', 'watch'].includes(request.verb),
  },
  {
    text: 'D 2.3: the base grant has creation of a direct token',
    applies: ({ request }) => isTokenCreation(request),
  },
];

/** Each holds for requests that are not odd and not a proxy subresource of a proxied target; rules judge the latter. */
const plainEntries: readonly Sentence<ScopeQuestion>[] = [
  {
    text: 'D 2.5, N 6: an entry of projects allows every resource request in the namespace of the project',
    applies: ({ scope, request }) =>
      request.target.kind === 'Management' &&
      request.isResource &&
      (scope.projects ?? []).some(({ project }) =>
        project === '*' ? request.namespace.startsWith('p-') : request.namespace === `p-${project}`,
      ),
  },
  {
    text: 'D 2.5, N 4: an entry of projects allows the proxied virtual clusters and spaces of the project',
    applies: ({ scope, request, configuration }) =>
      reachesByProject(scope, request.target) && staysInSpace(request, configuration),
  },
  {
    text: 'D 2.5, N 4: an entry of spaces allows the namespace of the space',
    applies: ({ scope, request, configuration }) =>
      reachesBySpace(scope, request.target) && staysInSpace(request, configuration),
  },
  {
    text: 'D 2.5, N 6: an entry of virtualClusters allows the instance and its subresources',
    applies: ({ scope, request }) =>
      isOnInstances(request) &&
      (scope.virtualClusters ?? []).some(
        ({ project, virtualCluster }) =>
          request.namespace === `p-${project}` && (virtualCluster === '*' || request.name === virtualCluster),
      ),
  },
  {
    text: 'D 2.5: an entry of virtualClusters allows the proxied API of the virtual cluster',
    applies: ({ scope, request }) => reachesByVirtualCluster(scope, request.target),
  },
  {
    text: 'D 2.5: an entry of clusters allows the direct endpoint of the cluster',
    applies: ({ scope, request }) => reachesByCluster(scope, request.target),
  },
  {
    text: 'D 2.5, N 7: a role allows what its expansion names',
    applies: ({ scope, request, configuration }) =>
      (scope.roles ?? []).some((role) => roleAllows(role, request, configuration)),
  },
  {
    text: 'D 2.5: `allowPlatformCli: true` is the role platform-cli',
    applies: ({ scope, request, configuration }) =>
      scope.allowPlatformCli === true && roleAllows({ role: 'platform-cli' }, request, configuration),
  },
];

export const entries: readonly Sentence<ScopeQuestion>[] = [
  ...plainEntries.map(({ text, applies }) => ({
    text,
    applies: (question: ScopeQuestion) =>
      // N 9: "On proxied targets a scope allows a subresource `proxy` only by a rule …".
      !isProxyOnProxied(question.request) &&
      // N 10: "… matches no scope entry and no base".
      (question.request.isResource || !isOddPath(question.request.path)) &&
      applies(question),
  })),
  {
    text: 'R 2.2, D 2.6: a deprecated rule all of whose conditions hold allows',
    applies: ({ scope, request }) => (scope.rules ?? []).some((rule) => ruleMatches(rule, request)),
  },
];

/** D 2.3: "The same discovery and self-reviews on every target that a scope entry can reach." */
function reaches(scope: MatrixScope, target: MatrixTarget): boolean {
  return (
    // D 2.3: "Base grant of every live key, scope `{}` included" on Management.
    target.kind === 'Management' ||
    reachesByProject(scope, target) ||
    reachesBySpace(scope, target) ||
    reachesByVirtualCluster(scope, target) ||
    reachesByCluster(scope, target) ||
    (scope.rules ?? []).some((rule) => ruleAdmitsTarget(rule, target))
  );
}

/** N 8: "`projects` its virtual clusters and spaces". R 2.2: "`*` selects all projects". */
function reachesByProject(scope: MatrixScope, target: MatrixTarget): boolean {
  if (target.kind !== 'ProjectVirtualCluster' && target.kind !== 'ProjectSpace') return false;
  return (scope.projects ?? []).some(({ project }) => project === '*' || project === target.project);
}

/** R 2.2: "`*` selects all spaces". */
function reachesBySpace(scope: MatrixScope, target: MatrixTarget): boolean {
  if (target.kind !== 'ProjectSpace') return false;
  return (scope.spaces ?? []).some(
    ({ project, space }) => project === target.project && (space === '*' || space === target.space),
  );
}

/** R 2.2: "`*` selects all virtual clusters". */
function reachesByVirtualCluster(scope: MatrixScope, target: MatrixTarget): boolean {
  if (target.kind !== 'ProjectVirtualCluster') return false;
  return (scope.virtualClusters ?? []).some(
    ({ project, virtualCluster }) =>
      project === target.project && (virtualCluster === '*' || virtualCluster === target.virtualCluster),
  );
}

/** R 2.2: "`*` selects all clusters". */
function reachesByCluster(scope: MatrixScope, target: MatrixTarget): boolean {
  if (target.kind !== 'Cluster') return false;
  return (scope.clusters ?? []).some(({ cluster }) => cluster === '*' || cluster === target.cluster);
}
