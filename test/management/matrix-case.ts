// The questions of the authorisation matrix as plain data, so that two programs that do not know each other can answer the
// same ones. Types only. Where the requirements and the design leave a choice, the comment at the field says the choice.

export type MatrixRole = 'viewer' | 'user' | 'admin';

/** Exactly one of user, team and group. */
export interface MatrixMember {
  user?: string;
  team?: string;
  group?: string;
  /** Members of projects only. */
  role?: MatrixRole;
}

/**
 * The block hostward.management, without files and addresses. The user `admin` is built in and is an administrator, and a
 * user whom administrators.users names exists without an entry in users.
 */
export interface MatrixConfiguration {
  administrators: { users: string[]; groups: string[] };
  users: { name: string; groups?: string[]; disabled?: boolean }[];
  /**
   * A user is in a team by name or by a group. A group that a key lists and that counts makes its bearer a member of the
   * teams that list the group, unless it is a key of a team: that stands for its own team alone.
   */
  teams: { name: string; users?: string[]; groups?: string[] }[];
  clusters: { name: string; members?: MatrixMember[] }[];
  projects: {
    name: string;
    members?: MatrixMember[];
    virtualClusters?: { name: string }[];
    spaces?: { name: string; cluster: string; namespace: string }[];
  }[];
}

/** As requirement 2.2 has it. Every scope of a case is valid: what the API refuses with 422 does not occur. */
export interface MatrixScope {
  roles?: { role: string; projects?: string[]; virtualClusters?: string[] }[];
  projects?: { project: string }[];
  spaces?: { project: string; space: string }[];
  virtualClusters?: { project: string; virtualCluster: string }[];
  clusters?: { cluster: string }[];
  rules?: MatrixRule[];
  allowPlatformCli?: boolean;
}

export interface MatrixRule {
  /** `*` as the only verb is every verb, as the empty list is. */
  verbs?: string[];
  resources?: { group?: string; resources?: string[] }[];
  /** Never matches a create, not even of a subresource whose URL has a name. */
  resourceNames?: string[];
  /** The empty text matches requests without a namespace, but no request across all namespaces. */
  namespaces?: string[];
  /** `/a/*` matches every path that begins with `/a/`. */
  nonResourceURLs?: string[];
  requestTargets?: string[];
  cluster?: string;
  /** The namespace is that of the instance: `p-<project>`. */
  virtualClusters?: { name?: string; namespace?: string }[];
}

export interface MatrixKey {
  name: string;
  /** RFC 3339, as in the object. */
  creationTimestamp: string;
  deletionTimestamp?: string;
  lastActivity?: string;
  /** Exactly one of user, team and subject. */
  user?: string;
  team?: string;
  subject?: string;
  groups?: string[];
  /**
   * Those of `groups` that an administrator granted: they stay. Any other counts only while the user has it in the
   * configuration; teams and subjects hold no groups of their own.
   */
  grantedGroups?: string[];
  disabled?: boolean;
  ttl?: number;
  ttlAfterLastActivity?: boolean;
  scope?: MatrixScope;
  /**
   * Name of the scoped key that made it. The key lives only while its maker does (disabled, expired, deleted, gone, or
   * with a subject that is gone or disabled: refused), and the scopes of all makers must allow as well as its own.
   */
  madeBy?: string;
}

export type MatrixTarget =
  | { kind: 'Management' }
  | { kind: 'Cluster'; cluster: string }
  | { kind: 'ProjectSpace'; project: string; space: string }
  | { kind: 'ProjectVirtualCluster'; project: string; virtualCluster: string };

export type MatrixRequest = { target: MatrixTarget } & (
  | {
      isResource: true;
      /** get, list, watch, create, update, patch, delete, deletecollection; an upgrade is already a create. */
      verb: string;
      group: string;
      resource: string;
      subresource: string;
      /** Empty for cluster-scoped resources and across all namespaces. */
      namespace: string;
      /** The resource is namespaced and the request names no namespace. */
      allNamespaces?: boolean;
      /** Of the URL, or of `fieldSelector=metadata.name=` on a list or watch. Empty when the request names no object. */
      name: string;
      /** Creation of virtualclusterinstances/kubeconfig with spec.clientCert true. */
      clientCert?: boolean;
      /** The cluster in the body of an agentreport; absent while the body is not read. */
      cluster?: string;
    }
  | {
      isResource: false;
      /** The method in lower case. */
      verb: string;
      /** Below the prefix of the target. */
      path: string;
    }
);

