// Collects the records for a list, a deletecollection or the initial state of a watch, in key order and at one revision. Uses
// a name or an index when it can, and otherwise reads every object, step by step.
import { expired, tooLargeResourceVersion } from '../../object/meta/status.ts';
import { compareKeys } from '../../store/key-order.ts';
import type { StoredRecord } from '../../store/store.ts';
import { readStandIn } from '../caller/visibility.ts';
import type { Call } from '../kinds/kit.ts';
import { expiredContinue, StatusFault } from '../request/status-fault.ts';
import { shownFromText, storageKey } from '../wire/stored-text.ts';
import { encodeContinue, sealOf } from './continue-token.ts';
import type { Selection } from './selection.ts';

/** Characters parsed before other requests get a turn: few large objects take as long as many small ones. */
const turnLength = 1024 * 1024;

/** Records read before other requests get a turn. */
export const stepRecords = 500;

/**
 * Characters of records that a long answer holds at a time. Hundreds of clients may ask for all that a key may see and read nothing of
 * it, so the rest is read again from the store when its turn to be sent comes.
 */
export const heldLength = 64 * 1024;

/** As many records as are about as long as an answer may hold, to judge by those before them. */
export function stepAfter(records: readonly StoredRecord[]): number {
  const length = records.reduce((sum, { value }) => sum + value.length, 0);
  return Math.min(stepRecords, Math.max(1, Math.floor((heldLength * records.length) / length) || stepRecords));
}

/** Asked for in one question, to which the store answers with about half as many ordinary objects. */
const keysAtOnce = 64;

export interface Listed {
  records: StoredRecord[];
  /** Of all that were found, those without their records among them. */
  count: number;
  revision: number;
  /** Key of the last returned record, if more records follow. */
  more: string | undefined;
  remaining: number | undefined;
}

type CollectCall = Pick<Call, 'kit' | 'kind' | 'target' | 'visibility' | 'user' | 'works'>;

interface Candidates {
  keys: readonly string[];
  revision: number;
}

/** The keys that can match; undefined when every object must be read. */
async function candidateKeys(
  call: CollectCall,
  selection: Selection,
  range: ListRange,
): Promise<Candidates | undefined> {
  const { kit, kind, target } = call;
  const { onlyName, index } = selection;
  const hasOneKey = onlyName !== undefined && onlyName !== '' && !(kind.namespaced && target.namespace === '');
  if (!hasOneKey && index === undefined) return undefined;
  const revision = range.atRevision ?? (await kit.store.currentRevision());
  if (hasOneKey) return { keys: [storageKey(kind, target.namespace, onlyName)], revision };
  if (index === undefined) return undefined;
  const keys = await kit.indexes.keys(kind, index.field, index.values, revision);
  return keys === undefined ? undefined : { keys: keys.filter((key) => key.startsWith(range.prefix)), revision };
}

async function collectKeys(
  call: CollectCall,
  selection: Selection,
  range: ListRange,
  { keys, revision }: Candidates,
): Promise<Listed> {
  const records: StoredRecord[] = [];
  const into = { records, count: 0, chars: 0, most: range.holds ?? Number.POSITIVE_INFINITY };
  const { afterKey } = range;
  const keysLeft = afterKey === undefined ? keys : keys.filter((key) => compareKeys(key, afterKey) > 0);
  // Once without any key too, or a compacted or future revision would pass unnoticed.
  for (let at = 0; at === 0 || at < keysLeft.length; ) {
    const missing = range.limit > 0 ? range.limit - into.count : keysAtOnce;
    const asked = keysLeft.slice(at, at + Math.min(missing, keysAtOnce));
    const answer = await call.kit.store.read(asked, revision);
    await call.works?.();
    if (answer.kind === 'futureRevision')
      throw new StatusFault(tooLargeResourceVersion(revision, answer.currentRevision));
    if (answer.kind === 'compacted') throw tooOld(call, range, records.at(-1)?.key ?? afterKey);
    const found = answer.records.filter((record) => record !== undefined);
    for (let absent = answer.records.length - found.length; absent > 0; absent--) readStandIn(call);
    const lastKey = await take(call, into, found, { selection, limit: range.limit });
    if (lastKey !== undefined) {
      const more = lastKey === keysLeft.at(-1) ? undefined : lastKey;
      return { records, count: into.count, revision, more, remaining: undefined };
    }
    if (keysLeft.length === 0) break;
    at += answer.records.length;
  }
  return { records, count: into.count, revision, more: undefined, remaining: undefined };
}

