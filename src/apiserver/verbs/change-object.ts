// The update pipeline, written once for PUT and every patch: read → compute → check → compare-and-swap, again from the
// start when somebody else was faster and the client did not insist on a version.

import type { KubeObject } from '../../object/meta/object.ts';
import { conflict, invalid, notFound, objectWasModified, preconditionFailed } from '../../object/meta/status.ts';
import { equalJson, type Json } from '../../object/text/json.ts';
import type { StoredRecord } from '../../store/store.ts';
import { visibleRecord } from '../caller/visibility.ts';
import { faultSubject, type Subresource, type WriteContext } from '../kinds/kind.ts';
import type { Call, Outcome } from '../kinds/kit.ts';
import { schemaErrors } from '../kinds/schema-errors.ts';
import { sameButForTimes, trackUpdate } from '../meta/managers.ts';
import { carryMetaOver, countGeneration, timestamp, withoutDoubleOwners } from '../meta/object-meta.ts';
import { metaErrors } from '../meta/validate-meta.ts';
import { plainFailure, StatusFault } from '../request/status-fault.ts';
import { checkSize } from '../wire/size-limit.ts';
import { fromStoredText, shown, storageKey, toStoredText } from '../wire/stored-text.ts';

/** Enough for a busy object; after that the client hears of the conflict. */
const attempts = 10;

export interface Change {
  dryRun: boolean;
  /** The wanted object; it may share parts with the stored one, which is not to be changed. */
  compute(old: KubeObject): KubeObject | Promise<KubeObject>;
  /** What to do when there is nothing: absent = 404. */
  create?(): Promise<Outcome>;
  /** PUT: another uid in the body is a conflict; in a patch it is an attempt to change what cannot be changed. */
  uidIsPrecondition: boolean;
  /** The result comes with its managedFields made up. */
  keepsManagers?: boolean;
}

export async function changeObject(call: Call, change: Change): Promise<Outcome> {
  const { kind, kit, target } = call;
  const resource = { group: kind.group, resource: kind.plural };
  const key = storageKey(kind, target.namespace, target.name);
  let record = visibleRecord(call, (await kit.store.get(key)).record);
  for (let attempt = 1; ; attempt++) {
    if (record === undefined) {
      if (change.create !== undefined) return change.create();
      throw new StatusFault(notFound(resource, target.name));
    }
    const next = await nextObject(call, change, record);
    if (next === 'unchanged') return { kind: 'stored', code: 200, text: record.value, revision: record.revision };
    const { text, isLast } = next;
    if (change.dryRun) return { kind: 'stored', code: 200, text, revision: record.revision };
    const written = await kit.store.write(key, { expect: record.revision, value: isLast ? undefined : text });
    // The end of an object is answered with the version it had.
    if (written.ok) return { kind: 'stored', code: 200, text, revision: isLast ? record.revision : written.revision };
    if (attempt === attempts) throw new StatusFault(conflict(resource, target.name));
    record = visibleRecord(call, written.current);
  }
}

async function nextObject(
  call: Call,
  change: Change,
  record: StoredRecord,
): Promise<'unchanged' | { text: string; isLast: boolean }> {
  const { kind, kit, user, target } = call;
  const now = timestamp(kit.clock.wallTime());
  const stored = fromStoredText(record.value, kind, record.revision);
  // A client changes what it is shown; what is hidden is put back before the kind judges the whole.
  const old = shown(stored, kind);
  const object = await change.compute(old);
  checkPreconditions(call, object, old, change.uidIsPrecondition);
  carryMetaOver(object, old);
  withoutDoubleOwners(object, call);
  const subresource = kind.subresources?.[target.subresource];
  keepOtherParts(object, old, target.subresource === '' ? undefined : subresource, kind.strategy.hasStatus === true);
  object.metadata.resourceVersion = old.metadata.resourceVersion as string;
  if (call.warnings.length === 0) call.warnings.push(...(kind.strategy.warnings?.(object) ?? []));
  if (change.keepsManagers !== true) {
    if (isUntouched(object, old)) return 'unchanged';
    // Before the kind's strategy: what the server adds belongs to nobody.
    trackUpdate(call, object, old, now);
  }
  const warn = (line: string) => void call.warnings.push(line);
  const ctx: WriteContext = { user, now, dryRun: change.dryRun, namespace: target.namespace, warn };
  kind.strategy.restore?.(object, stored);
  await kind.strategy.prepareForUpdate?.(object, stored, ctx);
  countGeneration(object, stored, kind.strategy, wantChanged(object, stored));
  if (isSameAgain(object, stored)) return 'unchanged';
  const errors = [
    ...metaErrors(object, stored, kind),
    ...schemaErrors(object, kit.catalog.schemaOf(kind)),
    ...(kind.strategy.validate?.(object, stored) ?? []),
  ];
  if (errors.length > 0) throw new StatusFault(invalid(faultSubject(kind), target.name, errors));
  if (!change.dryRun) await kind.strategy.reserve?.(object, ctx);
  const { subresource: part, name, namespace } = target;
  for (const admit of kit.admission) {
    await admit({ operation: 'update', kind, namespace, name, subresource: part, object, old: stored, user });
  }
  const text = toStoredText(kind.conversion === undefined ? object : kind.conversion.toStored(object));
  if (text === record.value) return 'unchanged';
  checkSize(text);
  return { text, isLast: isGone(object, call) };
}

