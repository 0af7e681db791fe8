// The schema of the metadata that every object of the management API has, with the descriptions that `kubectl explain` prints.
import type { Schemas } from '../../../apiserver/kinds/kind.ts';
import type { Schema } from '../../../apiserver/kinds/schema.ts';

const prefix = 'io.k8s.apimachinery.pkg.apis.meta.v1.';

/** A reference to one of these definitions, with the words that explain it where it is. */
export function metaRef(
  name: 'FieldsV1' | 'ManagedFieldsEntry' | 'ObjectMeta' | 'OwnerReference' | 'Time',
  about = '',
) {
  const reference = { $ref: `#/components/schemas/${prefix}${name}` };
  return about === '' ? reference : { description: about, allOf: [reference] };
}

export function textField(description: string): Schema {
  return { type: 'string', description };
}

export function textsField(description: string): Schema {
  return { type: 'array', description, items: { type: 'string' } };
}

function textMap(description: string): Schema {
  return { type: 'object', description, additionalProperties: { type: 'string' } };
}

const objectMeta: Schema = {
  type: 'object',
  description: 'The metadata of every object: names, versions, owners.',
  'x-pointers': ['deletionTimestamp', 'deletionGracePeriodSeconds'],
  properties: {
    name: textField('Unique within a namespace. Needed on creation unless generateName is used. Cannot be updated.'),
    generateName: textField('Prefix of a name that the server makes unique; used only when name is absent.'),
    namespace: textField('Cannot be updated. Empty for objects that are in no namespace.'),
    selfLink: textField('Not used any more.'),
    uid: textField('Unique in time and space. Set by the server at creation. Read-only.'),
    resourceVersion: textField('Version of the object, to be passed back as it is. Read-only.'),
    generation: {
      type: 'integer',
      format: 'int64',
      description: 'Sequence number of the desired state. Read-only.',
    },
    creationTimestamp: metaRef('Time', 'When the server created the object, in UTC. Read-only.'),
    deletionTimestamp: metaRef('Time', 'When the object is to be gone; set when its deletion is asked for. Read-only.'),
    deletionGracePeriodSeconds: {
      type: 'integer',
      format: 'int64',
      description: 'Seconds that the deletion may take. It may only be shortened. Read-only.',
    },
    labels: textMap('Labels organise and select objects.'),
    annotations: textMap('Texts for other tools, kept when the object is modified.'),
    ownerReferences: {
      type: 'array',
      description: 'Owners of the object. When all of them are gone, the object is deleted.',
      items: metaRef('OwnerReference'),
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['uid'],
      'x-kubernetes-patch-merge-key': 'uid',
      'x-kubernetes-patch-strategy': 'merge',
    },
    finalizers: {
      ...textsField(
        'Must be empty before the object is removed. While it is being deleted, entries can only be removed.',
      ),
      'x-kubernetes-list-type': 'set',
      'x-kubernetes-patch-strategy': 'merge',
    },
    managedFields: {
      type: 'array',
      description: 'Which manager set which fields.',
      items: metaRef('ManagedFieldsEntry'),
      'x-kubernetes-list-type': 'atomic',
    },
  },
};

const ownerReference: Schema = {
  type: 'object',
  description: 'An owner of an object.',
  required: ['apiVersion', 'kind', 'name', 'uid'],
  'x-kubernetes-map-type': 'atomic',
  'x-pointers': ['controller', 'blockOwnerDeletion'],
  'x-always': ['apiVersion', 'kind', 'name', 'uid'],
  properties: {
    apiVersion: textField('API version of the owner.'),
    kind: textField('Kind of the owner.'),
    name: textField('Name of the owner.'),
    uid: textField('UID of the owner.'),
    controller: { type: 'boolean', description: 'The owner is the managing controller.' },
    blockOwnerDeletion: {
      type: 'boolean',
      description:
        'An owner with the finalizer foregroundDeletion is not removed before this reference. Setting it needs the right to delete the owner.',
    },
  },
};

const managedFieldsEntry: Schema = {
  type: 'object',
  description: 'The fields of one manager.',
  'x-pointers': ['time', 'fieldsV1'],
  properties: {
    manager: textField('Name of the workflow that manages the fields.'),
    operation: textField('Apply or Update.'),
    apiVersion: textField('Version that the fields belong to.'),
    time: metaRef('Time', 'When the manager last added, changed or removed a field.'),
    fieldsType: textField('Always FieldsV1.'),
    fieldsV1: metaRef('FieldsV1', 'The fields, in the format FieldsV1.'),
    subresource: textField('Subresource that the fields were written through; empty for the object itself.'),
  },
};

export const metaSchemas: Schemas = {
  [`${prefix}ObjectMeta`]: objectMeta,
  [`${prefix}OwnerReference`]: ownerReference,
  [`${prefix}ManagedFieldsEntry`]: managedFieldsEntry,
  [`${prefix}FieldsV1`]: { type: 'object', description: 'A set of fields.' },
  [`${prefix}Time`]: { type: 'string', format: 'date-time', description: 'A time, as RFC 3339 has it.' },
};

/** The fields that are at the top of every object. */
export function objectSchema(description: string, fields: Record<string, Schema>, more: Partial<Schema> = {}): Schema {
  return {
    type: 'object',
    description,
    properties: {
      apiVersion: textField('Group and version of the object.'),
      kind: textField('Kind of the object. Cannot be updated.'),
      metadata: metaRef('ObjectMeta', 'Names, versions and owners of the object.'),
      ...fields,
    },
    ...more,
  };
}
