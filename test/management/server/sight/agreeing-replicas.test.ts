// Two replicas that get their files at different times agree on who exists, and on the secrets that are used.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLog } from '../../../../src/log.ts';
import { recover } from '../../../../src/management/server/moving/recover.ts';
import type { ManagementApi } from '../../../../src/management/server/server.ts';
import { keysPath, people } from '../bench.ts';
import { type Replica, TwoReplicas } from './two-replicas.ts';

const both = new TwoReplicas();
let a: Replica;
let b: Replica;
beforeAll(async () => {
  await both.start();
  a = await both.replica('a', { generation: 1 });
  both.copySecrets('a', 'b');
  b = await both.replica('b', { generation: 1 });
}, 30_000);
afterAll(() => both.stop());

const statusOf = ({ api }: Replica) => api.status().store;

describe('the configuration of the highest generation', () => {
  const withoutBob = { ...people, users: people.users.filter(({ name }) => name !== 'bob'), projects: [] };

  it('rules on a replica that has an older file, and ends what the older one allows', async () => {
    const key = await both.makeKey(a, 'bobs', { user: 'bob' });
    expect(await both.use(b, 'bobs', key)).toBe(200);
    await a.api.apply({ ...withoutBob, generation: 2 });
    await both.until(async () => (await both.use(b, 'bobs', key)) === 401, 'the end of the key on the other replica');
    expect(statusOf(b)?.configuration).toEqual({ generation: 1, ruledBy: 2 });
    expect(b.api.notes).toEqual([]);
  });

  it('rules on after a restart with the older file, and brings a name back under its uid', async () => {
    await b.api.close();
    b = await both.replica('b', { generation: 1 });
    expect((await both.client(b).request('GET', '/kubernetes/management/api/v1/namespaces/p-shop')).status).toBe(404);
    await b.api.apply({ ...people, generation: 3 });
    const key = await both.makeKey(b, 'bobs-second', { user: 'bob' });
    await both.until(async () => (await both.use(a, 'bobs-second', key)) === 200, 'bob on the other replica');
    expect((await both.client(a).request('GET', '/kubernetes/management/api/v1/namespaces/p-shop')).status).toBe(200);
  });

  it('is a fault on both when two files of one generation differ, until they agree', async () => {
    await a.api.apply({ ...withoutBob, generation: 3 });
    await both.until(() => a.api.notes.length === 1 && b.api.notes.length === 1, 'the fault on both');
    expect(a.api.notes[0]).toMatch(
      /different users, teams, projects or clusters .* generation, 3: those of the other one rule/,
    );
    expect(b.api.notes[0]).toMatch(/those of this one rule/);
    expect(await both.use(a, 'root', both.admin)).toBe(200);
    await b.api.apply({ ...withoutBob, generation: 3 });
    await both.until(() => a.api.notes.length === 0 && b.api.notes.length === 0, 'the end of the fault');
    expect((await both.client(a).request('GET', '/kubernetes/management/api/v1/namespaces/p-shop')).status).toBe(404);
    await b.api.apply({ ...people, generation: 4 });
    await a.api.apply({ ...people, generation: 4 });
  });
});

it('new names are taken also by a store that is full of keys, at a start too', async () => {
  const full = new TwoReplicas();
  await full.start();
  try {
    full.maxRecords = 30;
    const only = await full.replica('a', { generation: 1 });
    for (let n = 0; n < 30; n++)
      await full
        .client(only)
        .request('POST', keysPath, { body: { metadata: { name: `n-${n}` }, spec: { user: 'alice' } } });
    const refused = await full
      .client(only)
      .request('POST', keysPath, { body: { metadata: { name: 'more' }, spec: { user: 'alice' } } });
    expect([refused.status, (refused.json as { message: string }).message]).toEqual([
      403,
      expect.stringMatching(/the store has \d+ records of 30/),
    ]);
    const users = Array.from({ length: 5 }, (_, n) => ({ ...people.users[0]!, name: `new-${n}` }));
    const more = { generation: 2, users: [...people.users, ...users] };
    await only.api.apply({ ...people, ...more });
    await only.api.close();
    const again = await full.replica('a', {
      ...more,
      generation: 3,
      users: [...more.users, { ...people.users[0]!, name: 'newest' }],
    });
    expect((await full.client(again).request('GET', keysPath)).status).toBe(200);
    expect(again.api.notes).toEqual([]);
  } finally {
    await full.stop();
  }
}, 30_000);

