// A store whose revisions have gaps, seen as one that counts its changes from 1: the cases of the contract hold for both.
import type {
  ListResult,
  ReadResult,
  Store,
  StoredRecord,
  StoreEvent,
  StoreWatch,
  UnreadableRevision,
  WriteResult,
} from '../../../src/store/store.ts';

export interface Numbering {
  /** Of the n-th change; 0 is before the first. */
  revisionOf(count: number): number;
  countOf(revision: number): number;
}

export function counted(store: Store, { revisionOf, countOf }: Numbering): Store {
  const record = (given: StoredRecord): StoredRecord => ({
    ...given,
    createRevision: countOf(given.createRevision),
    revision: countOf(given.revision),
  });
  const event = (given: StoreEvent): StoreEvent => ({
    ...given,
    createRevision: countOf(given.createRevision),
    revision: countOf(given.revision),
  });
  const unreadable = (given: UnreadableRevision): UnreadableRevision =>
    given.kind === 'compacted'
      ? { ...given, compactedRevision: countOf(given.compactedRevision) }
      : { ...given, currentRevision: countOf(given.currentRevision) };
  return {
    start: () => store.start(),
    stop: () => store.stop(),
    currentRevision: async (options) => countOf(await store.currentRevision(options)),
    async get(key, options) {
      const { record: found, revision } = await store.get(key, options);
      return { record: found === undefined ? undefined : record(found), revision: countOf(revision) };
    },
    async list(prefix, options = {}): Promise<ListResult> {
      const { atRevision, ...others } = options;
      const place = atRevision === undefined ? {} : { atRevision: revisionOf(atRevision) };
      const result = await store.list(prefix, { ...others, ...place });
      if (result.kind !== 'page') return unreadable(result);
      return { ...result, records: result.records.map(record), revision: countOf(result.revision) };
    },
    async read(keys, atRevision): Promise<ReadResult> {
      const result = await store.read(keys, revisionOf(atRevision));
      if (result.kind !== 'read') return unreadable(result);
      return { ...result, records: result.records.map((found) => found && record(found)) };
    },
    async write(key, { expect, value }): Promise<WriteResult> {
      // 0 is no revision here: the key must not exist.
      const result = await store.write(key, { expect: expect ? revisionOf(expect) : expect, value });
      const revision = countOf(result.revision);
      if (result.ok) return { ok: true, revision, createRevision: countOf(result.createRevision) };
      return { ok: false, current: result.current === undefined ? undefined : record(result.current), revision };
    },
    async watch(prefix, afterRevision) {
      const opened = await store.watch(prefix, revisionOf(afterRevision));
      if ('kind' in opened) return { ...opened, compactedRevision: countOf(opened.compactedRevision) };
      return countedWatch(opened, { event, countOf });
    },
    sideValues: (prefix, options) => store.sideValues(prefix, options),
    writeSideValues: (changes) => store.writeSideValues(changes),
    compact: (upToRevision) => store.compact(revisionOf(upToRevision)),
  };
}

function countedWatch(
  watch: StoreWatch,
  { event, countOf }: Pick<Numbering, 'countOf'> & { event: (given: StoreEvent) => StoreEvent },
): StoreWatch {
  return {
    async *events() {
      for await (const batch of watch.events()) yield batch.map(event);
    },
    close: () => watch.close(),
    get upTo() {
      return countOf(watch.upTo);
    },
    get ended() {
      return watch.ended;
    },
  };
}
