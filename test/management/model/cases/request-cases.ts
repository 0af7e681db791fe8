// Requests to all four targets, with the shapes that a reader of URLs produces.
import type { MatrixRequest, MatrixTarget } from '../../matrix-case.ts';
import type { Dice } from '../dice.ts';
import { missing, names } from './configuration-cases.ts';

interface Shape {
  group: string;
  resource: string;
  namespaced: boolean;
  subresources: readonly string[];
  /** Names that requests ask for. */
  instances: readonly string[];
}

const keyNames = ['k-self', 'k-self', 'k-other', 'k-team', 'k-maker', 'k-absent'];

const keyShape = shape('management.platform', 'ownedaccesskeys', false, ['rotate', 'status'], keyNames);

const instanceShape = shape(
  'management.platform',
  'virtualclusterinstances',
  true,
  ['kubeconfig', 'kubeconfig', 'kubeconfig', 'status'],
  ['v1', 'v2', 'v9'],
);

const revocationShape = shape('management.platform', 'revocations', false, ['status'], ['x']);
const reportShape = shape('management.platform', 'agentreports', false, ['status'], ['x']);

/** Instances are listed three times: the rights of project members are about them. */
const managementShapes: readonly Shape[] = [
  instanceShape,
  instanceShape,
  instanceShape,
  keyShape,
  shape('management.platform', 'directclusterendpointtokens', false, ['status'], ['x']),
  revocationShape,
  reportShape,
  shape('', 'configmaps', true, [], ['web', 'v1']),
];

const reviewShapes: readonly Shape[] = [
  shape('authorization.k8s.io', 'selfsubjectaccessreviews', false, ['status'], ['x']),
  shape('authorization.k8s.io', 'selfsubjectrulesreviews', false, [], ['x']),
  shape('authorization.k8s.io', 'subjectaccessreviews', false, [], ['x']),
  shape('authentication.k8s.io', 'selfsubjectreviews', false, [], ['x']),
  shape('authorization.k8s.io', 'selfsubjectreviews', false, [], ['x']),
];

const proxiedShapes: readonly Shape[] = [
  shape('', 'pods', true, ['log', 'exec', 'proxy', 'status'], ['web', 's1', 'v1']),
  shape('', 'services', true, ['proxy'], ['web']),
  shape('', 'nodes', false, ['proxy', 'status'], ['web']),
  shape('apps', 'deployments', true, ['status', 'scale'], ['web']),
  shape('', 'namespaces', false, ['status'], ['default']),
];

function shape(
  group: string,
  resource: string,
  namespaced: boolean,
  subresources: readonly string[],
  instances: readonly string[],
): Shape {
  return { group, resource, namespaced, subresources, instances };
}

const paths = [
  ...['/', '/api', '/apis', '/apis/apps/v1', '/apis/', '/openapi/v3', '/version', '/healthz', '/livez/ping', '/readyz'],
  ...['/metrics', '/metrics/', '/metrics/x', '/debug/pprof/heap', '/apisx', '/healthz/', '/logs'],
  ...[
    '//',
    '/api//v1',
    '/apis/../metrics',
    '/apis/./v1',
    '/version/%2e',
    '/metrics//',
    '/healthz%2fping',
    '/debug/pprof//heap',
    '',
  ],
];

export const targetKinds: readonly MatrixTarget['kind'][] = [
  'Management',
  'Cluster',
  'ProjectSpace',
  'ProjectVirtualCluster',
];

export function targetOf(kind: MatrixTarget['kind'], dice: Dice): MatrixTarget {
  const project = dice.chance(4) ? missing.project : dice.pick(names.projects);
  switch (kind) {
    case 'Management':
      return { kind };
    case 'Cluster':
      return { kind, cluster: dice.chance(4) ? missing.cluster : dice.pick(names.clusters) };
    case 'ProjectSpace':
      return { kind, project, space: dice.chance(4) ? missing.space : dice.pick(names.spaces) };
    case 'ProjectVirtualCluster':
      return {
        kind,
        project,
        virtualCluster: dice.chance(4) ? missing.virtualCluster : dice.pick(names.virtualClusters),
      };
    default:
      return kind satisfies never;
  }
}

/** A request that concerns virtual cluster instances, which projects, virtualClusters and most roles are about. */
export function instanceRequest(target: MatrixTarget, dice: Dice): MatrixRequest {
  return resourceRequest(target, instanceShape, dice);
}

