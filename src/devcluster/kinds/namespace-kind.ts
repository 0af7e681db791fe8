// Namespace: a deleted namespace stays, with status Terminating, until its contents are gone.
import { items, mapAt, setDefault, text } from '../../apiserver/kinds/fields.ts';
import type { Kind } from '../../apiserver/kinds/kind.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { namespaceColumns } from './shapes/columns.ts';

export const namespaceKind: Kind = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  singular: 'namespace',
  shortNames: ['ns'],
  namespaced: false,
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  schema: 'io.k8s.api.core.v1.Namespace',
  storage: 'namespaces',
  strategy: {
    nameForm: 'label',
    hasStatus: true,
    setDefaults: labelWithName,
    prepareForCreate({ object }) {
      labelWithName(object);
      object['spec'] = { finalizers: [contentFinalizer] };
      object['status'] = { phase: 'Active' };
    },
    prepareForUpdate: ({ object, old }) => {
      setDefault(mapAt(object, 'status'), 'phase', 'Active');
      if (object['spec'] === undefined && old['spec'] !== undefined) object['spec'] = old['spec'];
    },
    deletion: {
      hasNoGracePeriod: true,
      returnsObject: true,
      hasPendingWork: (object) => items(object, 'spec', 'finalizers').length > 0,
      prepare: (object) => {
        object['status'] = { ...mapAt(object, 'status'), phase: 'Terminating' };
      },
    },
  },
  columns: namespaceColumns,
  subresources: {
    status: { mode: 'part', writes: ['status'], verbs: ['get', 'patch', 'update'] },
    finalize: { mode: 'part', writes: ['spec'], verbs: ['update'] },
  },
  selectableFields: { 'status.phase': (object) => text(object, 'status', 'phase') },
};

/** Keeps a deleted namespace until its contents are gone. */
export const contentFinalizer = 'kubernetes';

const nameLabel = 'kubernetes.io/metadata.name';

function labelWithName(object: KubeObject): void {
  const { metadata } = object;
  if (metadata.name === undefined || metadata.name === '') return;
  metadata.labels = { ...metadata.labels, [nameLabel]: metadata.name };
}
