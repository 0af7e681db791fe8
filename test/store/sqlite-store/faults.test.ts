import { fork } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { walFault } from '../../../src/store/sqlite/wal-check.ts';
import type { Store } from '../../../src/store/store.ts';
import { folderOfTests, start } from './stage.ts';

const { folder, newPath } = folderOfTests();

describe('sqlite store, when things break', () => {
  const workerUrl = new URL('../failing-worker.ts', import.meta.url);
  const put = (store: Store, key: string) => store.write(key, { expect: undefined, value: 'x' });
  const codeOf = (write: Promise<unknown>) =>
    write.then(
      () => 'written',
      (fault: { code?: string }) => fault.code,
    );

  it('fails a batch that the disk refuses, keeps the old data, and continues', async () => {
    const path = newPath();
    await (await start(path)).stop();
    const database = new DatabaseSync(path);
    database.exec(`CREATE TRIGGER full BEFORE INSERT ON log WHEN new.key LIKE '%fail%'
      BEGIN SELECT raise(ABORT, 'disk is full'); END`);
    database.close();
    const store = await start(path);
    const watch = await store.watch('/', 0);
    if ('kind' in watch) throw new Error('Expected a watch');
    await put(store, '/a');
    const [first, beside] = [codeOf(put(store, '/fail')), codeOf(put(store, '/beside'))];
    await new Promise((resolve) => setImmediate(resolve));
    const behind = codeOf(put(store, '/b'));
    expect(await Promise.all([first, beside, behind])).toEqual(['STORE_WRITE_FAILED', 'STORE_WRITE_FAILED', 'written']);
    await expect(put(store, '/fail')).rejects.toThrow(/^Cannot write ".*": disk is full$/);
    expect(await store.list('/')).toMatchObject({ records: [{ key: '/a' }, { key: '/b' }], revision: 2 });
    expect(await put(store, '/c')).toMatchObject({ ok: true, revision: 3 });
    const heard: string[] = [];
    for await (const batch of watch.events()) {
      heard.push(...batch.map(({ key }) => key));
      if (heard.length === 3) break;
    }
    expect(heard).toEqual(['/a', '/b', '/c']);
  });

  it('refuses a write while 32 MiB of others wait for the disk, and takes it when they are done', async () => {
    const store = await start(newPath(), { synchronous: 'NORMAL' });
    const value = 'x'.repeat(4 * 1024 * 1024);
    const writes = Array.from({ length: 9 }, (_, at) => codeOf(store.write(`/${at}`, { expect: undefined, value })));
    expect((await Promise.all(writes)).join()).toBe(`${'written,'.repeat(8)}STORE_OVERLOADED`);
    expect(await codeOf(put(store, '/8'))).toBe('written');
  });

  it('reports a dead thread for every write and every read', async () => {
    const store = await start(newPath(), { workerUrl });
    await put(store, '/a');
    expect(await codeOf(put(store, '/die'))).toBe('STORE_WORKER_GONE');
    await expect(put(store, '/b')).rejects.toThrow(/thread is gone: it threw: out of memory/);
    await expect(store.get('/a')).rejects.toMatchObject({ code: 'STORE_WORKER_GONE' });
    await expect(store.list('/')).rejects.toMatchObject({ code: 'STORE_WORKER_GONE' });
  });

  it('never shows a write that is not on disk, even in a refusal', async () => {
    const store = await start(newPath());
    const order: string[] = [];
    const write = put(store, '/a').then(() => order.push('written'));
    // What shows it comes after the answer of whoever wrote it.
    const read = store.get('/a').then(({ revision }) => order.push(`read ${revision}`));
    const refused = store.write('/a', { expect: 0, value: 'y' }).then((result) => {
      order.push('refused');
      expect(result).toMatchObject({ ok: false, current: { value: 'x' }, revision: 1 });
    });
    await Promise.all([write, refused, read]);
    expect(order).toEqual(['written', 'refused', 'read 1']);
  });

  it('runs its thread from a bundle as well', async () => {
    const outfile = join(folder, 'bundled-worker.mjs');
    const entry = fileURLToPath(new URL('../../../src/store/sqlite/sqlite-worker.ts', import.meta.url));
    await build({ entryPoints: [entry], outfile, bundle: true, platform: 'node', format: 'esm', minify: true });
    const store = await start(newPath(), { workerUrl: pathToFileURL(outfile) });
    expect(await put(store, '/a')).toMatchObject({ ok: true, revision: 1 });
  });

  it('writes the queue to disk before it stops', async () => {
    const path = newPath();
    const store = await start(path);
    const writes = Promise.all(Array.from({ length: 100 }, (_, n) => put(store, `/${n}`)));
    await store.stop();
    await writes;
    expect(rowsOf(path)).toHaveLength(100);
  });

  it('has every acknowledged write after a kill under load', async () => {
    const path = newPath();
    const acknowledged = new Map<string, number>();
    const child = fork(fileURLToPath(new URL('../crash-writer.ts', import.meta.url)), [path], { stdio: 'ignore' });
    child.on('message', (message: { key: string; revision: number }) => {
      acknowledged.set(message.key, message.revision);
      if (acknowledged.size === 500) child.kill('SIGKILL');
    });
    await new Promise((resolve) => child.on('close', resolve));
    const store = await start(path);
    const list = await store.list('/');
    if (list.kind !== 'page') throw new Error('Expected a page');
    const found = new Map(list.records.map(({ key, revision }) => [key, revision]));
    expect(acknowledged.size).toBeGreaterThanOrEqual(500);
    for (const [key, revision] of acknowledged) expect(found.get(key)).toBe(revision);
  });
});

