import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { FailedLogins } from '../../../src/apiserver/limits/failed-logins.ts';
import { parseTarget } from '../../../src/apiserver/request/target.ts';
import { type Clock, systemClock } from '../../../src/clock.ts';
import { silentLog } from '../../../src/log.ts';
import { AuditLog } from '../../../src/management/audit/audit.ts';
import { keyedDigest } from '../../../src/management/audit/chain/chain.ts';
import {
  ChainFile,
  type ChainFileOptions,
  chainFiles,
  type OpenChain,
} from '../../../src/management/audit/chain/chain-file.ts';
import { removeOldFiles } from '../../../src/management/audit/chain/retention.ts';
import { linesBefore, verifyChain, verifyFiles } from '../../../src/management/audit/chain/verify.ts';
import { databasePath } from '../../../src/management/keys/folder/data-folder.ts';
import { ManagementApi } from '../../../src/management/server/server.ts';
import { writeAttempt } from '../../../src/management/server/write-check.ts';
import { createMetrics } from '../../../src/metrics.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { type Bench, keysPath, type MovedClock, movedClock, openBench, people, until } from './bench.ts';

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'hostward-parts-'));
  endings.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

async function bench(options: Parameters<typeof openBench>[0] = {}): Promise<Bench> {
  const opened = await openBench(options);
  endings.push(() => opened.stop());
  return opened;
}

const digest = keyedDigest(Buffer.alloc(32, 1));

