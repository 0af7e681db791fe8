// Requests for a credential that no body can save, because whatever they could make would be wider than its maker.
import type { MatrixConfiguration, MatrixKey, MatrixRequest, MatrixRule, MatrixScope } from '../matrix-case.ts';
import { isOnInstances, isOnKeys, type ResourceRequest } from './request.ts';
import { asksForCertificate } from './rights.ts';
import { isEmpty, type Sentence } from './sentence.ts';
import { isAdministrator, teamsOf } from './subject.ts';

export interface IssuingQuestion {
  /** In force: the own one and those of the makers. */
  scopes: readonly MatrixScope[];
  key: MatrixKey;
  configuration: MatrixConfiguration;
  request: MatrixRequest;
}

export const alwaysRefused: readonly Sentence<IssuingQuestion>[] = [
  {
    text: 'D 2.4, D 2.14, D 5.2: the key of a kubeconfig opens the whole virtual cluster, so one entry of each scope must cover it',
    applies: ({ scopes, request }) =>
      isOnInstances(request) &&
      request.subresource === 'kubeconfig' &&
      request.verb === 'create' &&
      // Rules are all that can allow the request without covering the cluster, and with rules there is no certificate either (N 5).
      !asksForCertificate(request) &&
      !scopes.every((scope) => coversCluster(scope, request)),
  },
  {
    text: 'D 2.7, D 2.8, D 2.14: keys of a subject are made by administrators, and a subject in no team owns no others',
    applies: ({ scopes, key, configuration, request }) =>
      isOnKeys(request) &&
      request.verb === 'create' &&
      request.subresource === '' &&
      key.subject !== undefined &&
      teamsOf(key, configuration).size === 0 &&
      !(isAdministrator(key, configuration) && scopes.length === 0),
  },
];

/** D 2.4: "every entry of the child is covered by one entry of the parent". */
function coversCluster(scope: MatrixScope, { namespace, name }: ResourceRequest): boolean {
  if ((scope.rules ?? []).some(isAnything)) return true;
  if (!namespace.startsWith('p-') || namespace === 'p-') return false;
  const project = namespace.slice('p-'.length);
  return (
    (scope.projects ?? []).some((entry) => entry.project === '*' || entry.project === project) ||
    (scope.virtualClusters ?? []).some(
      (entry) =>
        entry.project === project && (entry.virtualCluster === '*' || (name !== '' && entry.virtualCluster === name)),
    )
  );
}

/** A rule without a condition, but for targets that leave the instance and its API. */
function isAnything(rule: MatrixRule): boolean {
  const { requestTargets: targets = [], verbs = [] } = rule;
  return (
    (verbs.length === 0 || verbs.join() === '*') &&
    [rule.resources, rule.resourceNames, rule.namespaces, rule.nonResourceURLs, rule.virtualClusters].every(isEmpty) &&
    (rule.cluster ?? '') === '' &&
    (targets.length === 0 || ['Management', 'ProjectVirtualCluster'].every((target) => targets.includes(target)))
  );
}
