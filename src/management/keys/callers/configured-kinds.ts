// The kinds that come from the configuration and are only read: virtual cluster instances, and the namespaces they are in.
import { at, text } from '../../../apiserver/kinds/fields.ts';
import type { Kind, Schemas, Subresource } from '../../../apiserver/kinds/kind.ts';
import { age } from '../../../apiserver/wire/table.ts';
import { instanceResource, managementGroup } from '../../scope/request.ts';
import { objectSchema, textField } from '../schema/meta-schemas.ts';

const readVerbs = ['get', 'list', 'watch'];
const instanceSchemaName = 'management.platform.v1.VirtualClusterInstance';

export const instanceKind: Kind = {
  group: managementGroup,
  version: 'v1',
  kind: 'VirtualClusterInstance',
  plural: instanceResource,
  singular: 'virtualclusterinstance',
  shortNames: ['vci'],
  namespaced: true,
  verbs: readVerbs,
  schema: instanceSchemaName,
  storage: instanceResource,
  strategy: {},
  columns: [
    { name: 'Name', type: 'string', format: 'name', priority: 0, cell: (object) => object.metadata.name ?? '' },
    { name: 'Project', type: 'string', priority: 0, cell: (object) => text(object, 'spec', 'project') },
    { name: 'Ingress', type: 'string', priority: 0, cell: (object) => text(object, 'spec', 'ingress', 'server') },
    ageColumn(),
  ],
};

/** The kinds as the server serves them: with the subresource that makes a kubeconfig, and the revision since which callers see them. */
export function configuredKindsWith(kubeconfig: Subresource, visibleTo: NonNullable<Kind['visibleTo']>): Kind[] {
  return [
    { ...instanceKind, visibleTo, subresources: { kubeconfig } },
    { ...namespaceKind, visibleTo },
  ];
}

export const namespaceKind: Kind = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  singular: 'namespace',
  shortNames: ['ns'],
  namespaced: false,
  verbs: readVerbs,
  schema: 'io.k8s.api.core.v1.Namespace',
  storage: 'namespaces',
  strategy: { nameForm: 'label' },
  columns: [
    { name: 'Name', type: 'string', format: 'name', priority: 0, cell: (object) => object.metadata.name ?? '' },
    { name: 'Status', type: 'string', priority: 0, cell: (object) => String(at(object, 'status', 'phase') ?? '') },
    ageColumn(),
  ],
};

function ageColumn(): Kind['columns'][number] {
  return {
    name: 'Age',
    type: 'string',
    priority: 0,
    cell: (object, now) => age(object.metadata.creationTimestamp ?? undefined, now),
  };
}

export const instanceSchemas: Schemas = {
  [instanceSchemaName]: objectSchema('A virtual cluster of a project, as the configuration of the server names it.', {
    spec: {
      type: 'object',
      description: 'Where the virtual cluster is. Comes from the configuration; read-only.',
      properties: {
        project: textField('Project that the virtual cluster belongs to.'),
        ingress: {
          type: 'object',
          description: 'Where the virtual cluster is reached directly.',
          properties: {
            server: textField('Address of the API of the virtual cluster.'),
            servedBy: textField('virtualCluster or hostward.'),
          },
        },
      },
    },
  }),
};
