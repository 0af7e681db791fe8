import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { pagesOf } from '../../../src/store/follow/pages.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { folderOfTests, start } from './stage.ts';

const { folder, newPath } = folderOfTests();

describe('sqlite store, reopened', () => {
  it('has records, revisions, history and compaction as before', async () => {
    const path = newPath();
    const first = await start(path);
    await first.write('/a', { expect: 0, value: 'a1' });
    await first.write('/b', { expect: 0, value: 'b1' });
    await first.write('/a', { expect: 1, value: 'a2' });
    await first.write('/b', { expect: 2, value: undefined });
    await first.write('/c', { expect: 0, value: 'c1' });
    await first.compact(2);
    await first.writeSideValues(
      new Map([
        ['/used/a', '1'],
        ['/used/b', '2'],
      ]),
    );
    await first.writeSideValues(new Map([['/used/b', undefined]]));
    const world = await first.list('/');
    const past = await first.list('/', { atRevision: 3 });
    await first.stop();

    const second = await start(path);
    expect(await second.list('/')).toEqual(world);
    expect([...(await second.sideValues('/'))]).toEqual([['/used/a', '1']]);
    expect(await second.list('/', { atRevision: 3 })).toEqual(past);
    expect(await second.list('/', { atRevision: 1 })).toEqual({ kind: 'compacted', compactedRevision: 2 });
    const watch = await second.watch('/', 2);
    if ('kind' in watch) throw new Error('Expected a watch');
    for await (const batch of watch.events()) {
      expect(batch).toMatchObject([
        { type: 'put', key: '/a', revision: 3, previous: 'a1', createRevision: 1 },
        { type: 'delete', key: '/b', revision: 4, previous: 'b1', createRevision: 2 },
        { type: 'put', key: '/c', revision: 5, previous: undefined },
      ]);
      break;
    }
    expect(await second.write('/b', { expect: 0, value: 'b2' })).toMatchObject({ revision: 6, createRevision: 6 });
  });

  it('never reuses a revision, even after compacting a final delete', async () => {
    const path = newPath();
    const first = await start(path);
    await first.write('/a', { expect: 0, value: 'x' });
    await first.write('/a', { expect: 1, value: undefined });
    await first.compact(2);
    await first.stop();
    expect(rowsOf(path)).toEqual([]);
    const second = await start(path);
    expect(await second.write('/a', { expect: 0, value: 'y' })).toMatchObject({ ok: true, revision: 3 });
  });

  it('deletes compacted versions on disk too, and cleans up after a crash', async () => {
    const path = newPath();
    const first = await start(path);
    for (let n = 0; n < 20; n++) await first.write('/a', { expect: undefined, value: `v${n}` });
    await first.write('/gone', { expect: 0, value: 'x' });
    await first.write('/gone', { expect: 21, value: undefined });
    await first.compact(22);
    await first.stop();
    expect(rowsOf(path)).toEqual([20]);

    // The same state as after a crash between the new compacted revision and the deletes.
    const database = new DatabaseSync(path);
    database.exec(
      "INSERT INTO log VALUES (7, '/a', 'old', 1, 0), (21, '/gone', 'x', 21, 0), (22, '/gone', NULL, 21, 0)",
    );
    database.close();
    const second = await start(path);
    expect(await second.list('/')).toMatchObject({
      records: [{ key: '/a', value: 'v19', revision: 20 }],
      revision: 22,
    });
    await second.stop();
    expect(rowsOf(path)).toEqual([20]);
  });

  it('counts the age of the history across a restart', async () => {
    const path = newPath();
    const first = await start(path, { clock: new VirtualClock('2026-01-01T00:00:00Z') });
    await first.write('/a', { expect: 0, value: 'one' });
    await first.write('/a', { expect: 1, value: 'two' });
    await first.stop();
    const soon = await start(path, { clock: new VirtualClock('2026-01-01T00:01:00Z') });
    expect(await soon.list('/', { atRevision: 1 })).toMatchObject({ kind: 'page' });
    await soon.stop();
    const later = await start(path, { clock: new VirtualClock('2026-01-01T01:00:00Z') });
    expect(await later.list('/', { atRevision: 1 })).toMatchObject({ kind: 'compacted', compactedRevision: 2 });
    expect(await later.get('/a')).toMatchObject({ record: { value: 'two' } });
  });
});

