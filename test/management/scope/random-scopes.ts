import fc from 'fast-check';
import { parseScope } from '../../../src/management/scope/parse-scope.ts';
import type { AccessRequest, Destination } from '../../../src/management/scope/request.ts';
import type { Scope } from '../../../src/management/scope/scope.ts';

// Few words, so that scopes and requests meet often.
const names = fc.constantFrom('a', 'b');
const starred = fc.constantFrom('a', 'b', '*');
const instances = fc.constantFrom('v', 'w');
const starredInstances = fc.constantFrom('v', 'w', '*');
const clusters = fc.constantFrom('c1', 'c2', '*');
const spaces = fc.constantFrom('s', '*');
const verbs = fc.constantFrom('get', 'list', 'create', 'post');
export const few = <T>(of: fc.Arbitrary<T>, most = 2) => fc.array(of, { maxLength: most });
const optional = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined, freq: 3 });

const patterns = fc.constantFrom(
  'pods',
  'pods/log',
  'pods/proxy',
  'pods/*',
  '*/log',
  '*/proxy',
  '*',
  'virtualclusterinstances',
);
export const rules = fc.record({
  verbs: few(verbs),
  resources: few(fc.record({ group: fc.constantFrom('', 'management.platform'), resources: few(patterns) }), 1),
  resourceNames: few(fc.constantFrom('v', 'w'), 1),
  namespaces: few(fc.constantFrom('', 'p-a', 'a-s'), 2),
  nonResourceURLs: few(fc.constantFrom('/metrics', '/logs/*', '/logs/x', '*'), 1),
  requestTargets: few(fc.constantFrom('Management', 'Cluster', 'ProjectSpace', 'ProjectVirtualCluster')),
  cluster: fc.constantFrom('', '', 'c1'),
  virtualClusters: few(fc.record({ name: fc.constantFrom('', 'v'), namespace: fc.constantFrom('', 'p-a') }), 1),
});
const roles = fc.record({
  role: fc.constantFrom('platform-cli', 'vcluster', 'agent', 'metrics-reader'),
  projects: few(names, 1),
  virtualClusters: few(fc.constantFrom('a/v', 'b/v'), 1),
});
export const scopeValues = fc.record({
  roles: optional(few(roles)),
  projects: optional(few(fc.record({ project: starred }))),
  spaces: optional(few(fc.record({ project: names, space: spaces }))),
  virtualClusters: optional(few(fc.record({ project: names, virtualCluster: starredInstances }))),
  clusters: optional(few(fc.record({ cluster: clusters }))),
  rules: optional(few(rules, 3)),
  allowPlatformCli: optional(fc.boolean()),
});

// Entries with a fault fall away, so that the rest is a scope that could be stored.
export const scopes: fc.Arbitrary<Scope> = scopeValues.map((value) => parseScope(value).scope);

const targets: fc.Arbitrary<Destination> = fc.oneof(
  fc.constant({ kind: 'Management' as const }),
  fc.record({ kind: fc.constant('Cluster' as const), cluster: fc.constantFrom('c1', 'c2') }),
  fc.record({ kind: fc.constant('ProjectSpace' as const), project: names, space: fc.constant('s') }),
  fc.record({ kind: fc.constant('ProjectVirtualCluster' as const), project: names, virtualCluster: instances }),
);
export const requests: fc.Arbitrary<AccessRequest> = fc.oneof(
  fc.record({
    isResource: fc.constant(true as const),
    target: targets,
    verb: fc.constantFrom('get', 'list', 'create'),
    group: fc.constantFrom('', 'management.platform'),
    resource: fc.constantFrom('pods', 'virtualclusterinstances', 'ownedaccesskeys', 'revocations', 'agentreports'),
    subresource: fc.constantFrom('', '', 'log', 'proxy'),
    namespace: fc.constantFrom('', 'p-a', 'p-b', 'a-s'),
    allNamespaces: fc.boolean(),
    name: fc.constantFrom('', 'v', 'w', 'own'),
  }),
  fc.record({
    isResource: fc.constant(false as const),
    target: targets,
    verb: fc.constantFrom('get', 'post'),
    path: fc.constantFrom('/metrics', '/logs/x', '/logs/y/z', '/version', '/a/../metrics'),
  }),
);
