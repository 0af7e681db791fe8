// Applies a caller's visibility. A hidden object must answer exactly like a missing object, or its name would leak.
import { expired } from '../../object/meta/status.ts';
import type { StoredRecord } from '../../store/store.ts';
import type { Call } from '../kinds/kit.ts';
import { StatusFault } from '../request/status-fault.ts';
import { shownFromText } from '../wire/stored-text.ts';

export function isHidden(call: Pick<Call, 'kind' | 'visibility'>, record: StoredRecord): boolean {
  const { kind, visibility } = call;
  return visibility?.sees !== undefined && !visibility.sees(shownFromText(record.value, kind, record.revision));
}

/** The record, unless the caller may not see it. */
export function visibleRecord(call: Call, record: StoredRecord | undefined): StoredRecord | undefined {
  return record === undefined || isHidden(call, record) ? undefined : record;
}

/** True when the caller's visibility has changed since this revision, so that a list or watch must start again. */
export function isBeforeView(call: Pick<Call, 'visibility'>, revision: number): boolean {
  return revision < (call.visibility?.since ?? 0);
}

export function checkView(call: Pick<Call, 'visibility'>, revision: number | undefined): void {
  if (revision === undefined || revision < 0 || !isBeforeView(call, revision)) return;
  throw new StatusFault(expired('What you may see has changed since that resourceVersion: list again.'));
}
