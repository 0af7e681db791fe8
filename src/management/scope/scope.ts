// What a request is about and whether a credential may send it. This file is a scope as the evaluator uses it: a flat list of entries,
// each with its place in the object so that an explanation can name it. A key without scope has no Scope at all; a scope without
// entries allows the base grant and nothing else. In: requests, subjects, scopes, the configuration. Out: decisions with their reason.
// Must never know HTTP beyond method and URL, the store, the time, or whether a named object exists.

export const requestTargets = ['Management', 'Cluster', 'ProjectSpace', 'ProjectVirtualCluster'] as const;
export type RequestTarget = (typeof requestTargets)[number];

export const roleNames = [
  'platform-cli',
  'vcluster',
  'agent',
  'network-peer',
  'workspace',
  'metrics-reader',
  'metrics-writer',
] as const;
export type RoleName = (typeof roleNames)[number];

/** Roles that only an administrator gives to a key. */
export const administratorRoles: ReadonlySet<RoleName> = new Set(['agent', 'vcluster', 'network-peer', 'workspace']);

/** Stands for all projects, spaces, virtual clusters or clusters where the requirements allow it. */
export const all = '*';

export interface RoleEntry {
  kind: 'role';
  role: RoleName;
  /** Both empty = not narrowed. */
  projects: readonly string[];
  virtualClusters: readonly InstanceName[];
}

export interface InstanceName {
  project: string;
  name: string;
}

export interface RuleResources {
  group: string;
  /** Empty = everything in the group. */
  patterns: readonly string[];
}

export interface RuleEntry {
  kind: 'rule';
  /** Empty = every verb. */
  verbs: readonly string[];
  resources: readonly RuleResources[];
  resourceNames: readonly string[];
  namespaces: readonly string[];
  nonResourceURLs: readonly string[];
  /** The places that requestTargets, cluster and virtualClusters permit together. */
  targets: ReadonlySet<RequestTarget>;
  cluster: string;
  virtualClusters: readonly { name: string; namespace: string }[];
}

export type EntryBody =
  | { kind: 'project'; project: string }
  | { kind: 'space'; project: string; space: string }
  | { kind: 'virtualCluster'; project: string; virtualCluster: string }
  | { kind: 'cluster'; cluster: string }
  | RoleEntry
  | RuleEntry;

export type Entry = EntryBody & {
  /** `spec.scope.projects[0]`. */
  path: string;
};

export interface Scope {
  entries: readonly Entry[];
}

/** Undefined = no scope: only the rights of the subject limit the request. */
export type MaybeScope = Scope | undefined;
