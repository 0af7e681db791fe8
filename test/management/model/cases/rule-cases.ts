// The deprecated rules of scopes, each condition alone and then all of them mixed.
import type { MatrixRule, MatrixScope } from '../../matrix-case.ts';
import type { Dice } from '../dice.ts';
import { missing, names } from './configuration-cases.ts';

const verbLists = [
  ['*'],
  ['get'],
  ['get', 'list', 'watch'],
  ['create'],
  ['update', 'patch', 'delete'],
  ['post', 'head'],
];

/** With a wildcard present, entries must not overlap. */
const resourceLists: NonNullable<MatrixRule['resources']>[] = [
  [{ group: '', resources: ['pods'] }],
  [{ resources: ['pods', 'pods/log'] }],
  [{ group: '', resources: ['pods/*'] }],
  [{ group: '', resources: ['pods', 'services/proxy', 'pods/proxy'] }],
  [{ group: '', resources: ['*/proxy'] }],
  [{ group: '', resources: ['*/log', 'nodes'] }],
  [{ group: '', resources: ['*'] }],
  [{ group: '' }],
  [{ group: 'apps', resources: ['deployments', 'deployments/status'] }],
  [
    { group: 'apps', resources: [] },
    { group: '', resources: ['*/status', 'pods'] },
  ],
  [{ group: 'management.platform', resources: ['ownedaccesskeys'] }],
  [{ group: 'management.platform', resources: ['ownedaccesskeys', 'ownedaccesskeys/rotate'] }],
  [{ group: 'management.platform', resources: ['ownedaccesskeys/*'] }],
  [{ group: 'management.platform', resources: ['*'] }],
  [{ group: 'management.platform', resources: ['virtualclusterinstances', 'directclusterendpointtokens'] }],
  [{ group: 'management.platform', resources: ['virtualclusterinstances/kubeconfig'] }],
  [{ group: 'management.platform', resources: ['*/kubeconfig', 'ownedaccesskeys'] }],
];

const instanceNames = ['v1', 'v2', 'web', 'k-self', 'k-other', 'k-team', 's1'];
const namespaceLists = [
  [''],
  ['p-shop'],
  ['p-shop', ''],
  ['default', 'shop-s1'],
  ['p-blog', 'p-shop-eu'],
  ['shop-s2', 'kube-system'],
];
const pathLists = [
  ['/metrics'],
  ['*'],
  ['/*'],
  ['/apis/*'],
  ['/debug/*', '/healthz'],
  ['/debug/pprof/*'],
  ['/debug/pprof/*'],
  ['/'],
];
const targetLists = [
  ['Management'],
  ['Cluster'],
  ['ProjectSpace'],
  ['ProjectVirtualCluster'],
  ['Management', 'ProjectVirtualCluster'],
  ['Cluster', 'ProjectSpace'],
];

function virtualClustersOf(dice: Dice): NonNullable<MatrixRule['virtualClusters']> {
  return Array.from({ length: 1 + dice.below(2) }, () => ({
    ...(dice.chance(60) ? { name: dice.pick([...names.virtualClusters, missing.virtualCluster, '']) } : {}),
    ...(dice.chance(60) ? { namespace: dice.pick([...names.projects.map((name) => `p-${name}`), 'default', '']) } : {}),
  }));
}

/** A rule with the given share of conditions that is valid: what the design answers with 422 is left out. */
function mixed(dice: Dice, percent: number): MatrixRule {
  const rule: MatrixRule = {};
  if (dice.chance(percent)) rule.verbs = dice.pick(verbLists);
  if (dice.chance(percent)) rule.requestTargets = dice.pick(targetLists);
  const restriction = dice.below(300);
  if (restriction < percent) rule.cluster = dice.pick(names.clusters);
  else if (restriction < 2 * percent) rule.virtualClusters = virtualClustersOf(dice);
  if (dice.chance(percent / 3)) return { ...rule, nonResourceURLs: dice.pick(pathLists) };
  if (dice.chance(percent)) rule.resources = dice.pick(resourceLists);
  if (rule.resources !== undefined && dice.chance(percent)) rule.resourceNames = dice.some(instanceNames, 4);
  if (dice.chance(percent)) rule.namespaces = dice.pick(namespaceLists);
  return rule;
}

function alone(rule: (dice: Dice) => MatrixRule): (dice: Dice) => MatrixScope {
  return (dice) => ({ rules: [rule(dice)] });
}

export const ruleForms: Record<string, (dice: Dice) => MatrixScope> = {
  'rule without conditions': alone(() => ({})),
  'rule with empty conditions': alone(() => ({
    verbs: [],
    resources: [],
    resourceNames: [],
    namespaces: [],
    nonResourceURLs: [],
    requestTargets: [],
    cluster: '',
    virtualClusters: [],
  })),
  'rule with verbs': alone((dice) => ({ verbs: dice.pick(verbLists) })),
  'rule with resources': alone((dice) => ({ resources: dice.pick(resourceLists) })),
  'rule with resourceNames': alone((dice) => ({
    resources: dice.pick(resourceLists),
    resourceNames: [dice.pick(instanceNames), dice.pick(instanceNames)],
  })),
  'rule with namespaces': alone((dice) => ({ namespaces: dice.pick(namespaceLists) })),
  'rule with nonResourceURLs': alone((dice) => ({ nonResourceURLs: dice.pick(pathLists) })),
  'rule with requestTargets': alone((dice) => ({ requestTargets: dice.pick(targetLists) })),
  'rule with cluster': alone((dice) => ({ cluster: dice.pick([...names.clusters, missing.cluster]) })),
  'rule with virtualClusters': alone((dice) => ({ virtualClusters: virtualClustersOf(dice) })),
  'rule on keys': alone((dice) => ({
    ...(dice.chance(60) ? { verbs: dice.pick(verbLists) } : {}),
    resources: [
      { group: 'management.platform', resources: dice.pick([['ownedaccesskeys'], ['ownedaccesskeys/rotate'], ['*']]) },
    ],
    ...(dice.chance(50) ? { resourceNames: [dice.pick(['k-self', 'k-other', 'k-team', 'k-absent'])] } : {}),
  })),
  'rules mixed': (dice) => ({ rules: Array.from({ length: 1 + dice.below(2) }, () => mixed(dice, 45)) }),
};
