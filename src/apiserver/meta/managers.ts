// Updates metadata.managedFields at every write. object/fields/managed-fields.ts holds the rules; this file passes them the
// facts of a request, and adds a short cut for repeated writes by one manager.
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

/** Must run before the kind's strategy: fields that the server adds must not belong to the writer. */
export function trackCreate(call: Call, object: KubeObject, now: string): void {
  const options = managerOptions(call, now);
  // Only an update may bring its own record: a new object had no managers.
  delete object.metadata.managedFields;
  const sent: KubeObject = { ...shown(object, call.kind) };
  if (call.kind.strategy.hasStatus === true) delete sent['status'];
  const schema = call.kit.catalog.schemaOf(call.kind);
  const zero = { metadata: {}, ...(zeroOf(schema) as object) } as KubeObject;
  const { added, modified } = compareObjects(zero, sent, schema);
  const { manager, apiVersion, time, subresource = '' } = options;
  const fields = ownable(union(added, modified));
  if (isEmptySet(fields)) return;
  setManagers(object, encodeEntries([{ manager, operation: 'Update', apiVersion, time, subresource, fields }]));
}

/** `old` is the stored object without its hidden fields. */
export function trackUpdate(call: Call, object: KubeObject, old: KubeObject, now: string): void {
  const options = managerOptions(call, now);
  const visible = shown(object, call.kind);
  const known = soleOwners(visible, old, options);
  const entries = (known ?? updateManagedFields(old, visible, options)) as ManagerEntry[] | undefined;
  const isStrict = call.kit.dialect === 'strict';
  setManagers(object, isStrict ? entries?.map((entry) => datedAtRemoval(entry, old, options)) : entries);
}

/**
 * The requirements want a new time when a manager removes a field of its own. A real server, and so the other dialect, gives
 * none when an update only removes.
 */
function datedAtRemoval(entry: ManagerEntry, old: KubeObject, options: ManagerOptions): ManagerEntry {
  const isWriters = (one: ManagerEntry) =>
    one.operation === 'Update' &&
    one.manager === options.manager &&
    one.apiVersion === options.apiVersion &&
    (one.subresource ?? '') === options.subresource;
  if (!isWriters(entry)) return entry;
  const before = (old.metadata.managedFields as ManagerEntry[] | undefined)?.find(isWriters);
  const isSame = before === undefined || equalJson(before.fieldsV1 as Json, entry.fieldsV1 as Json);
  return isSame ? entry : { ...entry, time: options.time };
}

interface ManagerEntry {
  manager?: string;
  operation?: string;
  apiVersion?: string;
  time?: string | null;
  subresource?: string;
  fieldsV1?: FieldTree;
}

interface FieldTree {
  [field: string]: FieldTree;
}

/**
 * A short cut for the common update: if this manager is the only one, already owns every changed field and removed no field,
 * only the time of its entry changes. Returns undefined in every other case.
 */
function soleOwners(object: KubeObject, old: KubeObject, options: ManagerOptions): ManagerEntry[] | undefined {
  const entries = old.metadata.managedFields as ManagerEntry[] | undefined;
  if (entries?.length !== 1 || options.shape === undefined) return undefined;
  const sent = object.metadata.managedFields;
  if (sent !== undefined && sent !== entries && !equalJson(sent as Json, entries as Json)) return undefined;
  const [entry] = entries as [ManagerEntry];
  const isOwn =
    entry.operation === 'Update' &&
    entry.manager === options.manager &&
    entry.apiVersion === options.apiVersion &&
    (entry.subresource ?? '') === options.subresource;
  if (!isOwn) return undefined;
  const changed = changedAtomicFields(object, old, options.shape);
  const tree = entry.fieldsV1 ?? {};
  return changed?.every((field) => Object.hasOwn(tree, `f:${field}`)) ? [{ ...entry, time: options.time }] : undefined;
}

/** Changed top-level fields, or undefined unless each of them is atomic and present both before and after the change. */
function changedAtomicFields(object: KubeObject, old: KubeObject, shape: FieldShape): string[] | undefined {
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

/** Compares two managedFields lists and ignores their times. */
export function sameButForTimes(one: readonly unknown[] | undefined, other: readonly unknown[] | undefined): boolean {
  const timeless = (entries: readonly unknown[] = []) => entries.map((entry) => ({ ...(entry as object), time: null }));
  return equalJson(timeless(one) as unknown as Json, timeless(other) as unknown as Json);
}

function setManagers(object: KubeObject, entries: unknown[] | undefined): void {
  if (entries === undefined || entries.length === 0) delete object.metadata.managedFields;
  else object.metadata.managedFields = entries;
}