describe('versions of secrets', () => {
  it('are used when every living replica has them', async () => {
    both.addPepper('a', 2, 7);
    await both.until(() => statusOf(b)?.replicas.some(({ peppers }) => peppers === '2, 1') === true, 'the new pepper');
    await both.pass(20_000, [a, b]);
    await both.until(() => statusOf(a)?.secrets?.waiting !== undefined, 'the wait for the other replica');
    expect(statusOf(a)?.secrets).toMatchObject({ pepper: 1, waiting: 'pepper 2, until every replica has it' });
    expect(await both.use(b, 'with-1', await both.makeKey(a, 'with-1'))).toBe(200);
    both.addPepper('b', 2, 7);
    const peppersOf = (of: Replica) =>
      statusOf(of)
        ?.replicas.map(({ peppers }) => peppers)
        .join('; ');
    await both.until(() => peppersOf(a) === '2, 1; 2, 1' && peppersOf(b) === '2, 1; 2, 1', 'the new pepper on both');
    const used = () => [statusOf(a)?.secrets?.pepper, statusOf(b)?.secrets?.pepper];
    await both.untilLater(() => used().every((pepper) => pepper === 2), [a, b], 250, 'the use of the new pepper');
    expect(await both.use(b, 'with-2', await both.makeKey(a, 'with-2'))).toBe(200);
    expect(await both.use(a, 'again', await both.makeKey(b, 'again'))).toBe(200);
  });

  it('of one number with different bytes are a fault on both, and are not used', async () => {
    const files = [a, b].map(({ secretsDir }) => join(secretsDir, 'secrets.json'));
    const before = files.map((file) => readFileSync(file, 'utf8'));
    both.addPepper('a', 3, 8);
    both.addPepper('b', 3, 9);
    await both.untilLater(() => a.api.notes.length === 1 && b.api.notes.length === 1, [a, b], 250, 'the fault on both');
    for (const { api, secretsDir } of [a, b])
      expect(api.notes[0]).toMatch(
        new RegExp(
          `pepper 3 has other bytes on replica \\w+ than in ${secretsDir}: copy one secrets.json .* with pepper 2`,
        ),
      );
    await both.pass(20_000, [a, b]);
    expect(statusOf(a)?.secrets?.pepper).toBe(2);
    for (const [at, file] of files.entries()) writeFileSync(file, before[at] ?? '');
    await both.untilLater(
      () => a.api.notes.length === 0 && b.api.notes.length === 0,
      [a, b],
      250,
      'the end of the fault',
    );
  });

  it('are waited for by a replica that gets them late, which answers 503 and never 401', async () => {
    const path = join(b.secretsDir, 'secrets.json');
    const now = readFileSync(path, 'utf8');
    const old = { ...JSON.parse(now), peppers: JSON.parse(now).peppers.slice(0, 1) };
    await b.api.close();
    writeFileSync(path, JSON.stringify(old));
    const late = both.make('b', { generation: 4 });
    const opened = late.open();
    let isOpen = false;
    void opened.then(() => {
      isOpen = true;
    });
    await both.until(() => both.clock.waitingFor(1_000) > 0, 'the wait');
    expect(isOpen).toBe(false);
    writeFileSync(path, now);
    await opened;
    await late.serve();
    b = { ...b, api: late };
    writeFileSync(path, JSON.stringify(old));
    await both.until(async () => (await both.use(b, 'root', both.admin)) === 503, 'a replica that lacks a pepper');
    writeFileSync(path, now);
    await both.until(async () => (await both.use(b, 'root', both.admin)) === 200, 'the replica with all its peppers');
  });

  it('of token keys sign when every replica has had them as long as key sets are kept (at length)', async () => {
    const now = () => both.clock.wallTime().getTime();
    const [old] = a.api.issuing.keys.ids;
    await a.api.issuing.keys.rotate(now());
    const [next] = a.api.issuing.keys.ids;
    expect(next).not.toBe(old);
    both.clock.moveSeconds(700);
    const signs = () => statusOf(a)?.secrets?.tokenKey;
    await both.until(() => statusOf(b)?.replicas.some(({ tokenKeys }) => tokenKeys?.includes(',')) === true, 'the key');
    await both.pass(400_000, [a, b]);
    expect(signs()).toBe(old?.slice(0, 12));
    cpSync(join(a.secretsDir, 'token-keys.json'), join(b.secretsDir, 'token-keys.json'));
    const keysOf = () => statusOf(a)?.replicas.every(({ tokenKeys }) => tokenKeys?.includes(', '));
    await both.until(() => keysOf() === true, 'the new key on both');
    await both.until(() => statusOf(a)?.sweeper !== undefined, 'a sweeper');
    await both.untilLater(() => signs() === next?.slice(0, 12), [a, b], 100_000, 'the use of the new key');
    await both.until(() => statusOf(b)?.secrets?.tokenKey === next?.slice(0, 12), 'the use on the other replica');
  });

  it('must be those of the store: another folder, or none, is no start', async () => {
    await expect(both.make('c').open()).rejects.toThrow(
      /it is sealed, and the secrets are missing; bring secretsDir back/,
    );
    both.copySecrets('a', 'd');
    const { secretsDir } = both.folders('d');
    rmSync(join(secretsDir, 'token-keys.json'));
    await expect(both.make('d').open()).rejects.toThrow(
      /other replicas have keys that sign tokens, and this folder has none/,
    );
    const path = join(secretsDir, 'secrets.json');
    const peppers = [{ version: 1, bytes: Buffer.alloc(32, 9).toString('base64') }];
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), peppers }));
    await expect(both.make('d').open()).rejects.toThrow(/the secrets belong to another server/);
  });

  it('are made once by two replicas that start on an empty store with one absent folder', async () => {
    const fresh = new TwoReplicas();
    await fresh.start();
    try {
      const shared = join(fresh.folder, 'shared-secrets');
      mkdirSync(shared, { mode: 0o700 });
      fresh.folders = (name) => ({ dataDir: join(fresh.folder, name), secretsDir: shared });
      const apis = ['a', 'b', 'c'].map((name) => fresh.make(name));
      await Promise.all(apis.map((api) => api.open()));
      for (const api of apis) await api.serve();
      const certificates = new Set(apis.map(({ caPem }) => caPem));
      expect(certificates.size).toBe(1);
      expect(new Set(apis.map(({ issuing }) => issuing.keys.ids.join())).size).toBe(1);
      const made = await (apis[0] as ManagementApi).createKey({ metadata: { name: 'root' }, spec: { user: 'admin' } });
      const { key } = made['spec'] as { key: string };
      for (const api of apis) expect(await fresh.use({ ...a, api }, 'root', key)).toBe(200);
    } finally {
      await fresh.stop();
    }
  }, 30_000);
});

