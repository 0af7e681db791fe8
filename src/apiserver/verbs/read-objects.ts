// Serves get and list from the store. Parses an object only when a selector, a table or a hidden field requires parsing, and
// reads long lists in steps, so that other requests get their turn.
import { notFound, tooLargeResourceVersion } from '../../object/meta/status.ts';
import type { StoredRecord } from '../../store/store.ts';
import { checkView, visibleRecord } from '../caller/visibility.ts';
import type { Call, Outcome } from '../kinds/kit.ts';
import { StatusFault } from '../request/status-fault.ts';
import { type ListMeta, type ListWriter, listWriter, yamlListWriter } from '../wire/representation.ts';
import { storageKey, storagePrefix } from '../wire/stored-text.ts';
import { collect, type Listed, stepRecords } from './collect-records.ts';
import { decodeContinue, encodeContinue, sealOf } from './continue-token.ts';
import { listQuery, notOlderThan } from './revision-query.ts';
import { selectionOf } from './selection.ts';

export async function getObject(call: Call): Promise<Outcome> {
  const { kind, kit, target } = call;
  const minRevision = notOlderThan(target.query);
  const { record: stored, revision } = await kit.store.get(storageKey(kind, target.namespace, target.name));
  await call.works?.();
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
  // After the first byte a refusal is impossible, so the first step is read before the answer begins.
  const limit = query.limit === 0 ? stepRecords : query.limit;
  const first = await collect(call, selection, { prefix, limit, ...from });
  const isWhole = query.limit > 0 || first.more === undefined;
  const { continue: next } = query.limit === 0 ? {} : nextPage(call, first, prefix);
  const meta = { revision: first.revision, next, remaining: query.limit === 0 ? undefined : first.remaining };
  const further = async function* () {
    let afterKey = isWhole ? undefined : first.more;
    while (afterKey !== undefined) {
      const step = { prefix, limit: stepRecords, atRevision: first.revision, afterKey };
      const more = await collect(call, selection, step);
      yield more.records;
      afterKey = more.more;
    }
  };
  return listOf(call, meta, first.records, isWhole ? undefined : further());
}

/** Records that are all there, or the first ones of a longer list. */
export function listOf(
  call: Call,
  meta: ListMeta,
  records: readonly StoredRecord[],
  further?: AsyncIterable<readonly StoredRecord[]>,
): Outcome {
  const writer = listWriter(call, meta);
  if (further === undefined && isShort(records, shortLength[call.negotiated.mediaType]))
    return { kind: 'json', code: 200, json: [...pieces(writer, records), writer.tail].join('') };
  const parts = async function* () {
    const used = await writerFor(call, meta, writer);
    const turned = async function* (head: string, some: readonly StoredRecord[]) {
      for (const piece of pieces({ ...used, head }, some)) {
        yield piece;
        // A client that reads fast never makes the server wait.
        await new Promise((resolve) => setImmediate(resolve));
        await call.works?.();
      }
    };
    yield* turned(used.head, records);
    for await (const more of further ?? []) yield* turned(more.length === 0 ? '' : used.separator, more);
    yield used.tail;
  };
  return { kind: 'stream', code: 200, parts: parts() };
}

/** A page of 500 objects can have hundreds of megabytes, and thousands of clients may ask for pages and read none. */
const pieceLength = 32 * 1024;
/** A page of 500 ordinary keys is shorter; it is sent with its length. YAML takes about ten times as long to write. */
const shortLength = { 'application/json': 512 * 1024, 'application/yaml': 64 * 1024 };

function isShort(records: readonly StoredRecord[], most: number): boolean {
  let length = 0;
  for (const { value } of records) length += value.length;
  return length <= most;
}

async function writerFor(call: Call, meta: ListMeta, json: ListWriter): Promise<ListWriter> {
  if (call.negotiated.mediaType === 'application/json') return json;
  const { dump } = await import('js-yaml');
  return yamlListWriter(call, meta, (value) => dump(value, { noRefs: true, lineWidth: -1 }));
}

function* pieces({ head, item, separator }: ListWriter, records: readonly StoredRecord[]): Generator<string> {
  let text = head;
  for (const [index, record] of records.entries()) {
    text += (index === 0 ? '' : separator) + item(record);
    if (text.length < pieceLength) continue;
    yield text;
    text = '';
  }
  if (text !== '') yield text;
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
