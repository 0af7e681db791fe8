// PersistentVolumeClaim: stays Pending, since this cluster has no volumes. The spec is immutable; like kube-apiserver, the
// refusal shows the difference between the two specs in the form of kube-apiserver's internal types.
import { at, items, mapAt, setDefault, text } from '../../apiserver/kinds/fields.ts';
import { allVerbs, type Kind } from '../../apiserver/kinds/kind.ts';
import { type FieldError, forbiddenField, invalidValue, requiredValue } from '../../object/meta/field-error.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { isRecord } from '../../object/text/json.ts';
import { diffHunks } from '../../object/text/line-diff.ts';
import { claimColumns } from './shapes/columns.ts';

/** Keeps a claim while a pod uses it. */
export const claimProtection = 'kubernetes.io/pvc-protection';

export const persistentVolumeClaimKind: Kind = {
  group: '',
  version: 'v1',
  namespaced: true,
  verbs: allVerbs,
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  singular: 'persistentvolumeclaim',
  shortNames: ['pvc'],
  schema: 'io.k8s.api.core.v1.PersistentVolumeClaim',
  storage: 'persistentvolumeclaims',
  strategy: {
    hasStatus: true,
    deletion: { returnsObject: true },
    setDefaults: (object) => setDefault(mapAt(object, 'spec'), 'volumeMode', 'Filesystem'),
    prepareForCreate: ({ object }) => {
      object['status'] = { phase: 'Pending' };
      const finalizers = object.metadata.finalizers ?? [];
      if (!finalizers.includes(claimProtection)) object.metadata.finalizers = [...finalizers, claimProtection];
    },
    validate: ({ object, old }) => claimErrors(object, old),
  },
  columns: claimColumns,
  subresources: { status: { mode: 'part', writes: ['status'], verbs: ['get', 'patch', 'update'] } },
};

function claimErrors(object: KubeObject, old: KubeObject | undefined): FieldError[] {
  const errors: FieldError[] = [];
  if (items(object, 'spec', 'accessModes').length === 0) {
    errors.push(requiredValue('spec.accessModes', 'at least 1 access mode is required'));
  }
  if (at(object, 'spec', 'resources', 'requests', 'storage') === undefined) {
    errors.push(requiredValue('spec.resources[storage]'));
  }
  const difference = old === undefined ? '' : fixedDifference(object, old);
  if (difference !== '') {
    const why =
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';
    errors.push(forbiddenField('spec', `${why}\n${difference}`));
  }
  const mode = at(object, 'spec', 'volumeMode');
  // The real server reports this path without `spec.`.
  if (old !== undefined && mode !== at(old, 'spec', 'volumeMode'))
    errors.push(invalidValue('volumeMode', mode, 'field is immutable'));
  return errors;
}

/** Compares the immutable fields. A claim may still receive its volume name once, and a bound claim may grow. */
function fixedDifference(object: KubeObject, old: KubeObject): string {
  const before = internalSpec(old);
  const after = internalSpec(object);
  if (before.VolumeName === '') before.VolumeName = after.VolumeName;
  if (text(object, 'status', 'phase') === 'Bound') {
    after.Resources.Requests = before.Resources.Requests;
    after.VolumeAttributesClassName = before.VolumeAttributesClassName;
  }
  return diffHunks(`${JSON.stringify(before, null, 1)}\n`, `${JSON.stringify(after, null, 1)}\n`);
}

/** The spec with the names, order and nulls of kube-apiserver's internal Go type, which the message shows. */
function internalSpec(claim: KubeObject) {
  const spec = claim['spec'];
  const or = (...path: readonly string[]): unknown => at(spec, ...path) ?? null;
  return {
    AccessModes: or('accessModes'),
    Selector: or('selector'),
    Resources: {
      Limits: inOrder(or('resources', 'limits')),
      Requests: inOrder(or('resources', 'requests')),
    },
    VolumeName: text(spec, 'volumeName'),
    StorageClassName: or('storageClassName'),
    VolumeMode: or('volumeMode'),
    DataSource: internalReference(or('dataSource')),
    DataSourceRef: internalReference(or('dataSourceRef'), ['Namespace']),
    VolumeAttributesClassName: or('volumeAttributesClassName'),
  };
}

function internalReference(reference: unknown, more: readonly 'Namespace'[] = []): unknown {
  if (!isRecord(reference)) return null;
  const { apiGroup = null, kind = '', name = '', namespace = null } = reference;
  return { APIGroup: apiGroup, Kind: kind, Name: name, ...(more.length > 0 && { Namespace: namespace }) };
}

/** Go writes maps in key order. */
function inOrder(map: unknown): unknown {
  if (!isRecord(map)) return null;
  return Object.fromEntries(Object.entries(map).sort(([one], [other]) => (one < other ? -1 : 1)));
}
