// Events in two API groups: the store holds the core/v1 form, and events.k8s.io/v1 is a conversion of the core/v1 form.
import { text } from '../../apiserver/kinds/fields.ts';
import { allVerbs, type Kind } from '../../apiserver/kinds/kind.ts';
import { type FieldError, invalidValue, requiredValue } from '../../object/meta/field-error.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { eventColumns } from './shapes/columns.ts';

/** events.k8s.io/v1 → core/v1. */
const renamed: readonly (readonly [string, string])[] = [
  ['regarding', 'involvedObject'],
  ['note', 'message'],
  ['reportingController', 'reportingComponent'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
];
const toCore = new Map(renamed);
const toEvents = new Map(renamed.map(([theirs, core]) => [core, theirs] as const));

function rename(object: KubeObject, names: ReadonlyMap<string, string>): KubeObject {
  const entries = Object.entries(object).map(([field, value]) => [names.get(field) ?? field, value]);
  return Object.fromEntries(entries) as KubeObject;
}

/** Fields that a version writes even when they are empty. */
const coreAlways = {
  source: {},
  firstTimestamp: null,
  lastTimestamp: null,
  eventTime: null,
  reportingComponent: '',
  reportingInstance: '',
};
const eventsAlways = {
  deprecatedSource: {},
  deprecatedFirstTimestamp: null,
  deprecatedLastTimestamp: null,
  eventTime: null,
};

function withAlways(object: KubeObject, always: Record<string, unknown>): KubeObject {
  return { ...always, ...object };
}

function withoutEmpty(object: KubeObject): KubeObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== '')) as KubeObject;
}

/** An event must be in the namespace of its object, or in `default` for a cluster-scoped object. */
function namespaceErrors(object: KubeObject, about: string): FieldError[] {
  const objectNamespace = text(object, about, 'namespace');
  const own = object.metadata.namespace ?? '';
  const isRight = objectNamespace === '' ? own === 'default' || own === 'kube-system' : objectNamespace === own;
  return isRight ? [] : [invalidValue(`involvedObject.namespace`, objectNamespace, 'does not match event.namespace')];
}

/** events.k8s.io/v1 also requires the reporting controller and the action. */
function newEventErrors(object: KubeObject): FieldError[] {
  const errors = namespaceErrors(object, 'regarding');
  if (typeof object['eventTime'] !== 'string') {
    errors.push(requiredValue('eventTime'));
  } else {
    for (const field of ['reportingController', 'reportingInstance', 'action', 'reason']) {
      if (text(object, field) === '') errors.push(requiredValue(field));
    }
  }
  const type = text(object, 'type');
  if (type !== 'Normal' && type !== 'Warning') errors.push(invalidValue('type', '', `has invalid value: ${type}`));
  return errors;
}

const shared = {
  kind: 'Event',
  plural: 'events',
  singular: 'event',
  shortNames: ['ev'],
  namespaced: true,
  verbs: allVerbs,
  storage: 'events',
};

export const coreEventKind: Kind = {
  ...shared,
  group: '',
  version: 'v1',
  schema: 'io.k8s.api.core.v1.Event',
  strategy: { allowsCreateOnUpdate: true, validate: ({ object }) => namespaceErrors(object, 'involvedObject') },
  columns: eventColumns,
  selectableFields: {
    ...Object.fromEntries(
      ['apiVersion', 'fieldPath', 'kind', 'name', 'namespace', 'resourceVersion', 'uid'].map((field) => [
        `involvedObject.${field}`,
        (object: KubeObject) => text(object, 'involvedObject', field),
      ]),
    ),
    reason: (object) => text(object, 'reason'),
    reportingComponent: (object) => text(object, 'reportingComponent'),
    source: (object) => text(object, 'source', 'component') || text(object, 'reportingComponent'),
    type: (object) => text(object, 'type'),
  },
};

export const eventsEventKind: Kind = {
  ...shared,
  group: 'events.k8s.io',
  version: 'v1',
  schema: 'io.k8s.api.events.v1.Event',
  strategy: {
    allowsCreateOnUpdate: true,
    validate: ({ object, old }) => (old === undefined ? newEventErrors(object) : []),
  },
  conversion: {
    toStored: (object) => withAlways(rename(object, toCore), coreAlways),
    fromStored: (object) => withAlways(rename(withoutEmpty(object), toEvents), eventsAlways),
  },
  columns: eventColumns.map((column) => ({
    ...column,
    cell: (object: KubeObject, now: Date) => column.cell(rename(object, toCore), now),
  })),
  selectableFields: {
    'regarding.kind': (object) => text(object, 'regarding', 'kind'),
    'regarding.name': (object) => text(object, 'regarding', 'name'),
    'regarding.namespace': (object) => text(object, 'regarding', 'namespace'),
    'regarding.uid': (object) => text(object, 'regarding', 'uid'),
    reason: (object) => text(object, 'reason'),
    reportingController: (object) => text(object, 'reportingController'),
    type: (object) => text(object, 'type'),
  },
};
