import { appendFileSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FailedLogins } from '../../../../src/apiserver/limits/failed-logins.ts';
import { parseTarget } from '../../../../src/apiserver/request/target.ts';
import { type Clock, systemClock } from '../../../../src/clock.ts';
import { createLog, type Log, silentLog } from '../../../../src/log.ts';
import { AuditLog } from '../../../../src/management/audit/audit.ts';
import { keyedDigest } from '../../../../src/management/audit/chain/chain.ts';
import {
  ChainFile,
  type ChainFileOptions,
  chainFiles,
  type OpenChain,
} from '../../../../src/management/audit/chain/chain-file.ts';
import { removeOldFiles } from '../../../../src/management/audit/chain/retention.ts';
import { linesBefore, verifyChain, verifyFiles } from '../../../../src/management/audit/chain/verify.ts';
import { VirtualClock } from '../../../virtual-clock.ts';
import { keysPath, people, until } from '../bench.ts';
import { bench, endings, folder, setUp } from './stage.ts';

setUp();

const digest = keyedDigest(Buffer.alloc(32, 1));

async function auditLog(
  folder: string,
  options: Partial<ChainFileOptions> = {},
  clock: Clock = systemClock,
  removeOld: ConstructorParameters<typeof AuditLog>[0]['removeOld'] = async () => 0,
  said: Log = silentLog,
) {
  const callers = { sessionOf: () => undefined } as unknown as ConstructorParameters<typeof AuditLog>[0]['callers'];
  const file = new ChainFile({ folder, name: 'audit', digest, ...options });
  const log = new AuditLog({ file, clock, log: said, callers, reads: () => false, removeOld });
  await log.start();
  endings.push(() => log.stop());
  return log;
}

function entry(method: string, url = '/apis/management.platform/v1/ownedaccesskeys/x') {
  return {
    id: 'test',
    target: parseTarget(method, url),
    method,
    user: undefined,
    source: '127.0.0.1',
    userAgent: 'test',
  };
}

