import { describe, expect, it } from 'vitest';
import { parseScope } from '../../../src/management/scope/parse-scope.ts';
import { fieldErrorText } from '../../../src/object/meta/field-error.ts';

function faults(value: unknown): string[] {
  return parseScope(value).errors.map(fieldErrorText);
}

const rule = (...rules: object[]) => ({ rules });
const of = (...resources: string[]) => rule({ resources: [{ resources }] });

describe('parseScope()', () => {
  it('accepts the example of every field', () => {
    const { scope, errors } = parseScope({
      roles: [{ role: 'platform-cli', projects: ['a'], virtualClusters: ['a/v'] }],
      projects: [{ project: '*' }],
      spaces: [{ project: 'a', space: '*' }],
      virtualClusters: [{ project: 'a', virtualCluster: 'v' }],
      clusters: [{ cluster: '*' }],
      rules: [
        {
          verbs: ['get', 'list'],
          resources: [{ group: 'apps', resources: ['deployments', 'deployments/scale'] }, { group: '' }],
          resourceNames: ['x'],
          namespaces: ['', 'y'],
          requestTargets: ['Management', 'Cluster', 'ProjectSpace', 'ProjectVirtualCluster'],
        },
        { nonResourceURLs: ['/metrics', '/logs/*', '*'] },
        { cluster: 'c1' },
        { virtualClusters: [{ name: 'v' }, { namespace: 'p-a' }, {}] },
      ],
      allowPlatformCli: true,
    });
    expect(errors).toEqual([]);
    expect(scope.entries.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
      'role spec.scope.roles[0]',
      'project spec.scope.projects[0]',
      'space spec.scope.spaces[0]',
      'virtualCluster spec.scope.virtualClusters[0]',
      'cluster spec.scope.clusters[0]',
      'rule spec.scope.rules[0]',
      'rule spec.scope.rules[1]',
      'rule spec.scope.rules[2]',
      'rule spec.scope.rules[3]',
      'role spec.scope.allowPlatformCli',
    ]);
  });

  it('has no entry for an empty object', () => {
    expect(parseScope({})).toEqual({ scope: { entries: [] }, errors: [], warnings: [] });
  });

  const cases: [says: string, value: unknown, expected: string[]][] = [
    [
      'an unknown role',
      { roles: [{ role: 'admin' }, {}] },
      [
        'spec.scope.roles[0].role: Unsupported value: "admin": supported values: "platform-cli", "vcluster", "agent", "network-peer", "workspace", "metrics-reader", "metrics-writer"',
        'spec.scope.roles[1].role: Required value: one of platform-cli, vcluster, agent, network-peer, workspace, metrics-reader, metrics-writer',
      ],
    ],
    [
      'names inside a role',
      { roles: [{ role: 'agent', projects: ['*', 'a'], virtualClusters: ['v', 'a/v', 'a/v/x'] }] },
      [
        'spec.scope.roles[0].projects[0]: Invalid value: "*": must be the name of a project',
        'spec.scope.roles[0].virtualClusters[0]: Invalid value: "v": must be PROJECT/NAME of a virtual cluster',
        'spec.scope.roles[0].virtualClusters[2]: Invalid value: "a/v/x": must be PROJECT/NAME of a virtual cluster',
      ],
    ],
    [
      'missing and bad names',
      {
        projects: [{}, { project: 'A' }],
        spaces: [{ space: 's' }, { project: '*', space: 's' }],
        virtualClusters: [{ virtualCluster: '*' }, { project: 'a' }],
        clusters: [{ cluster: '' }, { cluster: 'c*' }],
      },
      [
        'spec.scope.projects[0].project: Required value: a name, or "*" for all',
        'spec.scope.projects[1].project: Invalid value: "A": must be a DNS label, or "*" for all',
        'spec.scope.spaces[0].project: Required value: a name',
        'spec.scope.spaces[1].project: Invalid value: "*": must be a DNS label; "*" is not allowed here',
        'spec.scope.virtualClusters[0].project: Required value: a name',
        'spec.scope.virtualClusters[1].virtualCluster: Required value: a name, or "*" for all',
        'spec.scope.clusters[0].cluster: Required value: a name, or "*" for all',
        'spec.scope.clusters[1].cluster: Invalid value: "c*": must be a DNS label, or "*" for all',
      ],
    ],
    ['names of resources', of('Pods', 'pods/', '/log', 'a/b/c', 'po*'), [0, 1, 2, 3, 4].map((at) => `${at}`)],
    ['a wildcard beside anything', of('pods', '*'), ['1']],
    ['a subresource inside a wildcard', of('pods/*', 'pods/log'), ['1']],
    ['a subresource on all resources', of('pods/log', '*/log'), ['1']],
    ['two wildcards that meet', of('pods/*', '*/log'), ['1']],
    ['the same wildcard twice', of('pods/*', 'pods/*'), ['1']],
    ['no overlap', of('pods', 'pods/*', '*/scale2', 'services', 'services/log'), ['2']],
    ['plain names twice', of('pods', 'pods', 'services/*'), []],
    [
      'resourceNames alone',
      rule({ resourceNames: ['x', ''] }),
      [
        'spec.scope.rules[0].resourceNames[1]: Invalid value: "": must not be empty',
        'spec.scope.rules[0].resources: Required value: resourceNames need the resources that they name',
      ],
    ],
    [
      'paths',
      rule({ nonResourceURLs: ['metrics', '/healthz*', '/*/x', '/a/*', '/a?b', ''] }),
      ['metrics', '/healthz*', '/*/x', '', '', '']
        .slice(0, 3)
        .map(
          (url, at) =>
            `spec.scope.rules[0].nonResourceURLs[${at}]: Invalid value: "${url}": must be a path that begins with /, in which * stands only as the whole last step`,
        ),
    ],
    [
      'paths beside resources and namespaces',
      rule(
        { nonResourceURLs: ['/a'], resources: [{}], namespaces: ['x'] },
        { nonResourceURLs: ['/a'], verbs: ['get'] },
      ),
      [
        'spec.scope.rules[0].nonResourceURLs: Forbidden: may not stand together with resources and namespaces; write two rules',
      ],
    ],
    [
      'cluster beside virtual clusters',
      rule({ cluster: 'c1', virtualClusters: [{}] }),
      [
        'spec.scope.rules[0].virtualClusters: Forbidden: may not stand together with cluster: no request goes to both; write two rules',
      ],
    ],
    [
      'words',
      rule({
        verbs: ['get', '*', 'read'],
        requestTargets: ['VCluster'],
        cluster: '*',
        namespaces: ['A'],
        resources: [{ group: 'Apps' }],
      }),
      [
        'spec.scope.rules[0].verbs[1]: Invalid value: "*": "*" stands alone; it is every verb, as the empty list is',
        'spec.scope.rules[0].verbs[2]: Unsupported value: "read": supported values: "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "head", "post", "put", "options"',
        'spec.scope.rules[0].resources[0].group: Invalid value: "Apps": must be an API group; the empty text is the core group',
        'spec.scope.rules[0].namespaces[0]: Invalid value: "A": must be a DNS label, or empty for requests without namespace',
        'spec.scope.rules[0].cluster: Invalid value: "*": must be the name of a cluster',
        'spec.scope.rules[0].requestTargets[0]: Unsupported value: "VCluster": supported values: "Management", "Cluster", "ProjectSpace", "ProjectVirtualCluster"',
      ],
    ],
  ];
  it.each(cases)('says what is wrong: %s', (says, value, expected) => {
    const found = faults(value);
    // The grammar of resources is compared by position, the rest by its sentence.
    const isShort = expected.every((one) => /^\d$/.test(one));
    if (isShort) expect(found.map((one) => /\.resources\[(\d+)\]:/.exec(one)?.[1])).toEqual(expected);
    else if (says === 'paths') expect(found.slice(0, 3)).toEqual(expected);
    else expect(found).toEqual(expected);
  });

  it('counts the bad paths', () => {
    expect(faults(rule({ nonResourceURLs: ['metrics', '/healthz*', '/*/x', '/a/*', '/a?b', ''] }))).toHaveLength(5);
  });

  it('has a limit', () => {
    const projects = Array.from({ length: 257 }, () => ({ project: 'a' }));
    expect(faults({ projects })).toEqual(['spec.scope: Invalid value: 257: a scope has at most 256 entries']);
    const texts = Array.from({ length: 1025 }, (_, at) => `a${at}`);
    const roles = [{ role: 'vcluster', projects: texts, virtualClusters: texts.map((name) => `a/${name}`) }];
    const resources = Array.from({ length: 200 }, () => ({ resources: texts.slice(0, 10) }));
    for (const [scope, count] of [
      [{ roles }, 2050],
      [{ rules: [{ resources }] }, 2200],
    ] as const)
      expect(faults(scope)).toEqual([
        `spec.scope: Invalid value: ${count}: the lists in the entries of a scope have at most 2048 items altogether`,
      ]);
    for (const [field, entry] of [
      ['resources', { resources: ['pods'] }],
      ['virtualClusters', { project: 'a' }],
    ] as const) {
      const entries = Array.from({ length: 256 }, () => entry);
      const found = (list: readonly object[]) =>
        faults(rule({ resources: [{ resources: ['pods'] }], [field]: list })).filter((one) => /at most/.test(one));
      expect(found(entries)).toEqual([]);
      expect(found([...entries, entry])).toEqual([
        `spec.scope.rules[0].${field}: Invalid value: 257: at most 256 items are allowed`,
      ]);
    }
    const verbs = Array.from({ length: 257 }, () => 'get');
    expect(faults(rule({ verbs }))).toEqual([
      'spec.scope.rules[0].verbs: Invalid value: 257: at most 256 items are allowed',
    ]);
  });

  it('warns of what is deprecated, with its replacement', () => {
    const warnings = (value: unknown) => parseScope(value).warnings;
    expect(warnings(rule({ verbs: ['get'] }))).toEqual([
      'spec.scope.rules: deprecated; use projects, spaces and virtualClusters instead',
    ]);
    expect(warnings({ allowPlatformCli: true })).toEqual([
      'spec.scope.allowPlatformCli: deprecated; use roles with role "platform-cli" instead',
    ]);
    expect(warnings(rule({}, { verbs: [] }))).toEqual([
      'spec.scope.rules: deprecated; use projects, spaces and virtualClusters instead',
      'spec.scope.rules[0]: an empty rule allows everything that the subject may do',
      'spec.scope.rules[1]: an empty rule allows everything that the subject may do',
    ]);
    expect(warnings({ roles: [{ role: 'workspace' }, { role: 'agent' }] })).toEqual([
      'spec.scope.roles[0].role: "workspace" is accepted and allows nothing here',
    ]);
    expect(warnings({ projects: [{ project: 'a' }] })).toEqual([]);
  });

  it('leaves values of a wrong type to the schema', () => {
    expect(parseScope({ projects: 'a', rules: [1], roles: { role: 'agent' } }).scope.entries).toEqual([]);
    expect(parseScope('x').scope.entries).toEqual([]);
  });
});