describe('the ends of the audit log and of the journal in the store', () => {
  it('show at the next start that lines were cut off (at length)', async () => {
    await both.pass(0, [a, b]);
    await both.makeKey(b, 'last-line');
    expect((await both.client(b).request('DELETE', `${keysPath}/last-line`)).status).toBe(200);
    // A list waits for the own heartbeat.
    await both.client(b).request('GET', keysPath);
    await b.api.close();
    for (const name of ['audit.log', 'revocations.log']) {
      const path = join(b.dataDir, name);
      const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
      writeFileSync(path, `${lines.slice(0, -2).join('\n')}\n`);
    }
    b = await both.replica('b', { generation: 4 });
    for (const what of ['audit log', 'journal of revocations'])
      expect(b.api.status().troubles?.join('\n')).toMatch(
        new RegExp(`the end of the ${what} was lost .* the store has seen line \\d+`),
      );
    // Also when the store has heard where the chains end now.
    await both.client(b).request('GET', keysPath);
    await b.api.close();
    b = await both.replica('b', { generation: 4 });
    expect(b.api.status().troubles ?? []).toEqual([]);
    const lost = readFileSync(join(b.dataDir, 'audit.log'), 'utf8').matchAll(/"stage":"lost","of":"([^"]+)"/g);
    expect([...lost].map(([, of]) => of)).toEqual(['audit log', 'journal of revocations']);
  });
});

describe('hostward store recover', () => {
  it('names the replica whose journal is missing, and leaves no key enabled then (at length)', async () => {
    const key = await both.makeKey(a, 'recovered');
    expect(await both.use(a, 'recovered', key)).toBe(200);
    await a.api.close();
    const [{ store, ...places }, limits] = [both.management('a'), { maxRecords: 10_000, maxBytes: 10_000_000 }];
    const server = { ...places, ingressListen: undefined, store: { ...store, ...limits } };
    const options = { server, trustsKeys: false, clock: both.clock, log: silentLog, environment: {} };
    const nameOfB = JSON.parse(readFileSync(join(b.dataDir, 'replica.json'), 'utf8')).replica;
    const beside = recover({ ...options, others: [b.dataDir] });
    both.clock.fire(2_000);
    await expect(beside).rejects.toMatchObject({
      message: expect.stringContaining(`replica ${nameOfB} runs`),
      hint: expect.stringContaining('--force'),
    });
    await b.api.close();
    const whole = await both.alone(recover({ ...options, others: [b.dataDir], trustsKeys: true }));
    expect([whole.missing, whole.journals.map(({ until }) => until)]).toEqual([
      [],
      [expect.any(String), expect.any(String)],
    ]);
    const looked = await recover({ ...options, others: [], isDryRun: true });
    expect(looked).toMatchObject({ kind: 'judged', missing: [nameOfB], knowsAll: false });
    const done = await recover({ ...options, others: [] });
    expect(done).toMatchObject({ missing: [nameOfB], disabled: expect.toSatisfy((keys: number) => keys > 0) });
    a = await both.replica('a', { generation: 4 });
    expect(await both.use(a, 'recovered', key)).toBe(401);
  });
});
