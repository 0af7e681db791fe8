// get and list: from the store to JSON, without parsing what nobody asked to look into. A list runs in steps and lets other
// requests in between.
import { expired, notFound, tooLargeResourceVersion } from '../object/status.ts';
import type { StoredRecord } from '../store/store.ts';
import { decodeContinue, encodeContinue } from './continue-token.ts';
import type { Kind } from './kind.ts';
import { groupVersionOf } from './kind.ts';
import type { Call, Outcome } from './kit.ts';
import { listHead, listItems } from './representation.ts';
import { listQuery } from './revision-query.ts';
import { type Selection, selectionOf } from './selection.ts';
import { expiredContinue, StatusFault } from './status-fault.ts';
import { itemText, shownFromText, storageKey, storagePrefix } from './stored-text.ts';

export async function getObject(call: Call): Promise<Outcome> {
  const { kind, kit, target } = call;
  const { record, revision } = await kit.store.get(storageKey(kind, target.namespace, target.name));
  const wanted = Number(target.query.get('resourceVersion') ?? 0);
  if (wanted > revision) throw new StatusFault(tooLargeResourceVersion(wanted, revision));
  if (record === undefined) {
    throw new StatusFault(notFound({ group: kind.group, resource: kind.plural }, target.name));
  }
  return { kind: 'stored', code: 200, text: record.value, revision: record.revision };
}

/** Records are fetched and filtered so many at a time: the loop is free in between. */
const stepRecords = 500;

export interface Listed {
  records: StoredRecord[];
  revision: number;
  /** Key of the last record given, when there are more. */
  more: string | undefined;
  remaining: number | undefined;
}

export async function listObjects(call: Call): Promise<Outcome> {
  const { kind, target } = call;
  const query = listQuery(target.query);
  const selection = selectionOf(target, kind);
  const prefix = storagePrefix(kind, target.namespace);
  const from = await startOf(call, query);
  if (
    query.limit === 0 &&
    call.negotiated.representation === 'object' &&
    call.negotiated.mediaType === 'application/json'
  ) {
    return streamedList(call, selection, { prefix, ...from });
  }
  const listed = await collect(call, selection, { prefix, limit: query.limit, ...from });
  const next =
    listed.more === undefined
      ? undefined
      : encodeContinue({ revision: listed.revision, after: listed.more.slice(prefix.length) });
  return {
    kind: 'json',
    code: 200,
    json: listItems(call, listed.records, { revision: listed.revision, next, remaining: listed.remaining }),
  };
}

/** A list without a limit may be any size: it is sent step by step, as it is read. */
async function streamedList(
  call: Call,
  selection: Selection,
  range: { prefix: string; atRevision?: number; afterKey?: string },
): Promise<Outcome> {
  const { kind } = call;
  // The first step is read before the answer begins, so that a refusal can still be one.
  const first = await collect(call, selection, { ...range, limit: stepRecords });
  const text = (records: readonly StoredRecord[]) =>
    records.map((record) => itemText(record.value, kind, record.revision)).join(',');
  const head = `${listHead(kind, JSON.stringify({ resourceVersion: String(first.revision) }))}${text(first.records)}`;
  if (first.more === undefined) return { kind: 'json', code: 200, json: `${head}]}` };
  const parts = async function* () {
    yield head;
    let afterKey = first.more;
    while (afterKey !== undefined) {
      const next = await collect(call, selection, {
        ...range,
        atRevision: first.revision,
        afterKey,
        limit: stepRecords,
      });
      if (next.records.length > 0) yield `,${text(next.records)}`;
      afterKey = next.more;
    }
    yield ']}';
  };
  return { kind: 'stream', code: 200, parts: parts() };
}

async function startOf(
  call: Call,
  query: ReturnType<typeof listQuery>,
): Promise<{ atRevision?: number; afterKey?: string }> {
  const prefix = storagePrefix(call.kind, call.target.namespace);
  if (query.continueToken !== '') {
    const { revision, after } = decodeContinue(query.continueToken);
    return revision < 0 ? { afterKey: prefix + after } : { afterKey: prefix + after, atRevision: revision };
  }
  const { at } = query;
  if (at.kind === 'exact') return { atRevision: at.revision };
  if (at.kind === 'atLeast') {
    const current = await call.kit.store.currentRevision();
    if (at.revision > current) throw new StatusFault(tooLargeResourceVersion(at.revision, current));
  }
  return {};
}

interface Range {
  prefix: string;
  limit: number;
  atRevision?: number;
  afterKey?: string;
}

export async function collect(call: Pick<Call, 'kit' | 'kind'>, selection: Selection, range: Range): Promise<Listed> {
  const records: StoredRecord[] = [];
  let { atRevision, afterKey } = range;
  for (;;) {
    const wanted = range.limit === 0 ? stepRecords : Math.min(stepRecords, range.limit - records.length);
    // A selector may pass over most of what it sees: it always looks at a whole step.
    const step = selection.takesAll ? wanted : stepRecords;
    const page = await call.kit.store.list(range.prefix, {
      limit: step,
      ...(atRevision === undefined ? {} : { atRevision }),
      ...(afterKey === undefined ? {} : { afterKey }),
    });
    if (page.kind === 'futureRevision') {
      throw new StatusFault(tooLargeResourceVersion(atRevision ?? 0, page.currentRevision));
    }
    if (page.kind === 'compacted') throw tooOld(range, afterKey);
    atRevision ??= page.revision;
    const filled = take(records, page.records, call.kind, selection, range.limit);
    afterKey = filled ?? page.records.at(-1)?.key ?? afterKey;
    const cutWithinPage = filled !== undefined && filled !== page.records.at(-1)?.key;
    const hasMore = page.hasMore || cutWithinPage;
    const full = range.limit > 0 && records.length >= range.limit;
    if (!hasMore || full) {
      const more = hasMore ? afterKey : undefined;
      const remaining = hasMore && selection.takesAll ? page.remaining : undefined;
      return { records, revision: atRevision, more, remaining };
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Returns the key at which the limit was reached, if it was. */
function take(
  into: StoredRecord[],
  page: readonly StoredRecord[],
  kind: Kind,
  selection: Selection,
  limit: number,
): string | undefined {
  for (const record of page) {
    if (!selection.takesAll && !selection.matches(shownFromText(record.value, kind, record.revision))) continue;
    into.push(record);
    if (into.length === limit) return record.key;
  }
  return undefined;
}

function tooOld(range: Range, afterKey: string | undefined): StatusFault {
  if (range.afterKey === undefined) {
    return new StatusFault(expired('The resourceVersion for the provided list is too old.'));
  }
  const another = encodeContinue({ revision: -1, after: (afterKey ?? '').slice(range.prefix.length) });
  const message =
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';
  return expiredContinue(message, another);
}

export function listKindOf(kind: Kind): { kind: string; apiVersion: string } {
  return { kind: `${kind.kind}List`, apiVersion: groupVersionOf(kind) };
}