function rowsOf(path: string): unknown[] {
  const database = new DatabaseSync(path);
  const revisions = database.prepare('SELECT revision FROM log ORDER BY revision').all();
  database.close();
  return revisions.map((row) => row['revision']);
}

describe('walFault()', () => {
  /** The log of five commits, as a killed process leaves it. */
  function logOf(path: string): Buffer {
    const database = new DatabaseSync(path);
    database.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (a)');
    for (let at = 0; at < 4; at++) database.exec(`INSERT INTO t VALUES (${at})`);
    const log = readFileSync(`${path}-wal`);
    database.close();
    return log;
  }
  const frame = 24 + 4096;
  const spoilt = (log: Buffer, at: number) => {
    const copy = Buffer.from(log);
    copy.writeUInt8(copy.readUInt8(at) ^ 0xff, at);
    return copy;
  };

  it('finds damage in front of acknowledged commits, and forgives the torn end of a crash', () => {
    const log = logOf(newPath());
    expect(log.length).toBeGreaterThan(32 + 4 * frame);
    const frames = (log.length - 32) / frame;
    expect(walFault(log)).toBeUndefined();
    for (let at = 0; at < frames; at++) {
      const isEarly = at < frames - 1;
      expect([at, walFault(spoilt(log, 32 + at * frame + 1_000)) !== undefined]).toEqual([at, isEarly]);
    }
    for (const length of [0, 20, 32, 40, 32 + frame, 32 + 2 * frame + 100, log.length - 1])
      expect([length, walFault(log.subarray(0, length))]).toEqual([length, undefined]);
    for (const at of [0, 9, 25]) expect(walFault(spoilt(log, at))).toMatch(/write-ahead log/);
    expect(walFault(Buffer.alloc(8_000))).toBeUndefined();
  });

  it('keeps a store from opening a file whose log would lose writes, and the log stays as it is', async () => {
    const path = newPath();
    const store = await start(path);
    for (let at = 0; at < 5; at++) await store.write(`/k${at}`, { expect: 0, value: 'x' });
    const copy = newPath();
    writeFileSync(copy, readFileSync(path));
    const log = spoilt(readFileSync(`${path}-wal`), 32 + 1_000);
    writeFileSync(`${copy}-wal`, log);
    await expect(start(copy)).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    expect(readFileSync(`${copy}-wal`).equals(log)).toBe(true);
  });
});
