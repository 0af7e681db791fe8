// The schema of spec.scope, which narrows what a key or token may do.
import type { Schema } from '../../../apiserver/kinds/schema.ts';
import { textField, textsField } from './meta-schemas.ts';

function entries(description: string, properties: Record<string, Schema>, more: Partial<Schema> = {}): Schema {
  return { type: 'array', description, items: { type: 'object', properties, ...more } };
}

const project = textField('Name of the project.');

const rule: Record<string, Schema> = {
  verbs: textsField('Verbs that match. Empty = every verb.'),
  resources: entries('Resources that match. Empty = all kinds in all groups.', {
    group: textField('API group; empty = the core group.'),
    resources: textsField(
      'NAME is the resource, NAME/SUB a subresource, * everything, NAME/* all subresources of NAME, */SUB that subresource of everything. Empty = everything in the group.',
    ),
  }),
  resourceNames: textsField('Names that match; needs resources. Empty = every name.'),
  namespaces: textsField(
    'Namespaces that match; an empty text matches objects without a namespace. Empty = every namespace.',
  ),
  nonResourceURLs: textsField('Paths that match; * is allowed as the whole last step only.'),
  requestTargets: textsField(
    'Servers that match: Management, Cluster, ProjectSpace, ProjectVirtualCluster. Empty = every request.',
  ),
  cluster: textField('Cluster that matches; then only requests to clusters match. Empty = no restriction.'),
  virtualClusters: entries('Virtual clusters that match; then only requests to virtual clusters match.', {
    name: textField('Name of the virtual cluster; empty = all.'),
    namespace: textField('Namespace of the virtual cluster; empty = all.'),
  }),
};

export const scopeSchema: Schema = {
  type: 'object',
  description:
    'Limits the key to the requests that at least one entry of the lists allows. An empty scope allows only the key itself; without a scope there is no limit.',
  'x-pointers': ['allowPlatformCli'],
  properties: {
    roles: entries('Sets of permissions by name.', {
      role: textField('One of platform-cli, vcluster, agent, network-peer, workspace, metrics-reader, metrics-writer.'),
      projects: textsField('Projects that the role is narrowed to.'),
      virtualClusters: textsField('Virtual clusters that the role is narrowed to, as PROJECT/NAME.'),
    }),
    projects: entries('Everything in a project.', { project: textField('Name of the project; * = all projects.') }),
    spaces: entries('One namespace of a cluster.', {
      project,
      space: textField('Name of the space; * = all spaces of the project.'),
    }),
    virtualClusters: entries('A virtual cluster.', {
      project,
      virtualCluster: textField('Name of the virtual cluster; * = all of the project.'),
    }),
    clusters: entries('The direct endpoint of a cluster.', {
      cluster: textField('Name of the cluster; * = all clusters.'),
    }),
    rules: entries('Deprecated: use projects, spaces and virtualClusters instead.', rule),
    allowPlatformCli: {
      type: 'boolean',
      description: 'Deprecated: use roles with the role platform-cli instead.',
    },
  },
};