describe('sqlite store, as a file', () => {
  it('is readable only by its owner, like its log file', async () => {
    const path = newPath();
    writeFileSync(path, '', { mode: 0o644 });
    const store = await start(path);
    await store.write('/a', { expect: 0, value: 'secret' });
    for (const file of [path, `${path}-wal`]) expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('of another program stays as it is, its mode included', async () => {
    const path = newPath();
    const database = new DatabaseSync(path);
    database.exec('CREATE TABLE theirs (a)');
    database.close();
    chmodSync(path, 0o644);
    const before = readFileSync(path);
    await expect(start(path)).rejects.toThrow(/database of another program/);
    expect([statSync(path).mode & 0o777, readFileSync(path).equals(before)]).toEqual([0o644, true]);
  });

  it('belongs to one process: a second process gets STORE_LOCKED', async () => {
    const path = newPath();
    await start(path);
    await expect(start(path)).rejects.toMatchObject({ code: 'STORE_LOCKED' });
  });

  const unusable: { claim: string; make: (path: string) => void | Promise<void>; code: string; says: RegExp }[] = [
    {
      claim: 'a file that is not a database',
      make: (path) => writeFileSync(path, 'hello '.repeat(1000)),
      code: 'STORE_CORRUPT',
      says: /damaged or not a store/,
    },
    {
      claim: 'a later format',
      make: (path) => formatted(path, 2),
      code: 'STORE_OPEN_FAILED',
      says: /wanted format 1, found format 2/,
    },
    { claim: 'a log with a hole', make: withHole, code: 'STORE_CORRUPT', says: /wanted 2/ },
  ];
  it.each(unusable)('refuses $claim and says why', async ({ make, code, says }) => {
    const path = newPath();
    await make(path);
    await expect(start(path)).rejects.toMatchObject({ code, message: expect.stringMatching(says) });
  });

  it('refuses a missing folder', async () => {
    await expect(start(join(folder, 'nowhere', 'x.db'))).rejects.toMatchObject({ code: 'STORE_OPEN_FAILED' });
  });
});

describe('sqlite store, larger than its memory', () => {
  it('copies itself while reads and writes go on, with every write that was acknowledged before', async () => {
    const path = newPath();
    const store = await start(path);
    const value = 'x'.repeat(4000);
    await Promise.all(Array.from({ length: 3000 }, (_, n) => store.write(`/${n}`, { expect: 0, value })));
    const copy = newPath();
    let isCopied = false;
    const copying = store.copyTo(copy).finally(() => {
      isCopied = true;
    });
    let meanwhile = 0;
    for (; !isCopied; meanwhile++) {
      await store.write('/meanwhile', { expect: undefined, value: String(meanwhile) });
      await store.list('/', { limit: 1, afterKey: `/${meanwhile % 3000}` });
    }
    await copying;
    expect(meanwhile).toBeGreaterThan(1);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    await expect(store.copyTo(copy)).rejects.toMatchObject({ code: 'STORE_WRITE_FAILED' });
    const page = await (await start(copy)).list('/');
    if (page.kind !== 'page') throw new Error('Expected a page');
    expect(page.records.filter(({ value: stored }) => stored === value)).toHaveLength(3000);
  });

  it('copies itself also where the copy begins while a write is under way', async () => {
    const store = await start(newPath());
    let isOver = false;
    const writing = (async () => {
      while (!isOver)
        await Promise.all(
          Array.from({ length: 300 }, (_, n) => store.write(`/${n}`, { expect: undefined, value: 'x' })),
        );
    })();
    const copied = await Promise.allSettled(Array.from({ length: 50 }, () => store.copyTo(newPath())));
    isOver = true;
    await writing;
    expect(copied.filter(({ status }) => status !== 'fulfilled')).toEqual([]);
  });

  it('says of each page of a long list how many keys remain, also where long texts end it early', async () => {
    const store = await start(newPath());
    const count = 5_000;
    for (let from = 0; from < count; from += 1000)
      await Promise.all(
        Array.from({ length: 1000 }, (_, n) => store.write(`/k/${from + n}`, { expect: 0, value: 'x'.repeat(1500) })),
      );
    await store.write('/l', { expect: 0, value: 'beside' });
    for (let n = 0; n < 100; n++) await store.write(`/k/${n}`, { expect: undefined, value: undefined });
    const paged = async (present: number) => {
      let seen = 0;
      let afterKey: string | undefined;
      let atRevision: number | undefined;
      do {
        const page = await store.list('/k/', {
          limit: 700,
          ...(afterKey !== undefined && { afterKey }),
          ...(atRevision !== undefined && { atRevision }),
        });
        if (page.kind !== 'page') throw new Error('Expected a page');
        seen += page.records.length;
        expect(page.remaining).toBe(present - seen);
        afterKey = page.hasMore ? page.records.at(-1)?.key : undefined;
        atRevision = page.revision;
        await store.write('/l', { expect: undefined, value: String(seen) });
      } while (afterKey !== undefined);
      expect(seen).toBe(present);
    };
    await paged(4_900);
    for (let n = 0; n < 70; n++) await store.write(`/k/${n}`, { expect: 0, value: 'again' });
    await store.write('/k/4000', { expect: undefined, value: undefined });
    await store.write('/k/4001', { expect: undefined, value: 'as before, it is present' });
    await paged(4_969);
  });

  it('knows how many keys remain after somebody has walked to the end, also when they changed on the way', async () => {
    const store = await start(newPath());
    await Promise.all(Array.from({ length: 3000 }, (_, n) => store.write(`/k/${n}`, { expect: 0, value: 'x' })));
    const first = async () => store.list('/k/', { limit: 10 });
    const walk = async (onTheWay: () => Promise<unknown>) => {
      const seen: string[] = [];
      const revision = await store.currentRevision();
      for await (const records of pagesOf(store, '/k/', { revision, limit: 700 })) {
        seen.push(...records.map(({ key }) => key));
        await onTheWay();
      }
      return seen.length;
    };
    expect(await walk(async () => {})).toBe(3_000);
    await store.write('/k/new', { expect: 0, value: 'x' });
    expect(await first()).toMatchObject({ remaining: 2_991 });
    let removed = 0;
    const remove = () => store.write(`/k/${removed++}`, { expect: undefined, value: undefined });
    expect(await walk(remove)).toBe(3_001);
    expect(await first()).toMatchObject({ remaining: 2_991 - removed });
    // One that is left in the middle, and one that begins there.
    for await (const _ of pagesOf(store, '/k/', { revision: await store.currentRevision(), limit: 700 })) break;
    await store.list('/k/', { limit: 2_900, afterKey: '/k/1', isWalk: true });
    await store.list('/k/', { limit: 700, afterKey: '/k/8', isWalk: true });
    expect(await first()).toMatchObject({ remaining: 2_991 - removed });
  });

  it('counts by a walk alone, where nobody has asked before', async () => {
    const store = await start(newPath());
    await Promise.all(Array.from({ length: 50 }, (_, n) => store.write(`/k/${n}`, { expect: 0, value: 'x' })));
    await store.list('/k/', { limit: 20, afterKey: '/k/3', isWalk: true });
    await store.list('/k/', { limit: 50, afterKey: '/k/3', isWalk: true });
    expect(await store.list('/k/', { limit: 10 })).toMatchObject({ remaining: 40 });
    expect(await store.list('/k/', { limit: 10, isWalk: true })).toMatchObject({ hasMore: true, remaining: undefined });
  });

  it('does not guess how many keys remain behind a place that it does not know', async () => {
    const store = await start(newPath());
    await Promise.all(Array.from({ length: 3000 }, (_, n) => store.write(`/${1000 + n}`, { expect: 0, value: 'x' })));
    const behind = async (afterKey: string) => store.list('/', { limit: 10, afterKey });
    expect(await behind('/1500')).toMatchObject({ hasMore: true, remaining: undefined });
    expect(await behind('/3899')).toMatchObject({ hasMore: true, remaining: 90 });
  });

  it('brings no more into memory for many keys than for one large object', async () => {
    const store = await start(newPath());
    const lengths = [20_000, 12_000, 10_000, 50_000, 1];
    const keys = lengths.map((_, n) => `/${n}`);
    for (const [n, key] of keys.entries())
      await store.write(key, { expect: 0, value: 'x'.repeat(lengths[n] as number) });
    const found = async (from: number) => {
      const answer = await store.read(keys.slice(from), keys.length);
      return answer.kind === 'read' ? answer.records.map((record) => record?.key) : answer;
    };
    expect(await found(0)).toEqual(['/0', '/1']);
    expect(await found(2)).toEqual(['/2']);
    expect(await found(3)).toEqual(['/3']);
    expect(await found(4)).toEqual(['/4']);
  });

  it('commits together what is written in one turn of the loop', async () => {
    const store = await start(newPath());
    const watch = await store.watch('/', 0);
    if ('kind' in watch) throw new Error('Expected a watch');
    const commits: string[][] = [];
    const reading = (async () => {
      for await (const batch of watch.events()) {
        commits.push(batch.map(({ key }) => key));
        if (commits.flat().length === 2) break;
      }
    })();
    const write = (key: string) => store.write(key, { expect: 0, value: '{}' });
    const first = write('/a');
    // As two requests that came at once: the second goes on when no promise of the first has anything left to do.
    const second = new Promise((resolve) => process.nextTick(() => resolve(write('/b'))));
    await Promise.all([first, second, reading]);
    expect(commits).toEqual([['/a', '/b']]);
  });

  it('gives a watch the history that is not in memory any more, in order and whole', async () => {
    const store = await start(newPath(), { history: { maxBytes: 1024 ** 3 } });
    const value = 'x'.repeat(20_000);
    for (let n = 0; n < 400; n++) await store.write(`/${n % 5}`, { expect: undefined, value: `${n} ${value}` });
    const watch = await store.watch('/3', 10);
    if ('kind' in watch) throw new Error('Expected a watch');
    const revisions: number[] = [];
    for await (const batch of watch.events()) {
      for (const { revision, value: now, previous } of batch) {
        revisions.push(revision);
        expect([Number.parseInt(now, 10), Number.parseInt(previous ?? '', 10)]).toEqual([revision - 1, revision - 6]);
      }
      if (revisions.at(-1) === 399) break;
    }
    expect(revisions).toEqual(Array.from({ length: 78 }, (_, n) => 14 + 5 * n));
  });
});

function rowsOf(path: string): unknown[] {
  const database = new DatabaseSync(path);
  const revisions = database.prepare('SELECT revision FROM log ORDER BY revision').all();
  database.close();
  return revisions.map((row) => row['revision']);
}

function formatted(path: string, version: number): void {
  const database = new DatabaseSync(path);
  database.exec(`PRAGMA user_version = ${version}`);
  database.close();
}

async function withHole(path: string): Promise<void> {
  const store = new SqliteStore({ clock: new VirtualClock(), path });
  await store.start();
  for (const key of ['/a', '/b', '/c']) await store.write(key, { expect: 0, value: 'x' });
  await store.stop();
  const database = new DatabaseSync(path);
  database.exec('DELETE FROM log WHERE revision = 2');
  database.close();
}