function checkPreconditions(call: Call, object: KubeObject, old: KubeObject, uidIsPrecondition: boolean): void {
  const { kind, target } = call;
  const resource = { group: kind.group, resource: kind.plural };
  const { uid, resourceVersion } = object.metadata;
  if (uidIsPrecondition && uid !== undefined && uid !== '' && uid !== old.metadata.uid) {
    const actual = old.metadata.uid as string;
    throw new StatusFault(preconditionFailed(resource, target.name, { field: 'UID', wanted: uid, actual }));
  }
  if (resourceVersion !== undefined && !/^\d*$/.test(resourceVersion)) {
    throw plainFailure(
      `strconv.ParseUint: parsing "${resourceVersion}": invalid syntax, want metadata.resourceVersion to be a number`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== '' && resourceVersion !== old.metadata.resourceVersion) {
    throw new StatusFault(conflict(resource, target.name, objectWasModified));
  }
}

/** A write through a subresource touches its own fields only, a write of the whole object never the status. */
function keepOtherParts(
  object: KubeObject,
  old: KubeObject,
  subresource: Subresource | undefined,
  hasStatus: boolean,
): void {
  if (subresource?.mode === 'part') {
    const writes = new Set([...subresource.writes, 'metadata', 'kind', 'apiVersion']);
    for (const field of new Set([...Object.keys(object), ...Object.keys(old)])) {
      if (!writes.has(field)) takeOver(object, old, field);
    }
    return;
  }
  if (hasStatus) takeOver(object, old, 'status');
}

function takeOver(object: KubeObject, old: KubeObject, field: string): void {
  if (old[field] === undefined) delete object[field];
  else object[field] = old[field];
}

function wantChanged(object: KubeObject, old: KubeObject): boolean {
  const want = ({ metadata: _metadata, status: _status, ...rest }: KubeObject) => asJson(rest);
  return !equalJson(want(object), want(old));
}

/** The strategy has put back whatever was to be changed, and the record of managers has other times at most. */
function isSameAgain(object: KubeObject, old: KubeObject): boolean {
  const bare = ({ metadata: { managedFields: _managed, ...metadata }, ...rest }: KubeObject) =>
    asJson({ metadata, ...rest });
  if (!equalJson(bare(object), bare(old))) return false;
  return sameButForTimes(object.metadata.managedFields, old.metadata.managedFields);
}

/** Nothing is changed, and the client does not touch the record of managers, which may be left out. */
function isUntouched(object: KubeObject, old: KubeObject): boolean {
  const brought = object.metadata.managedFields;
  const kept = old.metadata.managedFields;
  if (brought !== undefined && !equalJson(brought as Json, (kept ?? null) as Json)) return false;
  if (brought === undefined && kept !== undefined) object.metadata.managedFields = kept;
  const isEqual = equalJson(asJson(object), asJson(old));
  if (brought === undefined) delete object.metadata.managedFields;
  return isEqual;
}

/** The last finalizer of a deleted object has gone, and so does the object. */
function isGone(object: KubeObject, call: Call): boolean {
  const { metadata } = object;
  if (metadata.deletionTimestamp === undefined || (metadata.finalizers ?? []).length > 0) return false;
  if ((metadata.deletionGracePeriodSeconds ?? 0) > 0) return false;
  return call.kind.strategy.hasPendingWork?.(object) !== true;
}

/** Objects come from JSON.parse or are built of plain values. */
function asJson(value: object): Json {
  return value as Json;
}
