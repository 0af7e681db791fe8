// The kinds with few rules of their own, such as ConfigMap, Secret and Lease.
import { at, mapAt, setDefault, text } from '../../apiserver/kinds/fields.ts';
import { allVerbs, type Kind } from '../../apiserver/kinds/kind.ts';
import { type FieldError, invalidValue, requiredValue, tooLong } from '../../object/meta/field-error.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { isRecord } from '../../object/text/json.ts';
import { configMapColumns, leaseColumns, nodeColumns, secretColumns } from './shapes/columns.ts';

const base = { group: '', version: 'v1', namespaced: true, verbs: allVerbs, columns: [] } as const;

export const configMapKind: Kind = {
  ...base,
  kind: 'ConfigMap',
  plural: 'configmaps',
  singular: 'configmap',
  shortNames: ['cm'],
  schema: 'io.k8s.api.core.v1.ConfigMap',
  storage: 'configmaps',
  strategy: {
    validate: ({ object, old }) => [
      ...dataKeyErrors(object, ['data', 'binaryData']),
      ...sizeErrors(object, ['data', 'binaryData'], '[]'),
      ...immutableErrors(object, old),
    ],
  },
  columns: configMapColumns,
};

export const secretKind: Kind = {
  ...base,
  kind: 'Secret',
  plural: 'secrets',
  singular: 'secret',
  schema: 'io.k8s.api.core.v1.Secret',
  storage: 'secrets',
  strategy: {
    setDefaults(object) {
      setDefault(object, 'type', 'Opaque');
      // stringData is write-only: its values move to `data` in base64.
      const plain = object['stringData'];
      if (isRecord(plain)) {
        const data = mapAt(object, 'data');
        for (const [key, value] of Object.entries(plain)) data[key] = Buffer.from(String(value)).toString('base64');
      }
      delete object['stringData'];
    },
    validate({ object, old }) {
      const errors = [
        ...dataKeyErrors(object, ['data']),
        ...sizeErrors(object, ['data'], 'data'),
        ...typeErrors(object),
        ...immutableErrors(object, old),
      ];
      if (old !== undefined && old['type'] !== object['type']) {
        errors.push(invalidValue('type', object['type'], 'field is immutable'));
      }
      return errors;
    },
  },
  columns: secretColumns,
  selectableFields: { type: (object) => text(object, 'type') },
};

function dataKeyErrors(object: KubeObject, fields: readonly string[]): FieldError[] {
  const why =
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
  const twice = Object.keys(at(object, 'data') ?? {}).filter((key) => at(object, 'binaryData', key) !== undefined);
  const errors = twice.map((key) => invalidValue(`data[${key}]`, key, 'duplicate of key present in binaryData'));
  const misnamed = fields.flatMap((field) =>
    Object.keys(at(object, field) ?? {})
      .filter((key) => !/^[-._a-zA-Z0-9]{1,253}$/.test(key) || key === '.' || key === '..')
      .map((key) => invalidValue(`${field}[${key}]`, key, why)),
  );
  return [...errors, ...misnamed];
}

/** Limit for the values of one ConfigMap or Secret together, as in the real server. */
const maxDataBytes = 1024 * 1024;

function sizeErrors(object: KubeObject, fields: readonly string[], path: string): FieldError[] {
  let total = 0;
  for (const field of fields) {
    for (const value of Object.values(at(object, field) ?? {})) {
      const isEncoded = field === 'binaryData' || object.kind === 'Secret';
      total += Buffer.byteLength(String(value), isEncoded ? 'base64' : 'utf8');
    }
  }
  return total > maxDataBytes ? [tooLong(path, maxDataBytes)] : [];
}

/** Required keys by Secret type. */
const requiredKeys = new Map<string, readonly string[]>([
  ['kubernetes.io/tls', ['tls.crt', 'tls.key']],
  ['kubernetes.io/dockercfg', ['.dockercfg']],
  ['kubernetes.io/dockerconfigjson', ['.dockerconfigjson']],
  ['kubernetes.io/ssh-auth', ['ssh-privatekey']],
]);
const accountAnnotation = 'kubernetes.io/service-account.name';

function typeErrors(object: KubeObject): FieldError[] {
  const type = text(object, 'type');
  if (type === 'kubernetes.io/service-account-token') {
    const named = object.metadata.annotations?.[accountAnnotation] ?? '';
    return named === '' ? [requiredValue(`metadata.annotations[${accountAnnotation}]`)] : [];
  }
  return (requiredKeys.get(type) ?? [])
    .filter((key) => at(object, 'data', key) === undefined)
    .map((key) => requiredValue(`data[${key}]`));
}

function immutableErrors(object: KubeObject, old: KubeObject | undefined): FieldError[] {
  if (old?.['immutable'] !== true) return [];
  return ['immutable', 'data', 'binaryData']
    .filter((field) => JSON.stringify(object[field]) !== JSON.stringify(old[field]))
    .map((field) => ({
      type: 'FieldValueForbidden' as const,
      path: field,
      message: 'Forbidden: field is immutable when `immutable` is set',
    }));
}

export const leaseKind: Kind = {
  ...base,
  group: 'coordination.k8s.io',
  kind: 'Lease',
  plural: 'leases',
  singular: 'lease',
  schema: 'io.k8s.api.coordination.v1.Lease',
  storage: 'leases',
  strategy: {
    allowsCreateOnUpdate: true,
    validate: ({ object }) => {
      const errors: FieldError[] = [];
      const duration = at(object, 'spec', 'leaseDurationSeconds');
      if (typeof duration === 'number' && duration <= 0) {
        errors.push(invalidValue('spec.leaseDurationSeconds', duration, 'must be greater than 0'));
      }
      const transitions = at(object, 'spec', 'leaseTransitions');
      if (typeof transitions === 'number' && transitions < 0) {
        errors.push(invalidValue('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'));
      }
      return errors;
    },
  },
  columns: leaseColumns,
};

export const nodeKind: Kind = {
  ...base,
  kind: 'Node',
  plural: 'nodes',
  singular: 'node',
  shortNames: ['no'],
  namespaced: false,
  schema: 'io.k8s.api.core.v1.Node',
  storage: 'minions',
  strategy: { hasStatus: true },
  columns: nodeColumns,
  subresources: { status: { mode: 'part', writes: ['status'], verbs: ['get', 'patch', 'update'] } },
  selectableFields: { 'spec.unschedulable': (object) => String(at(object, 'spec', 'unschedulable') === true) },
};
