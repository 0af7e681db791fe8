// Programs that forget one thing. Each changes a case as such a program would read it; the cells are good for something only
// when every one of these programs answers some of them wrongly.
import type { MatrixCase, MatrixKey, MatrixRule, MatrixScope } from '../matrix-case.ts';

export type Forgetting = (of: MatrixCase) => MatrixCase;

function inKeys(change: (key: MatrixKey) => MatrixKey): Forgetting {
  return (of) => ({ ...of, keys: of.keys.map(change) });
}

function withoutInKeys(part: keyof MatrixKey): Forgetting {
  return inKeys((key) => ({ ...key, [part]: undefined }));
}

function inScopes(change: (scope: MatrixScope) => MatrixScope): Forgetting {
  return inKeys((key) => (key.scope === undefined ? key : { ...key, scope: change(key.scope) }));
}

function withoutInScopes(part: keyof MatrixScope): Forgetting {
  return inScopes((scope) => ({ ...scope, [part]: undefined }));
}

function withoutInRules(part: keyof MatrixRule): Forgetting {
  return inScopes((scope) => ({
    ...scope,
    rules: (scope.rules ?? []).map((rule) => ({ ...rule, [part]: undefined })),
  }));
}

function inConfiguration(
  change: (configuration: MatrixCase['configuration']) => MatrixCase['configuration'],
): Forgetting {
  return (of) => ({ ...of, configuration: change(of.configuration) });
}

function inRequest(change: (request: MatrixCase['request']) => MatrixCase['request']): Forgetting {
  return (of) => ({ ...of, request: change(of.request) });
}

const keyParts = [
  ...([
    'deletionTimestamp',
    'lastActivity',
    'groups',
    'grantedGroups',
    'disabled',
    'ttl',
    'ttlAfterLastActivity',
  ] as const),
  ...(['scope', 'madeBy'] as const),
];
const scopeParts = ['roles', 'projects', 'spaces', 'virtualClusters', 'clusters', 'rules', 'allowPlatformCli'] as const;
const ruleParts = [
  ...(['verbs', 'resources', 'resourceNames', 'namespaces', 'nonResourceURLs', 'requestTargets', 'cluster'] as const),
  'virtualClusters' as const,
];

export const forgetful: Readonly<Record<string, Forgetting>> = {
  ...Object.fromEntries(keyParts.map((part) => [`${part} of keys`, withoutInKeys(part)])),
  ...Object.fromEntries(scopeParts.map((part) => [`${part} of scopes`, withoutInScopes(part)])),
  ...Object.fromEntries(ruleParts.map((part) => [`${part} of rules`, withoutInRules(part)])),
  'that roles are narrowed': inScopes((scope) => ({
    ...scope,
    roles: (scope.roles ?? []).map(({ role }) => ({ role })),
  })),
  'administrators by name': inConfiguration((it) => ({ ...it, administrators: { ...it.administrators, users: [] } })),
  'administrators by group': inConfiguration((it) => ({ ...it, administrators: { ...it.administrators, groups: [] } })),
  'that users are disabled': inConfiguration((it) => ({
    ...it,
    users: it.users.map((user) => ({ ...user, disabled: false })),
  })),
  'groups of users': inConfiguration((it) => ({ ...it, users: it.users.map((user) => ({ ...user, groups: [] })) })),
  'users of teams': inConfiguration((it) => ({ ...it, teams: it.teams.map((team) => ({ ...team, users: [] })) })),
  'groups of teams': inConfiguration((it) => ({ ...it, teams: it.teams.map((team) => ({ ...team, groups: [] })) })),
  'members of clusters': inConfiguration((it) => ({
    ...it,
    clusters: it.clusters.map((cluster) => ({ ...cluster, members: [] })),
  })),
  'that roles of projects differ': inConfiguration((it) => ({
    ...it,
    projects: it.projects.map((project) => ({
      ...project,
      members: (project.members ?? []).map((member) => ({ ...member, role: 'admin' as const })),
    })),
  })),
  'namespaces of spaces': inConfiguration((it) => ({
    ...it,
    projects: it.projects.map((project) => ({ ...project, spaces: [] })),
  })),
  subresources: inRequest((it) => (it.isResource ? { ...it, subresource: '' } : it)),
  'groups of resources': inRequest((it) => (it.isResource ? { ...it, group: '' } : it)),
  'names of requests': inRequest((it) => (it.isResource ? { ...it, name: '' } : it)),
  'that a request is across all namespaces': inRequest((it) => (it.isResource ? { ...it, allNamespaces: false } : it)),
  clientCert: inRequest((it) => (it.isResource ? { ...it, clientCert: false } : it)),
  'that creation differs from other verbs': inRequest((it) => (it.verb === 'create' ? { ...it, verb: 'get' } : it)),
  'that paths are odd': inRequest((it) =>
    it.isResource ? it : { ...it, path: it.path.replaceAll(/%|\.\.?\/|\/(?=\/)/g, '') },
  ),
};
