// Serves get and list from the store. Parses an object only when a selector, a table or a hidden field requires parsing, and
// reads long lists in steps, so that other requests get their turn.
import { notFound, tooLargeResourceVersion } from '../../object/meta/status.ts';
import type { StoredRecord } from '../../store/store.ts';
import { checkView, visibleRecord } from '../caller/visibility.ts';
import type { Kind } from '../kinds/kind.ts';
import { groupVersionOf } from '../kinds/kind.ts';
import type { Call, Outcome } from '../kinds/kit.ts';
import { StatusFault } from '../request/status-fault.ts';
import { listHead, listItems } from '../wire/representation.ts';
import { itemText, storageKey, storagePrefix } from '../wire/stored-text.ts';
import { collect, type Listed, stepRecords } from './collect-records.ts';
import { decodeContinue, encodeContinue, sealOf } from './continue-token.ts';
import { listQuery, notOlderThan } from './revision-query.ts';
import { type Selection, selectionOf } from './selection.ts';

export async function getObject(call: Call): Promise<Outcome> {
  const { kind, kit, target } = call;
  const minRevision = notOlderThan(target.query);
  const { record: stored, revision } = await kit.store.get(storageKey(kind, target.namespace, target.name));
  const record = visibleRecord(call, stored);
  if (minRevision > revision) throw new StatusFault(tooLargeResourceVersion(minRevision, revision));
  if (record === undefined) {
    throw new StatusFault(notFound({ group: kind.group, resource: kind.plural }, target.name));
  }
  return { kind: 'stored', code: 200, text: record.value, revision: record.revision };
}

export async function listObjects(call: Call): Promise<Outcome> {
  const { kind, target } = call;
  const query = listQuery(target.query);
  const selection = selectionOf(call);
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
  const { continue: next } = nextPage(call, listed, prefix);
  return {
    kind: 'json',
    code: 200,
    json: listItems(call, listed.records, { revision: listed.revision, next, remaining: listed.remaining }),
  };
}

/** A list without a limit can be huge, so each step is sent before the next one is read. */
async function streamedList(
  call: Call,
  selection: Selection,
  range: { prefix: string; atRevision?: number; afterKey?: string },
): Promise<Outcome> {
  const { kind } = call;
  // After the first byte a refusal is impossible, so the first step is read before the answer begins.
  const first = await collect(call, selection, { ...range, limit: stepRecords });
  const text = (records: readonly StoredRecord[]) =>
    records.map((record) => itemText(record.value, kind, record.revision, call.kit.dialect)).join(',');
  const head = `${listHead(kind, JSON.stringify({ resourceVersion: String(first.revision) }))}${text(first.records)}`;
  if (first.more === undefined) return { kind: 'json', code: 200, json: `${head}]}` };
  const chunks = async function* () {
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
  return { kind: 'stream', code: 200, parts: chunks() };
}

export function nextPage(call: Call, { more, revision }: Listed, prefix: string): { continue?: string } {
  if (more === undefined) return {};
  return { continue: encodeContinue({ revision, after: more.slice(prefix.length) }, sealOf(call)) };
}

/** Where the query wants the list to begin. */
export async function startOf(
  call: Call,
  query: ReturnType<typeof listQuery>,
): Promise<{ atRevision?: number; afterKey?: string }> {
  const prefix = storagePrefix(call.kind, call.target.namespace);
  if (query.continueToken !== '') {
    const { revision, after } = decodeContinue(query.continueToken, sealOf(call));
    checkView(call, revision);
    return revision < 0 ? { afterKey: prefix + after } : { afterKey: prefix + after, atRevision: revision };
  }
  const { at } = query;
  if (at.kind === 'exact') {
    checkView(call, at.revision);
    return { atRevision: at.revision };
  }
  if (at.kind === 'atLeast') {
    const current = await call.kit.store.currentRevision();
    if (at.revision > current) throw new StatusFault(tooLargeResourceVersion(at.revision, current));
  }
  return {};
}

export function listKindOf(kind: Kind): { kind: string; apiVersion: string } {
  return { kind: `${kind.kind}List`, apiVersion: groupVersionOf(kind) };
}
