// Maintains metadata.managedFields, which records the owner of each field, as Kubernetes does. In: an object before and after
// a write, and the manager that wrote it. Out: the new entries, each with a manager, an operation and a set of paths. A write
// gives the changed fields to its manager, and takes the changed and removed fields from all others. Must know no kind. Pure.

import type { KubeObject } from '../meta/object.ts';
import { isJsonObject, type JsonObject, memberOf } from '../text/json.ts';
import { type Comparison, compareFields } from './field-compare.ts';
import {
  difference,
  emptySet,
  type FieldSet,
  fromFieldsV1,
  insert,
  isEmptySet,
  toFieldsV1,
  union,
} from './field-set.ts';
import { anyShape, type FieldShape } from './field-shape.ts';

export interface ManagerOptions {
  manager: string;
  apiVersion: string;
  /** RFC 3339, whole seconds. */
  time: string;
  subresource?: string;
  /** Without a shape, objects merge and lists are replaced. */
  shape?: FieldShape;
}

export interface ManagedEntry {
  manager: string;
  operation: 'Apply' | 'Update';
  apiVersion: string;
  time: string | undefined;
  subresource: string;
  fields: FieldSet;
}

/** DefaultMaxUpdateManagers of apimachinery: a client with a random name at each write would otherwise fill the object. */
const maxUpdateManagers = 10;
const oldUpdatesManager = 'ancient-changes';
const beforeApplyManager = 'before-first-apply';

/** These fields have no owner, because the server sets them or they identify the object. */
const unownedFields = ownerlessSet();

/**
 * The managedFields of `after`, the result of a create (`before` undefined), an update or a patch. Undefined when the object
 * is not tracked, which a client requests with an empty list. Neither object is changed.
 */
export function updateManagedFields(
  before: KubeObject | undefined,
  after: KubeObject,
  options: ManagerOptions,
): JsonObject[] | undefined {
  const entries = startingEntries(before, after, options.subresource ?? '');
  if (entries.length === 0 && before !== undefined) return undefined;
  const comparison = compareObjects(before, after, options.shape ?? anyShape);
  const changed = difference(union(comparison.added, comparison.modified), unownedFields);
  const updated = takeAway(entries, changed, comparison.removed, () => true);
  if (!isEmptySet(changed)) giveTo(updated, options, changed);
  return encodeEntries(capped(updated));
}

/** The entries before an apply. An untracked object gets a single owner for all its fields. */
export function entriesForApply(live: KubeObject | undefined, options: ManagerOptions): ManagedEntry[] {
  if (live === undefined) return [];
  const entries = decodeEntries(live.metadata.managedFields);
  if (entries.length > 0) return entries;
  const everything = compareObjects(undefined, live, options.shape ?? anyShape).added;
  const fields = difference(everything, unownedFields);
  if (isEmptySet(fields)) return [];
  const { apiVersion, time } = options;
  return [{ manager: beforeApplyManager, operation: 'Update', apiVersion, time, subresource: '', fields }];
}

/** Compares two objects without their managedFields. */
export function compareObjects(before: KubeObject | undefined, after: KubeObject, shape: FieldShape): Comparison {
  const now = withoutManagedFields(after);
  return compareFields(before === undefined ? emptyLike(now, shape) : withoutManagedFields(before), now, shape);
}

export function ownable(fields: FieldSet): FieldSet {
  return difference(fields, unownedFields);
}

/** Takes changed and removed fields from the entries that `isAffected` selects, and drops entries without fields. */
export function takeAway(
  entries: readonly ManagedEntry[],
  changed: FieldSet,
  removed: FieldSet,
  isAffected: (entry: ManagedEntry) => boolean,
): ManagedEntry[] {
  const gone = union(changed, removed);
  return entries
    .map((entry) => (isAffected(entry) ? { ...entry, fields: difference(entry.fields, gone) } : entry))
    .filter((entry) => !isEmptySet(entry.fields));
}

export function encodeEntries(entries: readonly ManagedEntry[]): JsonObject[] {
  return [...entries].sort(compareEntries).map((entry) => {
    const json: JsonObject = { manager: entry.manager, operation: entry.operation, apiVersion: entry.apiVersion };
    if (entry.time !== undefined) json['time'] = entry.time;
    json['fieldsType'] = 'FieldsV1';
    json['fieldsV1'] = toFieldsV1(entry.fields);
    if (entry.subresource !== '') json['subresource'] = entry.subresource;
    return json;
  });
}

