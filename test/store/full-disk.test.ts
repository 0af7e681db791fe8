import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'hostward-full-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const writer = fileURLToPath(new URL('./full-disk-writer.ts', import.meta.url));

/** The words of the shell that limit the disk, then the program and the path of its database. */
function writeUnder(limit: string, path: string) {
  const run = `${limit} && exec "$0" "$1" "$2"`;
  const of = { encoding: 'utf8', timeout: 50_000 } as const;
  const { stdout, stderr } = spawnSync('bash', ['-c', run, process.execPath, writer, path], of);
  const line = stdout.split('\n').find((text) => text.startsWith('{'));
  if (line === undefined) throw new Error(stderr);
  return JSON.parse(line) as Record<string, unknown>;
}

async function readAll(path: string): Promise<number> {
  const store = new SqliteStore({ clock: systemClock, path });
  await store.start();
  try {
    const list = await store.list('/');
    expect(await store.write('/later', { expect: 0, value: 'x' })).toMatchObject({ ok: true });
    return list.kind === 'page' ? list.records.length : -1;
  } finally {
    await store.stop();
  }
}

const canMount = spawnSync('unshare', ['-Urm', 'bash', '-c', 'mount -t tmpfs none /mnt']).status === 0;

describe('a disk without room', () => {
  it('refuses writes beyond the size that the system allows a file, keeps what it acknowledged, and still reads', async () => {
    const path = join(folder, 'limited.db');
    const said = writeUnder('ulimit -f 1024', path);
    expect(said).toMatchObject({ code: 'STORE_WRITE_FAILED', again: 'STORE_WRITE_FAILED', isReadable: true });
    expect(said['message']).toMatch(/^Cannot write ".*limited\.db": /);
    expect(said['acknowledged']).toBeGreaterThan(10);
    expect(said['readable']).toBe(said['acknowledged']);
    expect(await readAll(path)).toBe(said['acknowledged']);
  });

  it.skipIf(!canMount)('refuses writes on a full file system with a sentence, and loses nothing', async () => {
    const [small, kept] = [join(folder, 'small'), join(folder, 'kept')];
    for (const made of [small, kept]) mkdirSync(made);
    // The file system goes with the process, so that the files are copied out of it before.
    const limit = `mount -t tmpfs -o size=2m none ${small} && trap 'cp ${small}/* ${kept}/' EXIT && "$0" "$1" "$2"; true`;
    const run = spawnSync('unshare', ['-Urm', 'bash', '-c', limit, process.execPath, writer, join(small, 'x.db')], {
      encoding: 'utf8',
    });
    const said = JSON.parse(run.stdout.split('\n').find((text) => text.startsWith('{')) ?? run.stderr);
    expect(said).toMatchObject({ code: 'STORE_WRITE_FAILED', again: 'STORE_WRITE_FAILED', isReadable: true });
    expect(said.message).toMatch(/^Cannot write ".*x\.db": .*full/);
    expect(await readAll(join(kept, 'x.db'))).toBe(said.acknowledged);
  });
});

describe('a damaged file', () => {
  async function filled(name: string): Promise<string> {
    const path = join(folder, name);
    const store = new SqliteStore({ clock: systemClock, path });
    await store.start();
    for (let n = 0; n < 300; n++) await store.write(`/${n}`, { expect: 0, value: 'y'.repeat(500) });
    await store.stop();
    return path;
  }

  const damages: [string, (path: string) => Promise<void>][] = [
    [
      'a page that was overwritten',
      async (path) => {
        const file = await open(path, 'r+');
        await file.write(Buffer.alloc(4096 * 8, 0xa5), 0, 4096 * 8, 4096 * 6);
        await file.close();
      },
    ],
    ['an end that was cut off', async (path) => truncateSync(path, 4096 * 10)],
    [
      'a head that was overwritten',
      async (path) => {
        const file = await open(path, 'r+');
        await file.write(Buffer.from('not a database, but something else'), 0, 34, 0);
        await file.close();
      },
    ],
  ];
  it.each(damages)('refuses %s with a sentence, and leaves the file as it is', async (what, damage) => {
    const path = await filled(`${what.replaceAll(' ', '-')}.db`);
    await damage(path);
    copyFileSync(path, `${path}.copy`);
    const store = new SqliteStore({ clock: systemClock, path });
    await expect(store.start()).rejects.toMatchObject({
      code: 'STORE_CORRUPT',
      message: expect.stringMatching(/^Cannot open ".*": the file is damaged or not a store: /),
    });
    expect(readFileSync(path).equals(readFileSync(`${path}.copy`))).toBe(true);
  });
});
