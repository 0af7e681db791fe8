import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keysPath } from '../../management/server/bench.ts';
import { configuration, type KeysBench, openKeysBench, runIn, runKeys } from './keys-bench.ts';

let bench: KeysBench;
let outside: string;

beforeEach(async () => {
  bench = await openKeysBench();
  outside = mkdtempSync(join(tmpdir(), 'hostward-backup-'));
});

afterEach(async () => {
  await bench.stop();
  rmSync(outside, { recursive: true, force: true });
});

const codeOf = async (key: string) => (await bench.ask('GET', `${keysPath}?limit=1`, { key })).code;
const change = (name: string, spec: object) =>
  bench.ask('PATCH', `${keysPath}/${name}`, { type: 'application/merge-patch+json', body: { spec } });
const rotate = async (name: string) => {
  const { body } = await bench.ask('POST', `${keysPath}/${name}/rotate`, { body: {} });
  return String(body['status']?.['key']);
};
const backup = (name: string, ...more: string[]) => bench.local('backup', join(outside, name), ...more);

/** As an operator does it: stop, restore, start. */
async function restored(name: string, ...more: string[]) {
  await bench.api.close();
  const said = await bench.local('restore', join(outside, name), ...more);
  await bench.restart();
  return said;
}

async function revision(): Promise<number> {
  const { body } = await bench.ask('GET', `${keysPath}?limit=1`);
  return Number(body['metadata']?.['resourceVersion']);
}

describe('hostward backup', () => {
  it('copies a server that runs and one that does not, for its owner alone', async () => {
    const serving = await backup('one');
    expect([serving.code, serving.err]).toEqual([0, '']);
    await bench.api.close();
    const stopped = await backup('two');
    await bench.restart();
    expect(stopped.code).toBe(0);
    for (const name of ['one', 'two']) {
      const files = readdirSync(join(outside, name)).sort();
      expect(files).toEqual(['ca.crt', 'ca.key', 'keys.db', 'manifest.json', 'secrets.json']);
      for (const file of ['.', ...files])
        expect([file, statSync(join(outside, name, file)).mode & 0o077]).toEqual([file, 0]);
    }
  });

  it('names the secrets that it leaves out', async () => {
    // docs/bad-days.md gives a folder whose parents do not exist, so the command makes them too.
    const { out } = await backup('above/one', '--without-secrets');
    expect(readdirSync(join(outside, 'above', 'one')).sort()).toEqual(['keys.db', 'manifest.json']);
    expect(out).toContain('not in it: ca.crt, ca.key, secrets.json; without secrets.json no key can be proved');
  });

  it('writes into no folder that has something in it, and for no distant administrator', async () => {
    writeFileSync(join(outside, 'mine'), 'x');
    const { code, err } = await bench.local('backup', outside);
    expect([code, err]).toEqual([1, expect.stringContaining('there is something in')]);
    const path = '/kubernetes/management/hostward/backup';
    expect((await bench.ask('POST', path, { body: { folder: join(outside, 'far') } })).code).toBe(404);
    expect(existsSync(join(outside, 'far'))).toBe(false);
  });

  it('says why it cannot be written, and leaves nothing behind', async () => {
    writeFileSync(join(outside, 'file'), '');
    mkdirSync(join(bench.folder, 'big'));
    writeFileSync(join(bench.folder, 'big', 'token.key'), Buffer.alloc(2 * 1024 * 1024));
    expect((await backup('big')).err).toContain('token.key: want at most 1048576 bytes');
    expect(existsSync(join(outside, 'big'))).toBe(false);
    const { code, err } = await bench.local('backup', join(outside, 'file', 'backup'));
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(
        /the backup cannot be written: ENOTDIR.*; name a folder that the user of the server may write\n$/,
      ),
    ]);
  });
});

