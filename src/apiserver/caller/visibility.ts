// Applies a caller's visibility. A hidden object must answer exactly like a missing object, or its name would leak.
import { expired } from '../../object/meta/status.ts';
import type { StoredRecord } from '../../store/store.ts';
import type { Call } from '../kinds/kit.ts';
import { StatusFault } from '../request/status-fault.ts';
import { shownFromText, toStoredText } from '../wire/stored-text.ts';

export function isHidden(call: Pick<Call, 'kind' | 'visibility'>, record: StoredRecord): boolean {
  const { kind, visibility } = call;
  return visibility?.sees !== undefined && !visibility.sees(shownFromText(record.value, kind, record.revision));
}

/** The record, unless the caller may not see it. */
export function visibleRecord(call: Call, record: StoredRecord | undefined): StoredRecord | undefined {
  if (record === undefined) readStandIn(call);
  return record === undefined || isHidden(call, record) ? undefined : record;
}

/** As long as most stored objects. */
const managed = { manager: 'kubectl-create', operation: 'Update', fieldsV1: { 'f:spec': { '.': {}, 'f:user': {} } } };
const standIn: StoredRecord = {
  key: '',
  value: toStoredText({
    metadata: {
      name: 'stand-in',
      uid: 'b9f10000-0000-4000-8000-000000000000',
      managedFields: [managed, managed, managed],
    },
    spec: { displayName: 'stand-in', description: '-'.repeat(400), scope: { projects: [{ project: 'stand-in' }] } },
  }),
  createRevision: 0,
  revision: 0,
};

/**
 * Takes as long for an absent object as the check of a hidden object takes, because a quicker answer would tell the caller that the
 * object is absent. Objects of an unusual length still differ by microseconds.
 */
export function readStandIn(call: Pick<Call, 'kind' | 'visibility'>): void {
  if (call.visibility?.sees !== undefined) isHidden(call, standIn);
}

/** True when the caller's visibility has changed since this revision, so that a list or watch must start again. */
export function isBeforeView(call: Pick<Call, 'visibility'>, revision: number): boolean {
  return revision < (call.visibility?.since ?? 0);
}

/** The end of a watch whose user may see something else now, so that the client lists again. */
export const changedView = expired('What you may see has changed: list again.');

export function checkView(call: Pick<Call, 'visibility'>, revision: number | undefined): void {
  if (revision === undefined || revision < 0 || !isBeforeView(call, revision)) return;
  throw new StatusFault(expired('What you may see has changed since that resourceVersion: list again.'));
}
