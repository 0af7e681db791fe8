// The file of a store under a writer that wants to fill the disk, and the start of a store on a file that was filled.
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { SqliteStore, type SqliteStoreOptions } from '../../src/store/sqlite/sqlite-store.ts';
import { sampled } from '../sampled.ts';
import { VirtualClock } from '../virtual-clock.ts';

const folder = mkdtempSync(join(tmpdir(), 'hostward-size-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let fileCount = 0;
const newPath = () => join(folder, `${fileCount++}.db`);

const open: SqliteStore[] = [];
afterEach(async () => {
  for (const store of open.splice(0)) await store.stop();
});

const mib = 1024 * 1024;
/** What the files hold besides records: the log of SQLite (4 MiB and one commit), free pages (4 MiB), rows that wait to be deleted. */
const besideRecords = 20 * mib;

async function start(path: string, options: Partial<SqliteStoreOptions> = {}): Promise<SqliteStore> {
  const store = new SqliteStore({
    clock: new VirtualClock(),
    path,
    synchronous: 'NORMAL',
    history: { maxBytes: mib },
    ...options,
  });
  open.push(store);
  await store.start();
  return store;
}

const sizeOf = (path: string) =>
  [path, `${path}-wal`].reduce((sum, file) => sum + (existsSync(file) ? statSync(file).size : 0), 0);

/** Between writes the store gives pages back, fewer on a busy machine; the rest are those that it keeps for the next writes. */
async function shrunk(store: SqliteStore, path: string): Promise<void> {
  for (let write = 0; write < 5_000 && sizeOf(path) > 14 * mib; write++)
    await store.writeSideValues(new Map([['/again', String(write)]]));
  expect(sizeOf(path)).toBeLessThan(14 * mib);
}

async function recordBytes(store: SqliteStore): Promise<number> {
  const page = await store.list('');
  if (page.kind !== 'page') throw new Error('want the present');
  return page.records.reduce((sum, { key, value }) => sum + key.length + Buffer.byteLength(value), 0);
}

describe('the file of a store', () => {
  it('stays small while one writer replaces large values over and over', async () => {
    const path = newPath();
    const store = await start(path);
    const value = 'x'.repeat(32 * 1024);
    let largest = 0;
    for (let round = 0; round < 60; round++) {
      await Promise.all(
        Array.from({ length: 50 }, (_, n) => store.write(`/${n % 7}`, { expect: undefined, value: value + round })),
      );
      largest = Math.max(largest, sizeOf(path));
    }
    expect(largest).toBeLessThan(3 * (await recordBytes(store)) + besideRecords);
  }, 60_000);

  it('gives the disk back what was deleted', async () => {
    const path = newPath();
    const store = await start(path);
    const value = 'x'.repeat(32 * 1024);
    await Promise.all(Array.from({ length: 1000 }, (_, n) => store.write(`/${n}`, { expect: 0, value })));
    expect(sizeOf(path)).toBeGreaterThan(30 * mib);
    await Promise.all(
      Array.from({ length: 1000 }, (_, n) => store.write(`/${n}`, { expect: undefined, value: undefined })),
    );
    await store.compact(2000);
    await shrunk(store, path);
  }, 60_000);

  it('holds the bound whatever sizes are written in whatever order', async () => {
    const write = fc.record({
      key: fc.integer({ min: 0, max: 400 }),
      // Around one page of 4096 bytes a row may waste half of it.
      length: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 1300, max: 4200 }), fc.constant(32_000)),
      isDelete: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(write, { minLength: 1500, maxLength: 3000, size: 'max' }), async (writes) => {
        const path = newPath();
        const store = await start(path, { history: { maxBytes: 10_000 } });
        for (let at = 0; at < writes.length; at += 100)
          await Promise.all(
            writes
              .slice(at, at + 100)
              .map(({ key, length, isDelete }) =>
                store.write(`/${key}`, { expect: undefined, value: isDelete ? undefined : 'x'.repeat(length) }),
              ),
          );
        await store.compact(await store.currentRevision());
        expect(sizeOf(path)).toBeLessThan(3 * (await recordBytes(store)) + besideRecords);
        await store.stop();
        expect(sizeOf(path)).toBeLessThan(3 * (await recordBytes(await start(path))) + 5 * mib);
      }),
      { numRuns: sampled(5) },
    );
  }, 120_000);

  it('of an earlier version, which gave nothing back, gets small at the start', async () => {
    const path = newPath();
    await (await start(path)).stop();
    const database = new DatabaseSync(path);
    database.exec('PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM; BEGIN');
    const insert = database.prepare('INSERT INTO log VALUES (?, ?, ?, ?, 0)');
    for (let n = 1; n <= 1000; n++) insert.run(n, `/${n}`, 'x'.repeat(32 * 1024), n);
    database.exec('COMMIT; DELETE FROM log WHERE revision < 1000; UPDATE meta SET number = 1000');
    database.close();
    expect(sizeOf(path)).toBeGreaterThan(30 * mib);
    const store = await start(path);
    expect(sizeOf(path)).toBeLessThan(mib);
    expect(await store.list('/')).toMatchObject({ records: [{ key: '/1000', revision: 1000 }] });
  });
});

describe('a start on a file that was filled', () => {
  it('reads no more history than the limit, and all that is present', async () => {
    const path = newPath();
    const filled = await start(path, { history: { maxBytes: 1024 * mib } });
    await filled.write('/first', { expect: 0, value: 'stays' });
    for (let n = 0; n < 500; n++) await filled.write('/a', { expect: undefined, value: `${n}`.padEnd(100_000, 'x') });
    await filled.stop();
    expect(sizeOf(path)).toBeGreaterThan(45 * mib);
    const store = await start(path, { keepsHistoryAtStart: true });
    expect(await store.list('/', { atRevision: 400 })).toMatchObject({ kind: 'compacted' });
    expect(await store.list('/', { atRevision: 495 })).toMatchObject({ kind: 'page', revision: 495 });
    expect(await store.list('/')).toMatchObject({ records: [{ revision: 501 }, { value: 'stays' }], revision: 501 });
    await store.stop();
    await shrunk(await start(path), path);
    await open.at(-1)?.stop();
    expect(await (await start(path)).write('/a', { expect: 501, value: 'next' })).toMatchObject({ revision: 502 });
  }, 60_000);
});
