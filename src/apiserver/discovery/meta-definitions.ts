// Definitions of what every kind answers or takes besides its own objects: Status, options of a delete, patches and lists.
import { groupVersionOf, type Kind } from '../kinds/kind.ts';
import type { Schema } from '../kinds/schema.ts';

const prefix = 'io.k8s.apimachinery.pkg.apis.meta.v1.';

export type MetaName =
  | 'DeleteOptions'
  | 'ListMeta'
  | 'Patch'
  | 'Preconditions'
  | 'Status'
  | 'StatusCause'
  | 'StatusDetails';

export function metaReference(name: MetaName): Schema {
  return { $ref: `#/components/schemas/${prefix}${name}` };
}

const text = (description: string): Schema => ({ type: 'string', description });
const integer = (format: 'int32' | 'int64', description: string): Schema => ({ type: 'integer', format, description });
const flag = (description: string): Schema => ({ type: 'boolean', description });
const described = (description: string, name: MetaName): Schema => ({ description, allOf: [metaReference(name)] });

const typeFields = {
  apiVersion: text('Group and version of the object.'),
  kind: text('Kind of the object.'),
};

const definitions: Readonly<Record<MetaName, Schema>> = {
  DeleteOptions: {
    type: 'object',
    description: 'Options of a delete.',
    properties: {
      ...typeFields,
      dryRun: { type: 'array', description: 'With "All", nothing is deleted.', items: { type: 'string' } },
      gracePeriodSeconds: integer('int64', 'Seconds until the object is deleted; 0 deletes it at once.'),
      orphanDependents: flag('Deprecated: use propagationPolicy.'),
      preconditions: described('What must hold before the delete; otherwise it is a conflict.', 'Preconditions'),
      propagationPolicy: text('What happens to dependents: Orphan, Background or Foreground.'),
    },
  },
  ListMeta: {
    type: 'object',
    description: 'What all lists have.',
    properties: {
      continue: text('Token of the next page; empty when the list is complete.'),
      remainingItemCount: integer('int64', 'How many objects are left after this page.'),
      resourceVersion: text('Version of the list, to be passed back as it is.'),
    },
  },
  Patch: { type: 'object', description: 'The body of a patch, in the form that its Content-Type says.' },
  Preconditions: {
    type: 'object',
    description: 'What must hold before an operation.',
    properties: {
      resourceVersion: text('The version that the object must have.'),
      uid: text('The uid that the object must have.'),
    },
  },
  Status: {
    type: 'object',
    description: 'The outcome of a request that answers no object.',
    'x-kubernetes-group-version-kind': [{ group: '', version: 'v1', kind: 'Status' }],
    properties: {
      ...typeFields,
      code: integer('int32', 'The HTTP status of the answer.'),
      details: described('What the reason is about.', 'StatusDetails'),
      message: text('The outcome in words.'),
      metadata: described('Empty.', 'ListMeta'),
      reason: text('The outcome in one word for programs.'),
      status: text('Success or Failure.'),
    },
  },
  StatusCause: {
    type: 'object',
    description: 'One cause of a failure.',
    properties: {
      field: text('Path of the field.'),
      message: text('The cause in words.'),
      reason: text('The cause in one word for programs.'),
    },
  },
  StatusDetails: {
    type: 'object',
    description: 'What a Status is about.',
    properties: {
      causes: { type: 'array', description: 'All causes of the failure.', items: metaReference('StatusCause') },
      group: text('Group of the resource.'),
      kind: text('Plural of the resource.'),
      name: text('Name of the object.'),
      retryAfterSeconds: integer('int32', 'When the client may try again.'),
      uid: text('uid of the object.'),
    },
  },
};

/** By their full names, without those that the kinds bring along themselves. */
export const metaDefinitions: Readonly<Record<string, Schema>> = Object.fromEntries(
  Object.entries(definitions).map(([name, schema]) => [prefix + name, schema]),
);

export function listDefinition(kind: Kind): [string, Schema] {
  const { group, version } = kind;
  const schema: Schema = {
    type: 'object',
    description: `A list of ${kind.plural} of ${groupVersionOf(kind)}.`,
    required: ['items'],
    properties: {
      ...typeFields,
      items: {
        type: 'array',
        description: 'The objects.',
        items: { $ref: `#/components/schemas/${kind.schema}` },
      },
      metadata: described('Version and page of the list.', 'ListMeta'),
    },
    'x-kubernetes-group-version-kind': [{ group, version, kind: `${kind.kind}List` }],
  };
  return [`${kind.schema}List`, schema];
}