describe('the audit log', () => {
  it('goes on after a crash that cut its last line off, and stays one chain', async () => {
    const place = folder();
    const path = join(place, 'audit.log');
    const first = await auditLog(place);
    await Promise.all(Array.from({ length: 20 }, () => first.begins(entry('DELETE'))));
    await first.stop();
    appendFileSync(path, '{"seq":21,"previous":"half a li');
    const lines: Record<string, unknown>[] = [];
    const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
    const second = await auditLog(place, {}, systemClock, undefined, createLog({ level: 'warn', destination }));
    const msg =
      'the last line of the audit log was not whole and is removed; a line that a crash cuts off was never acknowledged';
    expect(lines).toMatchObject([{ msg, bytes: 31 }]);
    await second.begins(entry('DELETE'));
    const verified = verifyChain(readFileSync(path, 'utf8'), { digest });
    expect(verified).toMatchObject({ kind: 'whole', lines: 21, torn: false });
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('does not go on after a last line that was changed', async () => {
    const place = folder();
    const path = join(place, 'audit.log');
    const log = await auditLog(place);
    await log.begins(entry('DELETE'));
    await log.stop();
    writeFileSync(path, readFileSync(path, 'utf8').replace('delete', 'delite'));
    await expect(auditLog(place)).rejects.toThrow(/its last line was changed/);
  });

  it.skipIf(process.platform !== 'linux')('stops a write while the disk is full, and no read', async () => {
    const place = folder();
    symlinkSync('/dev/full', join(place, 'audit.log'));
    const log = await auditLog(place);
    await expect(log.begins(entry('DELETE'))).rejects.toMatchObject({ status: { code: 503 } });
    await log.begins(entry('GET'));
  });

  it('stops a write when the disk stands still', async () => {
    const clock = new VirtualClock();
    let release = () => {};
    const appendFile = () =>
      new Promise<void>((resolve) => {
        release = resolve;
      });
    const stuck: OpenChain = async (path) => Object.assign(await open(path, 'a+'), { appendFile });
    const log = await auditLog(folder(), { open: stuck }, clock);
    const refused = expect(log.begins(entry('DELETE'))).rejects.toMatchObject({
      status: {
        ...{ code: 503, message: 'the audit log cannot be written, so nothing was done' },
        details: { retryAfterSeconds: 1 },
      },
    });
    await clock.advance(5_000);
    await refused;
    release();
  });

  it('answers nothing before the line is on the disk, and writes lines that come together at once', async () => {
    const done: string[] = [];
    const watched: OpenChain = async (path) => {
      const file = await open(path, 'a+');
      const { datasync } = file;
      return Object.assign(file, { datasync: () => datasync.call(file).then(() => void done.push('synced')) });
    };
    const log = await auditLog(folder(), { open: watched });
    await Promise.all(Array.from({ length: 50 }, () => log.begins(entry('DELETE')).then(() => done.push('answered'))));
    expect(done).toEqual(['synced', ...Array(50).fill('answered')]);
  });

  it('takes back what a failing disk wrote of a line, and goes on when the disk does', async () => {
    const place = folder();
    let isFailing = false;
    const failing: OpenChain = async (path) => {
      const file = await open(path, 'a+');
      const { appendFile } = file;
      return Object.assign(file, {
        async appendFile(bytes: Buffer) {
          await appendFile.call(file, isFailing ? bytes.subarray(0, 7) : bytes);
          if (isFailing) throw new Error('ENOSPC: no space left on device');
        },
      });
    };
    const log = await auditLog(place, { open: failing });
    await log.begins(entry('DELETE'));
    isFailing = true;
    await expect(log.begins(entry('DELETE'))).rejects.toMatchObject({ status: { code: 503 } });
    isFailing = false;
    await log.begins(entry('DELETE'));
    const verified = verifyChain(readFileSync(join(place, 'audit.log'), 'utf8'), { digest });
    expect(verified).toMatchObject({ kind: 'whole', lines: 2, torn: false });
  });

  it('moves full files aside, and the chain goes on from file to file and over a restart', async () => {
    const place = folder();
    const first = await auditLog(place, { maxBytes: 2_000 });
    for (let count = 0; count < 12; count++) await first.begins(entry('DELETE'));
    await first.stop();
    const names = await chainFiles(place, 'audit');
    expect(names.length).toBeGreaterThan(2);
    expect(names[0]).toMatch(/^audit-0000000000\d\d\.log$/);
    // As after a crash between moving the full file aside and making the next.
    rmSync(join(place, 'audit.log'));
    const rest = names.slice(0, -1);
    const second = await auditLog(place, { maxBytes: 2_000 });
    await second.begins(entry('DELETE'));
    const files = (await chainFiles(place, 'audit')).map((name) => ({
      name,
      read: async () => readFileSync(join(place, name), 'utf8'),
    }));
    expect(files.map(({ name }) => name)).toEqual([...rest, 'audit.log']);
    for (const { result } of await verifyFiles(files, { digest })) expect(result.kind).toBe('whole');
    const missing = await verifyFiles(files.toSpliced(1, 1), { digest });
    expect(missing.map(({ result }) => result.kind)).toContain('broken');
    for (const { name } of files) expect([name, statSync(join(place, name)).mode & 0o777]).toEqual([name, 0o600]);
  });

  it('removes the oldest files on purpose, and a verification tells this from a removal by hand', async () => {
    const place = folder();
    let keep = 0;
    const removeOld: ConstructorParameters<typeof AuditLog>[0]['removeOld'] = (note) =>
      removeOldFiles({ folder: place, name: 'audit', digest, keep, note });
    const log = await auditLog(place, { maxBytes: 2_000 }, systemClock, removeOld);
    for (let count = 0; count < 24; count++) await log.begins(entry('DELETE'));
    const before = await chainFiles(place, 'audit');
    expect(before.length).toBeGreaterThan(4);
    keep = 2;
    await log.removeOld();
    const names = await chainFiles(place, 'audit');
    expect(names).toEqual(before.slice(-3));
    const linesOf = async (given: readonly string[]) => {
      const files = given.map((name) => ({ name, read: async () => readFileSync(join(place, name), 'utf8') }));
      const results = (await verifyFiles(files, { digest })).map(({ result }) => result);
      expect(results.map(({ kind }) => kind)).toEqual(given.map(() => 'whole'));
      return linesBefore(results);
    };
    const through = Number(/-(\d+)\.log/.exec(before.at(-4) ?? '')?.[1]);
    expect(await linesOf(names)).toEqual({ kind: 'removed', through, time: expect.stringMatching(/^20/) });
    expect(await linesOf(names.slice(1))).toMatchObject({ kind: 'elsewhere' });
    // A file that was changed is evidence.
    const oldest = join(place, names[0] as string);
    writeFileSync(oldest, readFileSync(oldest, 'utf8').replace(/"digest":"[0-9a-f]{4}/g, '"digest":"0000'));
    keep = 1;
    await log.removeOld();
    expect(await chainFiles(place, 'audit')).toEqual(names);
  });

  it('writes down refusals at the door, and neither reviews nor reads', async () => {
    const place = folder();
    const path = join(place, 'audit.log');
    const log = await auditLog(place);
    await log.begins(entry('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'));
    await log.ends(entry('GET'), 200);
    expect(readFileSync(path, 'utf8')).toBe('');
    await log.ends(entry('GET', '/apis/a/v1/b?token=secret'), 403);
    const text = readFileSync(path, 'utf8');
    expect(text).toContain('"code":403');
    expect(text).not.toContain('secret');
  });
});

describe('audit.reads', () => {
  it('writes reads down as well, from the moment that the configuration says so', async () => {
    const one = await bench();
    const lines = () => readFileSync(join(one.folder, 'audit.log'), 'utf8');
    await one.keyFor('seen');
    await one.ask('GET', `${keysPath}/seen`);
    expect(lines()).not.toContain('get ownedaccesskeys.management.platform seen');
    await one.api.apply({ ...people, audit: { reads: true, keepFiles: 100 } });
    await one.ask('GET', `${keysPath}/seen`);
    expect(lines()).toContain('get ownedaccesskeys.management.platform seen');
    expect(lines().match(/"stage":"outcome","code":200/g)).toHaveLength(1);
    const watch = await one.follow(`${keysPath}?watch=true`, one.admin);
    await until(() => watch.events.length > 0 && lines().includes('streamStart'), 'the start of a stream');
    watch.stop();
    await until(() => lines().includes('streamEnd'), 'the end of a stream');
    const stages = lines()
      .trim()
      .split('\n')
      .slice(-4)
      .map((line) => JSON.parse(line));
    expect(stages).toMatchObject([
      { stage: 'intent', request: 'watch ownedaccesskeys.management.platform' },
      { stage: 'outcome', id: stages[0].id, code: 200 },
      { stage: 'streamStart', id: stages[0].id },
      { stage: 'streamEnd', id: stages[0].id, bytesOut: expect.any(Number) },
    ]);
    expect(stages[3].bytesOut).toBeGreaterThan(100);
    const revocations = '/kubernetes/management/apis/management.platform/v1/revocations';
    const query = 'watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
    const feed = await one.follow(`${revocations}?${query}`, one.admin);
    await until(() => feed.events.length > 0, 'the first bookmark');
    feed.stop();
    const ends = () => lines().match(/"stage":"streamEnd"/g)?.length ?? 0;
    await until(() => ends() === 2, 'the end of the watch');
    expect(
      lines()
        .trim()
        .split('\n')
        .slice(-4)
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { stage: 'intent', request: 'watch revocations.management.platform' },
      { stage: 'outcome', code: 200 },
      { stage: 'streamStart' },
      { stage: 'streamEnd', bytesOut: expect.any(Number) },
    ]);
  });
});

describe('failed logins', () => {
  it('a source may fail twenty times at once, then once a second, and others as before', () => {
    let nowMs = 0;
    const logins = new FailedLogins({ ...systemClock, now: () => nowMs });
    const waits = (source: string, count: number) =>
      Array.from({ length: count }, () => logins.failed(source)).filter((wait) => wait !== undefined).length;
    expect(waits('a', 20)).toBe(0);
    expect(logins.failed('a')).toBe(1);
    expect(waits('b', 1)).toBe(0);
    nowMs += 3_000;
    expect(waits('a', 3)).toBe(1);
  });
});