async function auditLog(
  folder: string,
  options: Partial<ChainFileOptions> = {},
  clock: Clock = systemClock,
  removeOld: ConstructorParameters<typeof AuditLog>[0]['removeOld'] = async () => 0,
) {
  const callers = { sessionOf: () => undefined } as unknown as ConstructorParameters<typeof AuditLog>[0]['callers'];
  const file = new ChainFile({ folder, name: 'audit', digest, ...options });
  const log = new AuditLog({ file, clock, log: silentLog, callers, reads: () => false, removeOld });
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
    const second = await auditLog(place);
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
      status: { code: 503, message: 'the audit log cannot be written, so nothing was done' },
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
      .slice(-3)
      .map((line) => JSON.parse(line));
    expect(stages).toMatchObject([
      { stage: 'intent', request: 'watch ownedaccesskeys.management.platform' },
      { stage: 'streamStart', id: stages[0].id },
      { stage: 'streamEnd', id: stages[0].id, bytesOut: expect.any(Number) },
    ]);
    expect(stages[2].bytesOut).toBeGreaterThan(100);
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
        .slice(-3)
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { stage: 'intent', request: 'watch revocations.management.platform' },
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

describe('the folder', () => {
  it('belongs to its owner and to one process alone', async () => {
    const one = await bench();
    expect(statSync(one.folder).mode & 0o777).toBe(0o700);
    for (const file of ['keys.db', 'secrets.json', 'ca.key', 'audit.log'])
      expect([file, statSync(join(one.folder, file)).mode & 0o077]).toEqual([file, 0]);
    const server = {
      listen: '127.0.0.1:0',
      baseURL: 'https://localhost',
      dataDir: one.folder,
      ingressListen: undefined,
    };
    const second = new ManagementApi({
      settings: people,
      server,
      clock: systemClock,
      log: silentLog,
      version: '1.0.0',
      // An ordinary one waits for a server that is about to end.
      database: new SqliteStore({ clock: systemClock, path: databasePath(one.folder), lockTimeoutMs: 0 }),
    });
    await expect(second.open()).rejects.toThrow(/process/);
  });

  it('without the secrets of its keys it is not opened: new ones would kill every key', async () => {
    const one = await bench();
    rmSync(join(one.folder, 'secrets.json'));
    await expect(one.restart()).rejects.toThrow(/wanted the secrets of the keys in the database/);
  });
});

/** The answer to a GET of the key after the time and the chores of a minute. */
async function codeLater(one: Bench, clock: MovedClock, { seconds, name }: { seconds: number; name: string }) {
  clock.moveSeconds(seconds);
  const chores = clock.waitingFor(60_000);
  clock.fire(60_000);
  await until(() => clock.waitingFor(60_000) === chores, 'the chores of a minute');
  return (await one.ask('GET', `${keysPath}/${name}`)).code;
}

describe('a disk that takes no writes', () => {
  const noRoom = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });

  it('ends readiness but not life, says why and how to mend it, and comes back by itself', async () => {
    const [clock, metrics] = [movedClock(), createMetrics()];
    let attempt: () => Promise<void> = () => Promise.resolve();
    const { ask, api } = await bench({ clock, metrics, writeAttempt: () => attempt() });
    const look = async (wanted: number) => {
      clock.fire(5_000);
      await until(async () => (await ask('GET', '/readyz/management')).code === wanted, `${wanted}`);
      return ask('GET', '/readyz/management');
    };
    expect(api.writeTrouble).toBeUndefined();
    attempt = () => Promise.reject(noRoom);
    expect((await look(500)).text).toContain('reads go on: dataDir: no space is left on its disk; free some');
    for (const path of ['/readyz', '/kubernetes/management/readyz'])
      expect((await ask('GET', path)).text, path).toContain('no space is left');
    for (const path of ['/livez', '/healthz', '/kubernetes/management/livez', keysPath])
      expect(await ask('GET', path), path).toMatchObject({ code: 200 });
    expect(await metrics.metrics()).toContain('hostward_management_writable 0');
    attempt = () => Promise.resolve();
    await look(200);
    expect(await metrics.metrics()).toContain('hostward_management_writable 1');
    let release = () => {};
    attempt = () => new Promise((resolve) => (release = resolve));
    clock.fire(5_000);
    expect((await look(500)).text).toContain('a write to it has not ended for seconds');
    release();
    attempt = () => Promise.resolve();
    await look(200);
  });

  it('is found by a write into the folder, of which nothing stays', async () => {
    const made = folder();
    const written: unknown[] = [];
    const store = {
      writeSideValues: async (changes: ReadonlyMap<string, string | undefined>) => void written.push(changes),
    };
    await writeAttempt(made, store)();
    expect([readdirSync(made), written.length]).toEqual([[], 1]);
    await expect(writeAttempt(join(made, 'gone'), store)()).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('what time does to keys', () => {
  it('an expired key stays readable for a week, and goes then', async () => {
    const clock = movedClock();
    const one = await bench({ clock });
    await one.keyFor('old', { user: 'alice', ttl: 60 });
    expect(await codeLater(one, clock, { seconds: 3_600, name: 'old' })).toBe(200);
    expect(await codeLater(one, clock, { seconds: 7 * 86_400, name: 'old' })).toBe(404);
  });

  it('a key without a maker stays readable for a week after its last use, and goes then', async () => {
    const clock = movedClock();
    const one = await bench({ clock });
    const scope = { rules: [{ resources: [{ group: 'management.platform', resources: ['ownedaccesskeys'] }] }] };
    const maker = await one.keyFor('maker', { user: 'alice', scope });
    const made = await one.ask('POST', keysPath, { key: maker, body: { metadata: { name: 'made' }, spec: { scope } } });
    await one.keyFor('other', { user: 'alice', scope });
    clock.moveSeconds(5 * 86_400);
    await one.ask('GET', keysPath, { key: String(made.body['spec']?.['key']) });
    await one.ask('DELETE', `${keysPath}/maker`);
    expect(await codeLater(one, clock, { seconds: 6 * 86_400, name: 'made' })).toBe(200);
    expect(await codeLater(one, clock, { seconds: 2 * 86_400, name: 'made' })).toBe(404);
    expect(await codeLater(one, clock, { seconds: 0, name: 'other' })).toBe(200);
  });

  it('what an expiring key makes ends no later', async () => {
    const one = await bench();
    const key = await one.keyFor('short', { user: 'alice', ttl: 1_000 });
    const make = (name: string, spec: object) => one.ask('POST', keysPath, { key, body: { metadata: { name }, spec } });
    const filled = await make('child-1', {});
    expect(Number(filled.body['spec']?.['ttl'])).toBeGreaterThan(900);
    expect(Number(filled.body['spec']?.['ttl'])).toBeLessThanOrEqual(1_000);
    expect([filled.headers['warning']].flat().join()).toContain('spec.ttl: set to');
    expect(await make('child-2', { ttl: 5_000 })).toMatchObject({ code: 422 });
  });

  it('a name that comes back after a week is somebody else', async () => {
    const clock = movedClock();
    const one = await bench({ clock });
    const key = await one.keyFor('bobs', { user: 'bob' });
    const code = async () => (await one.ask('GET', keysPath, { key })).code;
    const withoutBob = { ...people, users: people.users.filter(({ name }) => name !== 'bob') };
    await one.api.apply(withoutBob);
    clock.moveSeconds(6 * 86_400);
    await one.api.apply(people);
    expect(await code()).toBe(200);
    await one.api.apply(withoutBob);
    clock.moveSeconds(8 * 86_400);
    await one.api.apply(people);
    expect(await code()).toBe(401);
  });

  it('the limits of the configuration hold for new keys, at once', async () => {
    const one = await bench();
    await one.api.apply({ ...people, keys: { ...people.keys, maxTTL: 100, requireExpiry: true } });
    const make = (name: string, spec: object) => one.ask('POST', keysPath, { body: { metadata: { name }, spec } });
    expect(await make('filled', { user: 'alice' })).toMatchObject({ code: 201, body: { spec: { ttl: 100 } } });
    expect(await make('long', { user: 'alice', ttl: 101 })).toMatchObject({ code: 422 });
  });
});

describe('instances', () => {
  it('come and go with the configuration, and watches hear of it', async () => {
    const one = await bench();
    const path = '/kubernetes/management/apis/management.platform/v1/virtualclusterinstances';
    const before = await one.ask('GET', path);
    const version = before.body['metadata']?.['resourceVersion'];
    const watch = await one.follow(`${path}?watch=true&resourceVersion=${version}`, one.admin);
    const [shop, ...others] = people.projects;
    if (shop === undefined) throw new Error('want a project');
    await one.api.apply({
      ...people,
      projects: [{ ...shop, virtualClusters: shop.virtualClusters.slice(0, 1) }, ...others],
    });
    await one.api.apply(people);
    await until(() => watch.events.length === 2, 'two events');
    expect(watch.events).toMatchObject([
      { type: 'DELETED', object: { metadata: { name: 'v2' } } },
      { type: 'ADDED', object: { metadata: { name: 'v2' } } },
    ]);
    // It is the same virtual cluster as before.
    expect(watch.events[0]?.['object']?.['metadata']?.['uid']).toBe(watch.events[1]?.['object']?.['metadata']?.['uid']);
    watch.stop();
  });
});

describe('the state of a key', () => {
  it('says everywhere that its owner is disabled or missing, or that its maker has ended', async () => {
    const metrics = createMetrics();
    const one = await bench({ metrics });
    const warned = await one.ask('POST', keysPath, {
      body: { metadata: { name: 'of-carol' }, spec: { user: 'carol' } },
    });
    expect([warned.code, warned.headers['warning']]).toEqual([
      201,
      expect.stringContaining('the user carol is disabled'),
    ]);
    const ofAlice = await one.keyFor('of-alice', { user: 'alice', scope: { rules: [{}] } });
    await one.keyFor('of-bob', { user: 'bob' });
    await one.keyFor('of-red', { team: 'red', ttl: 60 });
    const child = { metadata: { name: 'child' }, spec: { scope: { rules: [{}] } } };
    expect((await one.ask('POST', keysPath, { key: ofAlice, body: child })).code).toBe(201);
    await one.ask('PATCH', `${keysPath}/of-alice`, {
      body: { spec: { disabled: true } },
      type: 'application/merge-patch+json',
    });
    const disabled = people.users.map((user) => ({ ...user, disabled: true }));
    await one.api.apply({ ...people, users: disabled.slice(1), teams: [] });
    const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    const rows = (await one.ask('GET', keysPath, { headers })).body['rows'] as unknown as { cells: string[] }[];
    expect(Object.fromEntries(rows.map(({ cells }) => [cells[0], cells[2]]))).toMatchObject({
      'of-alice': 'Disabled',
      child: 'Suspended',
      'of-bob': 'UserDisabled',
      'of-red': 'Suspended',
    });
    await one.api.apply({ ...people, users: [...people.users.slice(0, 1), ...disabled.slice(1)] });
    const again = (await one.ask('GET', keysPath, { headers })).body['rows'] as unknown as { cells: string[] }[];
    expect(again.find(({ cells }) => cells[0] === 'child')?.cells[2]).toBe('MakerInvalid');
    const text = await metrics.metrics();
    expect(text).toContain('hostward_access_keys{state="userDisabled"} 2');
    expect(text).toContain('hostward_access_keys{state="makerInvalid"} 1');
    expect(one.api.status()).toMatchObject({ keys: { userDisabled: 2, makerInvalid: 1, disabled: 1 } });
    const asked = `/kubernetes/management/hostward/explain?key=of-bob&request=${encodeURIComponent('GET /kubernetes/management/api')}`;
    expect((await one.ask('GET', asked)).body).toMatchObject({ state: 'UserDisabled', allowed: false });
  });
});

describe('the metrics', () => {
  it('count keys by state, and those that end soon', async () => {
    const metrics = createMetrics();
    const dataDir = folder();
    const server = { listen: '127.0.0.1:0', baseURL: 'https://localhost', dataDir, ingressListen: undefined };
    const log = silentLog;
    const api = new ManagementApi({ settings: people, server, clock: systemClock, log, version: '1.0.0', metrics });
    await api.open();
    endings.push(() => api.close());
    await api.createKey({ metadata: { name: 'a' }, spec: { user: 'alice', ttl: 600 } });
    await api.createKey({ metadata: { name: 'b' }, spec: { user: 'alice', disabled: true } });
    await api.serve();
    const text = await metrics.metrics();
    expect(text).toContain('hostward_access_keys{state="active"} 1');
    expect(text).toContain('hostward_access_keys{state="disabled"} 1');
    expect(text).toContain('hostward_access_keys_expiring 1');
    expect(api.status()).toMatchObject({ keys: { active: 1, disabled: 1 }, expiringWithinSevenDays: 1 });
  });
});
