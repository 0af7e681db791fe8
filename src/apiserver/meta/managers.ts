// metadata.managedFields at every write: who has set which field. The rules are object/managed-fields.ts; here is what they
// need to know of a request, and a short cut for the write that comes again and again from the same hand.
import { isEmptySet, union } from '../../object/fields/field-set.ts';
import { type FieldShape, isAtomic, memberShape } from '../../object/fields/field-shape.ts';
import {
  compareObjects,
  encodeEntries,
  type ManagerOptions,
  ownable,
  updateManagedFields,
} from '../../object/fields/managed-fields.ts';
import type { KubeObject, ObjectMeta } from '../../object/meta/object.ts';
import { equalJson, type Json } from '../../object/text/json.ts';
import { groupVersionOf } from '../kinds/kind.ts';
import type { Call } from '../kinds/kit.ts';
import { zeroOf } from '../wire/decode.ts';
import { shown } from '../wire/stored-text.ts';

export function managerOptions(call: Call, now: string): ManagerOptions {
  return {
    manager: call.fieldManager,
    apiVersion: groupVersionOf(call.kind),
    time: now,
    subresource: call.target.subresource,
    shape: call.kit.catalog.schemaOf(call.kind),
  };
}

/** Runs before the kind's strategy: what the server adds to an object belongs to nobody. */
export function trackCreate(call: Call, object: KubeObject, now: string): void {
  const options = managerOptions(call, now);
  const sent: KubeObject = { ...shown(object, call.kind) };
  if (call.kind.strategy.hasStatus === true) delete sent['status'];
  if (object.metadata.managedFields !== undefined) {
    setManagers(object, updateManagedFields(undefined, sent, options));
    return;
  }
  const schema = call.kit.catalog.schemaOf(call.kind);
  const zero = { metadata: {}, ...(zeroOf(schema) as object) } as KubeObject;
  const { added, modified } = compareObjects(zero, sent, schema);
  const { manager, apiVersion, time, subresource = '' } = options;
  const fields = ownable(union(added, modified));
  if (isEmptySet(fields)) return;
  setManagers(object, encodeEntries([{ manager, operation: 'Update', apiVersion, time, subresource, fields }]));
}

/** `old` as it was shown. */
export function trackUpdate(call: Call, object: KubeObject, old: KubeObject, now: string): void {
  const options = managerOptions(call, now);
  const visible = shown(object, call.kind);
  const known = soleOwners(visible, old, options);
  setManagers(object, known ?? updateManagedFields(old, visible, options));
}

interface Entry {
  manager?: string;
  operation?: string;
  apiVersion?: string;
  time?: string;
  subresource?: string;
  fieldsV1?: Tree;
}

interface Tree {
  [step: string]: Tree;
}

/**
 * The record when nothing in it changes but a time: what was changed belongs to this manager already and to nobody else, and
 * nothing was taken away. Undefined when that is not so.
 */
function soleOwners(object: KubeObject, old: KubeObject, options: ManagerOptions): Entry[] | undefined {
  const entries = old.metadata.managedFields as Entry[] | undefined;
  if (entries?.length !== 1 || options.shape === undefined) return undefined;
  const brought = object.metadata.managedFields;
  if (brought !== undefined && brought !== entries && !equalJson(brought as Json, entries as Json)) return undefined;
  const [entry] = entries as [Entry];
  const isOwn =
    entry.operation === 'Update' &&
    entry.manager === options.manager &&
    entry.apiVersion === options.apiVersion &&
    (entry.subresource ?? '') === options.subresource;
  if (!isOwn) return undefined;
  const changed = changedWholes(object, old, options.shape);
  const tree = entry.fieldsV1 ?? {};
  return changed?.every((field) => Object.hasOwn(tree, `f:${field}`)) ? [{ ...entry, time: options.time }] : undefined;
}

/** Names of the top-level fields that differ, if each of them is one field as a whole and was there before and after. */
function changedWholes(object: KubeObject, old: KubeObject, shape: FieldShape): string[] | undefined {
  const names = Object.keys(old);
  if (names.length !== Object.keys(object).length) return undefined;
  const changed: string[] = [];
  for (const name of names) {
    const now = object[name] as Json | undefined;
    const before = old[name] as Json | undefined;
    if (now === undefined || before === undefined) return undefined;
    if (name === 'metadata') {
      if (!isSameMeta(object.metadata, old.metadata)) return undefined;
    } else if (!equalJson(now, before)) {
      if (!isAtomic(memberShape(shape, name))) return undefined;
      changed.push(name);
    }
  }
  return changed;
}

const ownedMeta = ['labels', 'annotations', 'ownerReferences', 'finalizers', 'generateName', 'generation'] as const;

function isSameMeta(now: ObjectMeta, before: ObjectMeta): boolean {
  return ownedMeta.every((field) => equalJson(now[field] as Json | undefined, before[field] as Json | undefined));
}

/** Whether two records say the same but for their times. */
export function sameButForTimes(one: readonly unknown[] | undefined, other: readonly unknown[] | undefined): boolean {
  const timeless = (entries: readonly unknown[] = []) => entries.map((entry) => ({ ...(entry as object), time: null }));
  return equalJson(timeless(one) as unknown as Json, timeless(other) as unknown as Json);
}

function setManagers(object: KubeObject, entries: unknown[] | undefined): void {
  if (entries === undefined || entries.length === 0) delete object.metadata.managedFields;
  else object.metadata.managedFields = entries;
}