describe('hostward restore', () => {
  it('keeps dead what was deleted, disabled, narrowed or rotated since the backup', async () => {
    const made = ['gone', 'off', 'narrow', 'turned', 'same'];
    const keys = new Map<string, string>();
    for (const name of made) keys.set(name, await bench.keyFor(name, { user: 'admin' }));
    const value = (name: string) => keys.get(name) as string;
    await backup('b');
    const fresh = await rotate('turned');
    await bench.ask('DELETE', `${keysPath}/gone`);
    await change('off', { disabled: true });
    await change('narrow', { scope: {} });
    const late = await bench.keyFor('late', { user: 'admin' });
    const before = await revision();
    const { code, out } = await restored('b');
    expect([code, out]).toEqual([0, expect.stringContaining('since the backup 1 of them were deleted and 3 changed')]);
    const codes = await Promise.all([...made.map(value), fresh, late].map(codeOf));
    expect(codes).toEqual([401, 401, 403, 401, 200, 200, 401]);
    expect(await revision()).toBeGreaterThan(before);
    const { body } = await bench.ask('GET', `${keysPath}/off`);
    expect(body['metadata']?.['annotations']).toMatchObject({ 'hostward.dev/disabled-by': 'administrator:admin' });
    const audit = readFileSync(join(bench.folder, 'audit.log'), 'utf8').split('\n');
    const line = audit.find((one) => one.includes('"restore the backup of ')) ?? '{}';
    const { id, stage, source } = JSON.parse(line);
    expect({ stage, source }).toEqual({ stage: 'intent', source: 'this machine' });
    const outcome = audit.find((one) => one.includes(id) && one.includes('"outcome"')) ?? '{}';
    expect(JSON.parse(outcome)).toMatchObject({ code: 200, reason: expect.stringContaining(' keys, ') });
  });

  it('gives out no revision again, and sends watchers back to a list', async () => {
    await backup('b');
    for (let count = 0; count < 15; count++) await bench.keyFor(`k${count}`, { user: 'admin' });
    const before = await revision();
    await restored('b');
    const { body } = await bench.ask('POST', keysPath, {
      body: { metadata: { name: 'next' }, spec: { user: 'admin' } },
    });
    expect(Number(body['metadata']?.['resourceVersion'])).toBeGreaterThan(before);
    const watch = await bench.follow(`${keysPath}?watch=true&resourceVersion=${before}`, bench.admin);
    await watch.ended;
    expect(watch.events).toMatchObject([{ type: 'ERROR', object: { code: 410 } }]);
  });

  it('disables every key when revocations may be unknown, unless it is told to trust them', async () => {
    const key = await bench.keyFor('one', { user: 'alice' });
    await backup('b');
    rmSync(join(bench.folder, 'revocations.log'));
    const { out } = await restored('b');
    expect(out).toContain('there is no journal of revocations, so revocations may be unknown: all keys are disabled');
    expect([await codeOf(key), await codeOf(bench.admin)]).toEqual([401, 401]);
    const { out: fresh } = await bench.local('keys', 'create', 'again', '--admin');
    const enable = { type: 'application/merge-patch+json', body: { spec: { disabled: false } }, key: fresh.trim() };
    expect((await bench.ask('PATCH', `${keysPath}/one`, enable)).code).toBe(200);
    expect(await codeOf(key)).toBe(200);
    rmSync(join(bench.folder, 'revocations.log'), { force: true });
    await bench.api.close();
    rmSync(join(bench.folder, 'revocations.log'), { force: true });
    const trusted = await bench.local('restore', join(outside, 'b'), '--trust-keys');
    await bench.restart();
    expect(trusted.out).toContain('the keys are as in the backup, because of --trust-keys');
    expect([await codeOf(key), await codeOf(bench.admin)]).toEqual([200, 200]);
  });

  it('counts a damaged journal up to the damage, disables the rest, and begins a new one', async () => {
    const [gone, other] = [
      await bench.keyFor('gone', { user: 'admin' }),
      await bench.keyFor('other', { user: 'admin' }),
    ];
    await backup('b');
    await bench.ask('DELETE', `${keysPath}/gone`);
    await change('other', { disabled: true });
    await bench.api.close();
    const journal = join(bench.folder, 'revocations.log');
    writeFileSync(journal, readFileSync(journal, 'utf8').replace('"name":"other"', '"name":"othex"'));
    const { code, out } = await bench.local('restore', join(outside, 'b'), '--trust-keys', '-o', 'json');
    expect([code, JSON.parse(out).journal.kind, JSON.parse(out).deleted]).toEqual([0, 'broken', 1]);
    expect(readdirSync(bench.folder).some((name) => name.startsWith('revocations.log.broken-'))).toBe(true);
    await bench.restart();
    expect([await codeOf(gone), await codeOf(other)]).toEqual([401, 200]);
    expect((await restored('b', '-o', 'json')).out).toContain('"kind": "late"');
    expect(await codeOf(other)).toBe(401);
  });

  it('brings everything to a new machine, with a journal from elsewhere', async () => {
    const key = await bench.keyFor('gone', { user: 'admin' });
    await backup('b');
    await bench.ask('DELETE', `${keysPath}/gone`);
    await bench.api.close();
    const journal = join(outside, 'revocations.log');
    copyFileSync(join(bench.folder, 'revocations.log'), journal);
    rmSync(bench.folder, { recursive: true });
    const { code, out } = await bench.local('restore', join(outside, 'b'), '--journal', journal);
    expect([code, out]).toEqual([0, expect.stringContaining('brought back too: ca.crt, ca.key, secrets.json')]);
    await bench.restart();
    expect([await codeOf(key), await codeOf(bench.admin)]).toEqual([401, 200]);
    // What was brought is there for the next restore.
    expect((await restored('b', '-o', 'json')).out).toContain('"kind": "whole"');
  });

  it('brings secrets back to secretsDir, where a server looks for them', async () => {
    await bench.keyFor('kept', { user: 'admin' });
    await backup('b');
    await bench.api.close();
    const [data, secrets] = [join(outside, 'data'), join(outside, 'secrets')];
    const file = configuration(data).replace(`dataDir: ${data}`, `dataDir: ${data}\n    secretsDir: ${secrets}`);
    const run = (...argv: string[]) =>
      runKeys([...argv, '--config', '/home/new.yaml'], { files: { '/home/new.yaml': file } });
    const { code, out } = await run('restore', join(outside, 'b'), '--trust-keys');
    expect([code, out]).toEqual([0, expect.stringContaining('brought back too: ca.crt, ca.key, secrets.json')]);
    expect([readdirSync(secrets).sort(), existsSync(join(data, 'secrets.json'))]).toEqual([
      ['ca.crt', 'ca.key', 'secrets.json'],
      false,
    ]);
    const listed = await run('keys', 'list');
    expect([listed.code, listed.out]).toEqual([0, expect.stringContaining('kept')]);
    await bench.restart();
  });

  it('does not touch the folder of a server that runs', async () => {
    await backup('b');
    const { code, err } = await bench.local('restore', join(outside, 'b'));
    expect([code, err]).toEqual([
      3,
      expect.stringMatching(/nothing was restored: the database in .* is in use\nstop the daemon/),
    ]);
    expect(await codeOf(bench.admin)).toBe(200);
  });

  it.each([
    ['no backup', () => rmSync(join(outside, 'b', 'manifest.json')), /is no backup: it has no manifest\.json/],
    [
      'a damaged database',
      () => appendFileSync(join(outside, 'b', 'keys.db'), 'x'),
      /the backup is damaged: .*keys\.db/,
    ],
    ['a missing file', () => rmSync(join(outside, 'b', 'ca.key')), /the backup is not whole: .*ca\.key is missing/],
    [
      'secrets of another server',
      () => {
        const path = join(bench.folder, 'secrets.json');
        const secrets = JSON.parse(readFileSync(path, 'utf8'));
        secrets.peppers[0].bytes = Buffer.alloc(32, 1).toString('base64');
        writeFileSync(path, JSON.stringify(secrets));
      },
      /secrets\.json is of another server/,
    ],
  ])('refuses %s and replaces nothing', async (_what, spoil, says) => {
    await backup('b');
    await bench.api.close();
    const [database, secrets] = ['keys.db', 'secrets.json'].map((name) => readFileSync(join(bench.folder, name)));
    spoil();
    const { code, err } = await bench.local('restore', join(outside, 'b'));
    expect([code, err]).toEqual([1, expect.stringMatching(says)]);
    expect(readFileSync(join(bench.folder, 'keys.db')).equals(database as Buffer)).toBe(true);
    writeFileSync(join(bench.folder, 'secrets.json'), secrets as Buffer);
    await bench.restart();
    expect(await codeOf(bench.admin)).toBe(200);
  });

  it('wants secrets from somewhere', async () => {
    await backup('b', '--without-secrets');
    const empty = join(outside, 'new');
    const { code, err } = await runIn(empty, ['restore', join(outside, 'b')]);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/secrets\.json is neither in the backup nor in .*\nput the secrets\.json/),
    ]);
  });

  it('does not let a server start on a database that was put back by hand', async () => {
    await bench.keyFor('one', { user: 'admin' });
    await backup('b');
    await bench.ask('DELETE', `${keysPath}/one`);
    await bench.api.close();
    for (const ending of ['-wal', '-shm']) rmSync(join(bench.folder, `keys.db${ending}`), { force: true });
    copyFileSync(join(outside, 'b', 'keys.db'), join(bench.folder, 'keys.db'));
    await expect(bench.restart()).rejects.toThrow(
      /it is older than the journal; bring it back with "hostward restore"/,
    );
    await bench.local('restore', join(outside, 'b'));
    await bench.restart();
  });
});
