// Makes one store hold what another one holds, however much of that it has already, so that an attempt after a broken one goes on where
// that stopped. In: two open stores that nobody serves. Out: the number of records and a digest of all of them.
import { createHash } from 'node:crypto';
import type { Store, StoredRecord } from '../../../store/store.ts';
import { movedKey, movingKey } from '../host/store-marks.ts';

/** Records that are read at a time. */
const pageRecords = 500;
/** Writes under way: more make an API server no faster. */
const writesAtOnce = 16;

export interface StoreContent {
  records: number;
  /** Of keys and values in order of the keys. */
  digest: string;
}

/** Marks belong to a store and not to its content. */
const marks = new Set([movedKey, movingKey]);

export async function makeEqual(from: Store, to: Store, progress: (done: number) => void): Promise<void> {
  let done = 0;
  for await (const page of pagesOf(from)) {
    await inParallel(page, async ({ key, value }) => {
      const { record } = await to.get(key);
      if (record?.value !== value) await mustWrite(to, key, value);
    });
    done += page.length;
    progress(done);
  }
  for await (const page of pagesOf(to))
    await inParallel(page, async ({ key }) => {
      if ((await from.get(key)).record === undefined) await mustWrite(to, key, undefined);
    });
  await sideValues(from, to);
}

export async function contentOf(store: Store): Promise<StoreContent> {
  const hash = createHash('sha256');
  let records = 0;
  for await (const page of pagesOf(store))
    for (const { key, value } of page) {
      records++;
      hash.update(`${Buffer.byteLength(key)} ${key}${Buffer.byteLength(value)} ${value}`);
    }
  return { records, digest: hash.digest('hex') };
}

export async function* pagesOf(store: Store): AsyncGenerator<readonly StoredRecord[]> {
  const atRevision = await store.currentRevision({ fresh: true });
  let afterKey: string | undefined;
  for (;;) {
    const place = afterKey === undefined ? {} : { afterKey };
    const page = await store.list('', { atRevision, limit: pageRecords, ...place });
    if (page.kind !== 'page')
      throw new Error('read the records: the store has compacted the revision that was being read; try again');
    yield page.records.filter(({ key }) => !marks.has(key));
    afterKey = page.records.at(-1)?.key;
    if (!page.hasMore) return;
  }
}

async function mustWrite(store: Store, key: string, value: string | undefined): Promise<void> {
  const written = await store.write(key, { expect: undefined, value });
  if (!written.ok && (value !== undefined || written.current !== undefined))
    throw new Error(`move "${key}": another program writes to the store; stop it and try again`);
}

async function sideValues(from: Store, to: Store): Promise<void> {
  let afterKey: string | undefined;
  for (;;) {
    const page = await from.sideValues('', { ...(afterKey !== undefined && { afterKey }), limit: pageRecords });
    await to.writeSideValues(page);
    afterKey = [...page.keys()].at(-1);
    if (page.size < pageRecords) return;
  }
}

export async function inParallel<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const work = async () => {
    for (let item = queue.pop(); item !== undefined; item = queue.pop()) await run(item);
  };
  await Promise.all(Array.from({ length: writesAtOnce }, work));
}