/** A request that concerns keys: those of the case and one that does not exist. */
export function keyRequest(target: MatrixTarget, dice: Dice): MatrixRequest {
  return resourceRequest(target, keyShape, dice);
}

/** A request to a path that the role metrics-reader is about. */
export function metricsRequest(target: MatrixTarget, dice: Dice): MatrixRequest {
  const path = dice.pick(paths.filter((candidate) => candidate.startsWith('/metrics')));
  const verb = dice.chance(80) ? 'get' : dice.pick(['head', 'get', 'post']);
  return { target, isResource: false, verb, path };
}

/** A request that concerns what agents read and send. */
export function agentRequest(target: MatrixTarget, dice: Dice): MatrixRequest {
  const isReport = dice.chance(50);
  const request = resourceRequest(target, isReport ? reportShape : revocationShape, dice);
  if (!request.isResource || dice.chance(30)) return request;
  const cluster = dice.chance(10) ? missing.cluster : dice.pick(names.clusters);
  if (isReport) return { ...request, verb: 'create', subresource: '', name: '', cluster };
  return { ...request, verb: dice.pick(['list', 'watch']), subresource: '' };
}

export function requestOf(target: MatrixTarget, dice: Dice): MatrixRequest {
  if (dice.chance(25)) {
    const verb = dice.pick(['get', 'get', 'get', 'head', 'post', 'post', 'put', 'delete', 'options']);
    return { target, isResource: false, verb, path: dice.pick(paths) };
  }
  if (dice.chance(10)) return resourceRequest(target, dice.pick(reviewShapes), dice);
  const [likely, unlikely] =
    target.kind === 'Management' ? [managementShapes, proxiedShapes] : [proxiedShapes, managementShapes];
  return resourceRequest(target, dice.pick(dice.chance(90) ? likely : unlikely), dice);
}

function resourceRequest(target: MatrixTarget, of: Shape, dice: Dice): MatrixRequest {
  const { group, resource } = of;
  const isReview = resource.endsWith('reviews') || resource.endsWith('tokens');
  const subresource = of.subresources.length > 0 && dice.chance(isReview ? 8 : 35) ? dice.pick(of.subresources) : '';
  const verb = verbOf(isReview, subresource, dice);
  const base = { target, isResource: true as const, verb, group, resource, subresource };
  const wantsName = subresource !== '' || ['get', 'update', 'patch', 'delete'].includes(verb);
  const mayName = verb === 'list' || verb === 'watch';
  const name = wantsName || (mayName && dice.chance(30)) ? dice.pick(of.instances) : '';
  const clientCert =
    target.kind === 'Management' && subresource === 'kubeconfig' && verb === 'create' && dice.chance(50)
      ? { clientCert: true }
      : {};
  return { ...base, ...placeOf(of, target, { dice, verb, name }), name, ...clientCert };
}

function verbOf(isReview: boolean, subresource: string, dice: Dice): string {
  if (isReview && dice.chance(75)) return 'create';
  if (subresource !== '')
    return dice.chance(65) ? 'create' : dice.pick(['get', 'update', 'patch', 'delete', 'list', 'watch']);
  return dice.pick(['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']);
}

function placeOf(
  of: Shape,
  target: MatrixTarget,
  { dice, verb, name }: { dice: Dice; verb: string; name: string },
): { namespace: string; allNamespaces?: boolean } {
  // In a URL of a namespace object, its name is also read as the namespace of the request.
  if (of.resource === 'namespaces' && name !== '' && dice.chance(50)) return { namespace: name };
  if (!of.namespaced) return { namespace: dice.chance(4) ? 'p-shop' : '' };
  if (['list', 'watch', 'deletecollection', 'create'].includes(verb) && dice.chance(15))
    return { namespace: '', allNamespaces: true };
  return { namespace: namespaceOf(target, dice) };
}

function namespaceOf(target: MatrixTarget, dice: Dice): string {
  if (target.kind === 'ProjectSpace' && dice.chance(70)) return `${target.project}-${target.space}`;
  const inProjects = [...names.projects, ...names.projects, ...names.projects].map((project) => `p-${project}`);
  if (target.kind === 'Management') return dice.pick([...inProjects, 'p-', 'p-gone', 'default']);
  return dice.pick(['default', 'kube-system', 'shop-s1', 'shop-s2', 'p-shop']);
}
