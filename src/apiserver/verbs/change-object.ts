// The update pipeline for PUT and every patch: read → compute → validate → compare-and-swap. A lost race starts the pipeline
// again, unless the client sent a resourceVersion: then the check of preconditions answers 409.
import type { KubeObject } from '../../object/meta/object.ts';
import { conflict, invalid, notFound, objectWasModified, preconditionFailed } from '../../object/meta/status.ts';
import { equalJson, isRecord, type Json } from '../../object/text/json.ts';
import type { StoredRecord } from '../../store/store.ts';
import { visibleRecord } from '../caller/visibility.ts';
import { faultSubject, type Kind, type ObjectUpdate, type Subresource } from '../kinds/kind.ts';
import type { Call, VerbOutcome } from '../kinds/kit.ts';
import { checkCounts, checkSize, countErrors } from '../kinds/object-limits.ts';
import { schemaErrors } from '../kinds/schema-errors.ts';
import { sameButForTimes, trackUpdate } from '../meta/managers.ts';
import { carryMetaOver, countGeneration, timestamp, withoutDoubleOwners } from '../meta/object-meta.ts';
import { metaErrors } from '../meta/validate-meta.ts';
import { plainFailure, StatusFault } from '../request/status-fault.ts';
import { fromStoredText, shown, storageKey, toStoredText } from '../wire/stored-text.ts';

/**
 * A client that names no version expects no 409, and kube-apiserver tries for as long as the client waits. Each time somebody else's change is
 * done, and every attempt is charged to the caller, so the number only ends what would never end.
 */
export const mostAttempts = 500;

export interface Change {
  dryRun: boolean;
  /** Returns the wanted object. It may share members with `old`, and must not change `old`. */
  compute(old: KubeObject): KubeObject | Promise<KubeObject>;
  /** Called when the object is missing; absent = answer 404. */
  create?(): Promise<VerbOutcome>;
  /** The body of a PUT, before it was decoded. */
  sent?: unknown;
  /** A patch that is merged, as the client sent it. */
  merged?: unknown;
  /** True for PUT: another uid in the body is a conflict. In a patch another uid is an invalid change of a fixed field. */
  uidIsPrecondition: boolean;
  /** `compute` has already updated managedFields. */
  keepsManagers?: boolean;
}

export async function changeObject(call: Call, change: Change): Promise<VerbOutcome> {
  const { kind, kit, target } = call;
  const resource = { group: kind.group, resource: kind.plural };
  const key = storageKey(kind, target.namespace, target.name);
  const { record: stored } = await kit.store.get(key, { fresh: true });
  await call.works?.();
  let record = visibleRecord(call, stored);
  for (let attempt = 1; ; attempt++) {
    if (record === undefined) {
      if (change.create === undefined) throw new StatusFault(notFound(resource, target.name));
      try {
        return await change.create();
      } catch (error) {
        if (attempt === mostAttempts || !isTaken(error)) throw error;
        // Somebody else has made it meanwhile, so this is a change after all.
        record = visibleRecord(call, (await kit.store.get(key, { fresh: true })).record);
        if (record === undefined) throw error;
      }
    }
    const next = await nextObject(call, change, record);
    if (next === 'unchanged') return { kind: 'stored', code: 200, text: record.value, revision: record.revision };
    const { text, isLast } = next;
    if (change.dryRun) return { kind: 'stored', code: 200, text, revision: record.revision };
    const written = await kit.store.write(key, { expect: record.revision, value: isLast ? undefined : text });
    await call.works?.();
    if (written.ok) call.wrote?.({ kind: call.kind.kind, text });
    // A write that removes the last finalizer answers with the object's last resourceVersion.
    if (written.ok) return { kind: 'stored', code: 200, text, revision: isLast ? record.revision : written.revision };
    if (attempt === mostAttempts) throw new StatusFault(conflict(resource, target.name));
    record = visibleRecord(call, written.current);
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof StatusFault && error.status.reason === 'AlreadyExists';
}

/** Not again about a field that the client leaves as it is: somebody who sets a label has nothing to do with it. */
function newWarnings({ warnings }: Kind['strategy'], object: KubeObject, old: KubeObject): string[] {
  const known = new Set(warnings?.(old));
  return (warnings?.(object) ?? []).filter((line) => {
    const field = line.split(': ', 1)[0] as string;
    return !known.has(line) || !equalJson(valueAt(object, field), valueAt(old, field));
  });
}

/** Undefined for a text that is no path of fields. */
function valueAt(object: KubeObject, field: string): unknown {
  return field.split('.').reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), object);
}