/**
 * Choices that hold for the whole matrix:
 *
 * 1. Rights of an administrator are everything on every target. A scope narrows them as it narrows those of anybody else
 *    (so a key of an administrator with role `metrics-reader` reads /metrics); what only *administrators* may do with the
 *    keys of others (2.7, 2.8) needs a key without scope, and the scopes of its makers empty too.
 * 2. Rights of everybody on Management: every verb on ownedaccesskeys (with any subresource) and create of
 *    directclusterendpointtokens of group management.platform, both without namespace; create of selfsubjectaccessreviews and
 *    selfsubjectrulesreviews of authorization.k8s.io and of selfsubjectreviews of authentication.k8s.io; get and head of
 *    `/`, and of /api, /apis, /openapi, /version, /healthz, /livez and /readyz and of every path below these. What
 *    follows the first semicolon is what "discovery and self-reviews" means on proxied targets as well.
 * 3. The base grant has update and patch of its own key too (2.9 limits what may change).
 * 4. Rights and entries look at names alone: whether a project, an instance or a cluster exists is another question. The
 *    one exception is a space: in the rights of members and in the entries `projects` and `spaces`, a request to
 *    ProjectSpace must be a resource request in the namespace that the configuration gives to that space, or discovery
 *    or a self-review. Administrators and rules are not held to it.
 * 5. The rights of project members on Management concern the resource virtualclusterinstances of group
 *    management.platform in namespace `p-<project>`: viewer get, list, watch (no subresource); user plus create of
 *    kubeconfig; admin plus the same with clientCert. On ProjectVirtualCluster and ProjectSpace, user and admin alike
 *    may do everything (4 for spaces); viewer nothing. A cluster member may do everything on Cluster.
 *    clientCert is refused when any scope in force has rules.
 * 6. The entry `projects` allows every resource request on Management in a namespace `p-<project>`; `*` every namespace
 *    that begins with `p-`, never a request across all namespaces. The entry `virtualClusters` allows every verb on the
 *    named virtualclusterinstances (any subresource); with `*` also those without a name in that namespace.
 * 7. platform-cli: get, list, watch of virtualclusterinstances without subresource; vcluster: get of the same. Narrowed:
 *    by project to its namespace, by `project/name` to requests with that name. Not narrowed: across all namespaces too.
 *    agent: list and watch of revocations, create of agentreports, both of group management.platform, without namespace
 *    and subresource; narrowed: create for the clusters that the spaces of the named projects, or of the projects of the
 *    named virtual clusters, are in, and both where there is such a cluster while none is named. metrics-reader: get of /metrics; nothing when narrowed. All on Management.
 * 8. A scope "can reach" a target: `projects` its virtual clusters and spaces, `spaces`, `virtualClusters` and `clusters`
 *    their own, a rule every target that its requestTargets, cluster and virtualClusters admit, roles Management alone.
 *    With makers, each scope must allow by itself, the base grant being part of each.
 * 9. On proxied targets a scope allows a subresource `proxy` only by a rule with the entry `<resource>/proxy` or
 *    `* /proxy` (without the blank). Keys without scope are not affected.
 * 10. A path of a non-resource request that has an empty, `.` or `..` step or a `%` matches no scope entry and no base.
 *     One slash at the end is fine.
 * 11. A rule without nonResourceURLs matches a non-resource request when it has no resources, resourceNames and
 *     namespaces. In rules the verbs of non-resource requests are methods in lower case.
 * 12. Expiry: a request at exactly creation (or last activity) plus ttl is refused. ttl 0 and absent never expire.
 */
export interface MatrixCase {
  configuration: MatrixConfiguration;
  /** All keys there are. */
  keys: MatrixKey[];
  /** Name of the key that is presented; its secret is right. */
  caller: string;
  /** RFC 3339. */
  now: string;
  request: MatrixRequest;
}

export interface MatrixAnswer {
  /**
   * Neither 401 nor 403. Any request but list and watch that names a key which is absent or not in `sees` is 404, whatever
   * the scope; 404 counts as allowed here.
   */
  allowed: boolean;
  /**
   * Names of the keys that exist for the caller (2.7), sorted; what it may do with them is `allowed`. Empty for a dead key.
   * With a scope in force they are the caller itself and those keys of its subject and its teams for which the scopes, each
   * by itself, allow any verb on the named key or on its subresource rotate.
   */
  sees: string[];
}
