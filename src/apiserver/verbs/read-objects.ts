// Serves get and list from the store. Parses an object only when a selector, a table or a hidden field requires parsing, and
// reads long lists in steps, so that other requests get their turn.
import { notFound, tooLargeResourceVersion } from '../../object/meta/status.ts';
import type { Store, StoredRecord } from '../../store/store.ts';
import { checkView, visibleRecord } from '../caller/visibility.ts';
import type { Call, VerbOutcome } from '../kinds/kit.ts';
import { StatusFault } from '../request/status-fault.ts';
import { type ListMeta, type ListWriter, listWriter, yamlListWriter } from '../wire/representation.ts';
import { storageKey, storagePrefix } from '../wire/stored-text.ts';
import { collect, heldLength, type Listed, stepAfter, stepRecords } from './collect-records.ts';
import { decodeContinue, encodeContinue, sealOf } from './continue-token.ts';
import { listQuery, notOlderThan, wantsNewest } from './revision-query.ts';
import { selectionOf } from './selection.ts';

export async function getObject(call: Call): Promise<VerbOutcome> {
  const { kind, kit, target } = call;
  const minRevision = notOlderThan(target.query);
  const fresh = wantsNewest(target.query);
  if (minRevision > 0) await reach(kit.store, minRevision);
  const { record: stored, revision } = await kit.store.get(storageKey(kind, target.namespace, target.name), { fresh });
  await call.works?.();
  const record = visibleRecord(call, stored);
  if (minRevision > revision) throw new StatusFault(tooLargeResourceVersion(minRevision, revision));
  if (record === undefined) {
    throw new StatusFault(notFound({ group: kind.group, resource: kind.plural }, target.name));
  }
  return { kind: 'stored', code: 200, text: record.value, revision: record.revision };
}

export async function listObjects(call: Call): Promise<VerbOutcome> {
  const { kind, target } = call;
  const query = listQuery(target.query);
  const selection = selectionOf(call);
  const prefix = storagePrefix(kind, target.namespace);
  const from = await startOf(call, query);
  // After the first byte a refusal is impossible, so the first step is read before the answer begins.
  const shortest = shortLength[call.negotiated.mediaType];
  // What is longer is read again, but for its first part.
  const first = await call.kit.lists.within(call.user.name, (beginning) => {
    const isCrowded = beginning > mostAtEase;
    const limit = query.limit > 0 ? query.limit : isCrowded ? crowdedStep : stepRecords;
    return collect(call, selection, { prefix, limit, holds: isCrowded ? heldLength : shortest, ...from });
  });
  const isLong = !isShort(first.records, shortest);
  const records = isLong ? heldPart(first.records) : first.records;
  const isCut = records.length < first.count;
  const isWhole = !isCut && (query.limit > 0 || first.more === undefined);
  const { continue: next } = query.limit === 0 ? {} : nextPage(call, first, prefix);
  const meta = { revision: first.revision, next, remaining: query.limit === 0 ? undefined : first.remaining };
  const atRevision = first.revision;
  const rest = query.limit === 0 ? Number.POSITIVE_INFINITY : first.count - records.length;
  const startKey = isCut ? records.at(-1)?.key : first.more;
  // Must not name `first`, or the answer would hold all its records until it is read.
  const further = async function* () {
    let missing = rest;
    let afterKey = startKey;
    let last = records;
    while (afterKey !== undefined && missing > 0) {
      const step = { prefix, limit: Math.min(missing, stepAfter(last)), atRevision, afterKey };
      const more = await collect(call, selection, step);
      yield more.records;
      missing -= more.records.length;
      afterKey = more.more;
      last = more.records;
    }
  };
  return listOf(call, meta, records, isWhole ? undefined : further());
}

/**
 * Lists that read what their answers begin with, at the same time: 400 lists of one key, each with a megabyte of records on its way from
 * the store, filled a container so far that all its garbage had to go in one pause of 400 ms.
 */
export const mostBeginning = 8;
/** So many of them may hold as much as a short answer; in a crowd each holds as little as a long one. */
const mostAtEase = 4;
/** The first records of a whole list in a crowd: about as many as it holds. */
const crowdedStep = 64;

function heldPart(records: readonly StoredRecord[]): readonly StoredRecord[] {
  let length = 0;
  const end = records.findIndex(({ value }) => {
    length += value.length;
    return length >= heldLength;
  });
  return end === -1 ? records : records.slice(0, end + 1);
}

/** Waits for a revision that another replica has given out: a store that shares its log may not have heard of it yet. */
async function reach(store: Store, revision: number): Promise<number> {
  const current = await store.currentRevision();
  return revision <= current ? current : store.currentRevision({ fresh: true });
}

/** Records that are all there, or the first ones of a longer list. */
export function listOf(
  call: Call,
  meta: ListMeta,
  records: readonly StoredRecord[],
  further?: AsyncIterable<readonly StoredRecord[]>,
): VerbOutcome {
  const writer = listWriter(call, meta);
  if (further === undefined && isShort(records, shortLength[call.negotiated.mediaType]))
    return {
      kind: 'json',
      code: 200,
      json: records.length === 0 ? writer.empty : [...pieces(writer, records), writer.tail].join(''),
    };
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
const pieceLength = 16 * 1024;
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
    const afterKey = prefix + after;
    if (revision >= 0) {
      await reach(call.kit.store, revision);
      return { afterKey, atRevision: revision };
    }
    // It goes on at what is newest, as a list without a token does.
    await call.kit.store.currentRevision({ fresh: true });
    return { afterKey };
  }
  const { at } = query;
  if (at.kind === 'exact') {
    checkView(call, at.revision);
    await reach(call.kit.store, at.revision);
    return { atRevision: at.revision };
  }
  if (at.kind === 'newest' && wantsNewest(call.target.query)) await call.kit.store.currentRevision({ fresh: true });
  if (at.kind === 'atLeast') {
    const current = await reach(call.kit.store, at.revision);
    if (at.revision > current) throw new StatusFault(tooLargeResourceVersion(at.revision, current));
  }
  return {};
}
