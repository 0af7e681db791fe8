// Requests that are aimed at a scope: without aim nearly all random requests miss the few things that a scope names, and a
// matrix of refusals proves little.
import type { MatrixRequest, MatrixRule, MatrixScope, MatrixTarget } from '../matrix-case.ts';
import { agentRequest, instanceRequest, metricsRequest } from './cases/request-cases.ts';
import type { Dice } from './dice.ts';

const clusterScoped = ['ownedaccesskeys', 'directclusterendpointtokens', 'nodes', 'namespaces'];

/** Puts names of the scope into the target. */
export function aimTarget(target: MatrixTarget, scope: MatrixScope, dice: Dice): MatrixTarget {
  const projects = [...(scope.projects ?? []), ...(scope.spaces ?? []), ...(scope.virtualClusters ?? [])].map(
    (entry) => entry.project,
  );
  const project = named(projects, dice);
  switch (target.kind) {
    case 'Management':
      return target;
    case 'Cluster': {
      const rules = (scope.rules ?? []).map((rule) => rule.cluster ?? '');
      const cluster = named([...(scope.clusters ?? []).map((entry) => entry.cluster), ...rules], dice);
      return { ...target, ...(cluster === undefined ? {} : { cluster }) };
    }
    case 'ProjectSpace': {
      const space = named(
        (scope.spaces ?? []).map((entry) => entry.space),
        dice,
      );
      return { ...target, ...(project === undefined ? {} : { project }), ...(space === undefined ? {} : { space }) };
    }
    case 'ProjectVirtualCluster': {
      const virtualCluster = named(
        (scope.virtualClusters ?? []).map((entry) => entry.virtualCluster),
        dice,
      );
      return {
        ...target,
        ...(project === undefined ? {} : { project }),
        ...(virtualCluster === undefined ? {} : { virtualCluster }),
      };
    }
    default:
      return target satisfies never;
  }
}

/** Puts parts of a scope into the request: a namespace of a project, and what a rule names. */
export function aimRequest(request: MatrixRequest, scope: MatrixScope, dice: Dice): MatrixRequest {
  const rules = scope.rules ?? [];
  const byRule = rules.length === 0 ? aimAtEntries(request, scope, dice) : aimAtRule(request, dice.pick(rules), dice);
  if (!byRule.isResource || byRule.target.kind !== 'Management' || byRule.resource !== 'virtualclusterinstances')
    return byRule;
  const roles = scope.roles ?? [];
  const texts = roles.flatMap((role) => role.virtualClusters ?? []);
  const project = named(
    [
      ...[...(scope.projects ?? []), ...(scope.virtualClusters ?? [])].map((entry) => entry.project),
      ...roles.flatMap((role) => role.projects ?? []),
      ...texts.map((text) => text.split('/')[0] ?? ''),
    ],
    dice,
  );
  return project === undefined ? byRule : { ...byRule, namespace: `p-${project}`, allNamespaces: false };
}

function aimAtEntries(request: MatrixRequest, scope: MatrixScope, dice: Dice): MatrixRequest {
  if (request.target.kind !== 'Management' || !dice.chance(70)) return request;
  const roles = (scope.roles ?? []).map(({ role }) => role);
  if (roles.includes('agent')) return agentRequest(request.target, dice);
  if (roles.includes('metrics-reader')) return metricsRequest(request.target, dice);
  const entries = [...roles, ...(scope.projects ?? []), ...(scope.virtualClusters ?? [])];
  return entries.length > 0 || scope.allowPlatformCli === true ? instanceRequest(request.target, dice) : request;
}

function named(values: readonly string[], dice: Dice): string | undefined {
  const plain = values.filter((value) => value !== '*' && value !== '');
  return plain.length === 0 ? undefined : dice.pick(plain);
}

function aimAtRule(request: MatrixRequest, rule: MatrixRule, dice: Dice): MatrixRequest {
  if (!request.isResource) {
    const path = named(rule.nonResourceURLs ?? [], dice);
    return path === undefined ? request : { ...request, path: path.replace('*', 'x/y') };
  }
  const aimed = { ...request };
  const entry = (rule.resources ?? []).length > 0 ? dice.pick(rule.resources ?? []) : undefined;
  const pattern = named(entry?.resources ?? [], dice);
  if (entry !== undefined && pattern !== undefined) {
    const [resource = '', subresource = ''] = pattern.split('/');
    aimed.group = entry.group ?? '';
    if (resource !== '*') aimed.resource = resource;
    aimed.subresource = subresource === '*' ? 'status' : subresource;
    if (aimed.subresource !== '' && aimed.name === '') aimed.name = 'k-other';
  }
  const verb = named(rule.verbs ?? [], dice);
  if (verb !== undefined && (aimed.name !== '') === takesName(verb)) aimed.verb = verb;
  const name = named(rule.resourceNames ?? [], dice);
  if (name !== undefined && aimed.name !== '') aimed.name = name;
  const namespace = named(rule.namespaces ?? [], dice);
  if (aimed.resource !== 'virtualclusterinstances' || aimed.subresource !== 'kubeconfig' || aimed.verb !== 'create')
    delete aimed.clientCert;
  if (clusterScoped.includes(aimed.resource)) {
    aimed.namespace = '';
    delete aimed.allNamespaces;
  } else if (aimed.allNamespaces !== true) {
    aimed.namespace = namespace ?? (aimed.namespace === '' ? 'default' : aimed.namespace);
  }
  return aimed;
}

function takesName(verb: string): boolean {
  return ['get', 'update', 'patch', 'delete'].includes(verb);
}