interface ListRange {
  prefix: string;
  limit: number;
  atRevision?: number;
  afterKey?: string;
  /** Records beyond so many characters are only counted: hundreds of callers may collect at the same time, and ask for a million. */
  holds?: number;
}

export async function collect(call: CollectCall, selection: Selection, range: ListRange): Promise<Listed> {
  const candidates = await candidateKeys(call, selection, range);
  if (candidates !== undefined) return collectKeys(call, selection, range, candidates);
  const records: StoredRecord[] = [];
  const into = { records, count: 0, chars: 0, most: range.holds ?? Number.POSITIVE_INFINITY };
  let { atRevision, afterKey } = range;
  for (;;) {
    const missing = range.limit === 0 ? stepRecords : Math.min(stepRecords, range.limit - into.count);
    // A selector may reject most records, so each step reads as many as possible.
    const readCount = selection.takesAll ? missing : stepRecords;
    const page = await call.kit.store.list(range.prefix, {
      limit: readCount,
      chars: range.holds,
      ...(atRevision === undefined ? {} : { atRevision }),
      ...(afterKey === undefined ? {} : { afterKey }),
    });
    await call.works?.();
    if (page.kind === 'futureRevision') {
      throw new StatusFault(tooLargeResourceVersion(atRevision ?? 0, page.currentRevision));
    }
    if (page.kind === 'compacted') throw tooOld(call, range, afterKey);
    atRevision ??= page.revision;
    const lastKey = await take(call, into, page.records, { selection, limit: range.limit });
    afterKey = lastKey ?? page.records.at(-1)?.key ?? afterKey;
    const cutWithinPage = lastKey !== undefined && lastKey !== page.records.at(-1)?.key;
    const hasMore = page.hasMore || cutWithinPage;
    const full = range.limit > 0 && into.count >= range.limit;
    if (!hasMore || full) {
      const more = hasMore ? afterKey : undefined;
      const remaining = hasMore && selection.takesAll ? page.remaining : undefined;
      return { records, count: into.count, revision: atRevision, more, remaining };
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Adds matching records; returns the key of the record that reached the limit, if any. */
async function take(
  { kind, works }: CollectCall,
  into: { records: StoredRecord[]; count: number; chars: number; most: number },
  page: readonly StoredRecord[],
  { selection, limit }: { selection: Selection; limit: number },
): Promise<string | undefined> {
  let parsed = 0;
  for (const record of page) {
    if (!selection.takesAll) {
      parsed += record.value.length;
      if (parsed > turnLength) {
        parsed = 0;
        await new Promise((resolve) => setImmediate(resolve));
        await works?.();
      }
      if (!selection.matches(shownFromText(record.value, kind, record.revision))) continue;
    }
    if (into.chars <= into.most) into.records.push(record);
    into.count++;
    into.chars += record.value.length;
    if (into.count === limit) return record.key;
  }
  return undefined;
}

function tooOld(call: CollectCall, range: ListRange, afterKey: string | undefined): StatusFault {
  if (range.afterKey === undefined) {
    return new StatusFault(expired('The resourceVersion for the provided list is too old.'));
  }
  const freshToken = encodeContinue({ revision: -1, after: (afterKey ?? '').slice(range.prefix.length) }, sealOf(call));
  const message =
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';
  return expiredContinue(message, freshToken);
}