/** Empty for a malformed list, which the caller then rebuilds. */
export function decodeEntries(list: unknown): ManagedEntry[] {
  if (!Array.isArray(list)) return [];
  const entries: ManagedEntry[] = [];
  for (const json of list as unknown[]) {
    const entry = isJsonObject(json) ? decodeEntry(json) : undefined;
    if (entry === undefined) return [];
    if (!isEmptySet(entry.fields)) entries.push(entry);
  }
  return entries;
}

function decodeEntry(json: JsonObject): ManagedEntry | undefined {
  const { manager = '', operation, apiVersion, time, fieldsType, fieldsV1, subresource = '' } = json;
  const fields = fromFieldsV1(fieldsV1 ?? {});
  const isKnown = (operation === 'Apply' || operation === 'Update') && fieldsType === 'FieldsV1';
  if (!isKnown || fields === undefined || typeof apiVersion !== 'string') return undefined;
  if (typeof manager !== 'string' || typeof subresource !== 'string') return undefined;
  return { manager, operation, apiVersion, time: typeof time === 'string' ? time : undefined, subresource, fields };
}

/** A client may send its own entries; when a client omits them, the stored entries stay. */
function startingEntries(before: KubeObject | undefined, after: KubeObject, subresource: string): ManagedEntry[] {
  const live = decodeEntries(before?.metadata.managedFields);
  const sent = after.metadata.managedFields;
  if (subresource !== '' || sent === undefined || sent === null) return live;
  const isReset =
    sent.length === 0 || (sent.length === 1 && isJsonObject(sent[0]) && Object.keys(sent[0]).length === 0);
  if (isReset) return [];
  const decoded = decodeEntries(sent);
  return decoded.length > 0 ? decoded : live;
}

function giveTo(entries: ManagedEntry[], options: ManagerOptions, fields: FieldSet): void {
  const { manager, apiVersion, time, subresource = '' } = options;
  const own = entries.find(
    (entry) =>
      entry.operation === 'Update' &&
      entry.manager === manager &&
      entry.apiVersion === apiVersion &&
      entry.subresource === subresource,
  );
  if (own === undefined) {
    entries.push({ manager, operation: 'Update', apiVersion, time, subresource, fields });
    return;
  }
  own.fields = union(own.fields, fields);
  own.time = time;
}

/** Merges the oldest update entries of each API version into one entry when there are too many. */
function capped(entries: ManagedEntry[]): ManagedEntry[] {
  const updates = entries.filter(({ operation }) => operation === 'Update').sort(compareEntries);
  const kept = new Set(entries);
  const oldest = new Map<string, ManagedEntry>();
  let count = updates.length;
  for (const entry of updates) {
    if (count <= maxUpdateManagers) break;
    const bucket = oldest.get(entry.apiVersion);
    if (bucket === undefined) {
      oldest.set(entry.apiVersion, entry);
      continue;
    }
    kept.delete(entry);
    kept.delete(bucket);
    const merged = {
      ...entry,
      manager: oldUpdatesManager,
      subresource: '',
      fields: union(bucket.fields, entry.fields),
    };
    oldest.set(entry.apiVersion, merged);
    kept.add(merged);
    count--;
  }
  return [...kept];
}

function compareEntries(a: ManagedEntry, b: ManagedEntry): number {
  const order = (x: string, y: string) => (x < y ? -1 : x > y ? 1 : 0);
  return (
    order(a.operation, b.operation) ||
    order(a.time ?? '', b.time ?? '') ||
    order(a.manager, b.manager) ||
    order(a.apiVersion, b.apiVersion) ||
    order(a.subresource, b.subresource)
  );
}

/** Kubernetes compares a new object with an empty object of its type, which already has a spec and a status. */
function emptyLike(object: JsonObject, shape: FieldShape): JsonObject {
  const empty: JsonObject = {};
  for (const name of ['metadata', 'spec', 'status']) {
    const isStruct = shape.type !== 'object' || shape.fields.get(name)?.type !== 'map';
    if (isStruct && isJsonObject(memberOf(object, name))) empty[name] = {};
  }
  return empty;
}

function withoutManagedFields(object: KubeObject): JsonObject {
  const { managedFields: _managedFields, ...metadata } = object.metadata;
  return { ...object, metadata } as unknown as JsonObject;
}

function ownerlessSet(): FieldSet {
  const set = emptySet();
  for (const field of ['apiVersion', 'kind', 'metadata']) insert(set, [`f:${field}`]);
  const inMetadata = ['name', 'namespace', 'creationTimestamp', 'selfLink', 'uid', 'clusterName', 'generation'];
  for (const field of [...inMetadata, 'managedFields', 'resourceVersion']) insert(set, ['f:metadata', `f:${field}`]);
  return set;
}