async function nextObject(
  call: Call,
  change: Change,
  record: StoredRecord,
): Promise<'unchanged' | { text: string; isLast: boolean }> {
  const { kind, kit, user, target } = call;
  const now = timestamp(kit.clock.wallTime());
  const stored = fromStoredText(record.value, kind, record.revision);
  // The client changes the object without its hidden fields; restore() below adds them before the kind validates.
  const old = shown(stored, kind);
  const counted = { kind, name: target.name, before: old.metadata, limits: kit.limits };
  checkCounts(change.merged ?? change.sent, counted);
  const object = await change.compute(old);
  await call.works?.();
  checkCounts(object, counted);
  checkPreconditions(call, object, old, change.uidIsPrecondition);
  carryMetaOver(object, old);
  withoutDoubleOwners(object, call);
  const subresource = kind.subresources?.[target.subresource];
  keepOtherParts(object, old, target.subresource === '' ? undefined : subresource, kind.strategy.hasStatus === true);
  object.metadata.resourceVersion = old.metadata.resourceVersion as string;
  if (call.warnings.length === 0) call.warnings.push(...newWarnings(kind.strategy, object, old));
  if (change.keepsManagers !== true) {
    if (isUntouched(object, old) && kind.strategy.hearsRepeat?.(old, user) !== true) return 'unchanged';
    // Before the kind's strategy: fields that the server adds must not belong to the writer.
    trackUpdate(call, object, old, now);
  }
  const warn = (line: string) => void call.warnings.push(line);
  const { subresource: subresourceName, name, namespace } = target;
  const { dryRun, sent, merged: stated = sent } = change;
  const write: ObjectUpdate = { object, old: stored, user, now, dryRun, namespace, sent, stated, warn };
  kind.strategy.hidden?.restore?.(object, stored);
  await kind.strategy.prepareForUpdate?.(write);
  await call.works?.();
  countGeneration(object, stored, kind.strategy, desiredStateChanged(object, stored));
  if (isUndoneByStrategy(object, stored)) return 'unchanged';
  const errors = [
    ...metaErrors(object, stored, { kind, dialect: kit.dialect }),
    // The server itself has added a manager.
    ...countErrors(object.metadata, old.metadata, kit.limits),
    ...schemaErrors(object, kit.catalog.schemaOf(kind)),
    ...(kind.strategy.validate?.(write) ?? []),
  ];
  if (errors.length > 0) throw new StatusFault(invalid(faultSubject(kind), target.name, errors));
  if (!dryRun) await kind.strategy.resources?.reserve(write);
  for (const admit of kit.admission) {
    await admit({
      operation: 'update',
      kind,
      namespace,
      name,
      requestName: name,
      subresource: subresourceName,
      object,
      old: stored,
      user,
    });
  }
  const text = toStoredText(kind.conversion === undefined ? object : kind.conversion.toStored(object));
  if (text === record.value) return 'unchanged';
  checkSize(text, record.value, kit.limits, write.spareBytes);
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
  // 0 is what a program in Go sends that has none.
  const isNamed = resourceVersion !== undefined && Number(resourceVersion) !== 0;
  if (isNamed && resourceVersion !== old.metadata.resourceVersion) {
    throw new StatusFault(conflict(resource, target.name, objectWasModified));
  }
}

/** A write through a subresource changes only that subresource's fields; a write of the whole object never changes the status. */
function keepOtherParts(
  object: KubeObject,
  old: KubeObject,
  subresource: Subresource | undefined,
  hasStatus: boolean,
): void {
  if (subresource?.mode === 'part') {
    const writes = new Set([...subresource.writes, 'metadata', 'kind', 'apiVersion']);
    for (const field of new Set([...Object.keys(object), ...Object.keys(old)])) {
      if (!writes.has(field)) keepOld(object, old, field);
    }
    return;
  }
  if (hasStatus) keepOld(object, old, 'status');
}

function keepOld(object: KubeObject, old: KubeObject, field: string): void {
  if (old[field] === undefined) delete object[field];
  else object[field] = old[field];
}

function desiredStateChanged(object: KubeObject, old: KubeObject): boolean {
  const desired = ({ metadata: _metadata, status: _status, ...rest }: KubeObject) => asJson(rest);
  return !equalJson(desired(object), desired(old));
}

/** True when the strategy undid the client's change, so that at most the times in managedFields differ. */
function isUndoneByStrategy(object: KubeObject, old: KubeObject): boolean {
  const bare = ({ metadata: { managedFields: _managed, ...metadata }, ...rest }: KubeObject) =>
    asJson({ metadata, ...rest });
  if (!equalJson(bare(object), bare(old))) return false;
  return sameButForTimes(object.metadata.managedFields, old.metadata.managedFields);
}

/** True when the client changed neither the object nor managedFields; a client may leave managedFields out. */
function isUntouched(object: KubeObject, old: KubeObject): boolean {
  const sent = object.metadata.managedFields;
  const kept = old.metadata.managedFields;
  if (sent !== undefined && !equalJson(sent as Json, (kept ?? null) as Json)) return false;
  if (sent === undefined && kept !== undefined) object.metadata.managedFields = kept;
  const isEqual = equalJson(asJson(object), asJson(old));
  if (sent === undefined) delete object.metadata.managedFields;
  return isEqual;
}

/** True when nothing keeps a deleted object any longer: no finalizer, no grace period, no pending work. */
function isGone(object: KubeObject, call: Call): boolean {
  const { metadata } = object;
  if (metadata.deletionTimestamp === undefined || (metadata.finalizers ?? []).length > 0) return false;
  if ((metadata.deletionGracePeriodSeconds ?? 0) > 0) return false;
  return call.kind.strategy.deletion?.hasPendingWork?.(object) !== true;
}

/** The cast is safe: objects come from JSON.parse or contain only plain values. */
function asJson(value: object): Json {
  return value as Json;
}
