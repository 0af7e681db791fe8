// What two replicas do when the host, the way to it, or one of them fails, and when somebody writes into their namespace by hand.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nameOf } from '../../../src/store/kubernetes/records/record-format.ts';
import { ApiClient } from '../../contract/client.ts';
import { newNamespace } from '../../contract/store/on-host.ts';
import { until } from '../../management/server/bench.ts';
import { root as repository, run } from '../install/helm.ts';
import { kubeAssets } from '../start/assets.ts';
import { startKube } from '../start/start.ts';
import { type EmbeddedHost, startEmbedded } from './embedded-host.ts';
import { type Replica, Replicas } from './replicas.ts';

const assets = kubeAssets();
/** A minute takes too long for every change. */
const isFull = process.env['HOSTWARD_REPLICA_PROOFS'] === '1';
const frozenSeconds = isFull ? [7, 62] : [7];
/** An embedded host needs no time to start: for work on this file. */
const isEmbedded = process.env['HOSTWARD_EMBEDDED_HOST'] === '1';

describe.skipIf(assets.found === undefined)('two replicas in bad times', () => {
  let host: EmbeddedHost;
  let replicas: Replicas;
  let namespace: string;
  beforeAll(async () => {
    host = isEmbedded ? await startEmbedded(assets.found?.kubectl ?? '') : await startKube({ name: 'faults' });
    namespace = await newNamespace(host);
    replicas = new Replicas(host, namespace);
    await replicas.start();
  }, 120_000);
  afterAll(async () => {
    await replicas.stop();
    await host.stop();
  });

  const listPath = '/kubernetes/management/apis/management.platform/v1/ownedaccesskeys';
  const root = async (at: number) => (await replicas.get(at, 'root')).status;
  const made = async (at: number, name: string) => {
    const answer = await replicas.create(at, name);
    if (answer.status !== 201) throw new Error(`create ${name}: ${answer.status} ${answer.text}`);
    return (answer.json as { spec: { key: string } }).spec.key;
  };

  it.each(['cut', 'frozen'] as const)(
    'one whose way to the host is %s is not ready after five seconds, never stale, and the other serves',
    async (how) => {
      const key = await made(0, `lost-${how}`);
      expect((await replicas.get(0, `lost-${how}`, key)).status).toBe(200);
      const cable = replicas.cables[0];
      try {
        cable?.set(how);
        const cutMs = performance.now();
        expect((await replicas.remove(1, `lost-${how}`)).status).toBe(200);
        await until(async () => !(await replicas.replica(0).isReady()), 'unready', 10_000);
        expect(performance.now() - cutMs).toBeLessThan(8_000);
        expect([(await replicas.get(0, `lost-${how}`, key)).status, await root(0)]).toEqual([503, 503]);
        expect([await root(1), await replicas.replica(1).isReady()]).toEqual([200, true]);
      } finally {
        cable?.set('open');
      }
      await until(async () => (await root(0)) === 200, 'the way back', 20_000);
      // A replica that cannot write is unready sooner than one that hears nothing for five seconds.
      await until(async () => (await replicas.get(0, `lost-${how}`, key)).status === 401, 'refused', 5_000);
    },
    60_000,
  );

  it('one whose host stands still ends what is under way after five seconds, and says of a change that it may have been made', async () => {
    await made(0, 'under-way');
    await until(async () => (await replicas.get(0, 'under-way')).status === 200, 'the key');
    const path = `${listPath}/under-way`;
    const headers = { 'content-type': 'application/merge-patch+json' };
    const body = { spec: { description: 'late' } };
    const cable = replicas.cables[0];
    const client = () => replicas.client(0);
    try {
      cable?.set('frozen');
      const frozenMs = performance.now();
      const reads = [client().request('GET', path), client().request('GET', listPath)];
      const patch = client().request('PATCH', path, { headers, body });
      for (const read of [...reads, patch]) {
        const { status, text, headers: answered } = await read;
        expect([status, answered['retry-after'], text]).toEqual([503, '1', expect.stringContaining('nothing was')]);
      }
      expect(performance.now() - frozenMs).toBeLessThan(8_000);
      cable?.set('open');
      await until(async () => (await root(0)) === 200, 'the way back', 20_000);
      cable?.set('frozen');
      const againMs = performance.now();
      const create = await replicas.create(0, 'made-late');
      expect([create.status, create.text]).toEqual([503, expect.stringContaining('look whether a change was made')]);
      expect(performance.now() - againMs).toBeLessThan(8_000);
    } finally {
      cable?.set('open');
    }
    await until(async () => (await root(0)) === 200, 'the way back', 20_000);
  }, 60_000);

  it('one whose way to the host comes and goes hears of every revocation and every new key', async () => {
    const cable = replicas.cables[0];
    try {
      for (let round = 0; round < 6; round++) {
        const key = await made(0, `flaps-${round}`);
        cable?.set('cut');
        expect((await replicas.remove(1, `flaps-${round}`)).status).toBe(200);
        const late = await made(1, `flapped-${round}`);
        cable?.set('open');
        await until(async () => (await replicas.get(0, `flaps-${round}`, key)).status === 401, 'refused', 20_000);
        await until(async () => (await replicas.get(0, `flapped-${round}`, late)).status === 200, 'good', 20_000);
      }
    } finally {
      cable?.set('open');
    }
    expect(replicas.replica(0).exitCode).toBeNull();
  }, 120_000);

  it('one that cannot ask its host answers 503 and never 401 for a key that was made on the other', async () => {
    const cable = replicas.cables[0];
    const seen = new Set<number>();
    let late: string;
    try {
      cable?.set('frozen');
      late = await made(1, 'unheard-of');
      const stillMs = performance.now();
      // Few enough for one source, until the replica says of itself that it is not ready.
      for (let n = 0; n < 10 && performance.now() - stillMs < 8_000; n++) {
        const { status, headers } = await replicas.get(0, 'unheard-of', late);
        seen.add(status);
        expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      }
    } finally {
      cable?.set('open');
    }
    await until(
      async () => {
        const { status } = await replicas.get(0, 'unheard-of', late);
        seen.add(status);
        return status === 200;
      },
      'the key',
      20_000,
    );
    expect([...seen].toSorted((a, b) => a - b)).toEqual([200, 503]);
  }, 60_000);

  it.each(frozenSeconds)(
    'one that stood still for %i seconds does not answer with what it knew before',
    async (seconds) => {
      const name = `still-${seconds}`;
      const key = await made(0, name);
      expect((await replicas.get(1, name, key)).status).toBe(200);
      replicas.replica(1).signal('SIGSTOP');
      let late: string;
      try {
        expect((await replicas.remove(0, name)).status).toBe(200);
        late = await made(0, `${name}-late`);
        const asked = replicas.get(1, name, key).catch(() => ({ status: 0 }));
        await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
        replicas.replica(1).signal('SIGCONT');
        // Every answer from the first moment on; 0 is a client that did not wait so long. Fewer than one source may try in vain.
        for (const answer of [asked, ...Array.from({ length: 8 }, () => replicas.get(1, name, key))])
          expect([0, 401, 503]).toContain((await answer).status);
      } finally {
        replicas.replica(1).signal('SIGCONT');
      }
      await until(async () => (await root(1)) === 200, 'the way back', 20_000);
      expect((await replicas.get(1, name, key)).status).toBe(401);
      expect((await replicas.get(1, `${name}-late`, late)).status).toBe(200);
      expect((await replicas.create(1, `${name}-after`)).status).toBe(201);
    },
    120_000,
  );

  it('one that was killed comes back with everything that was acknowledged', async () => {
    const names: string[] = [];
    const writes = Array.from({ length: 30 }, async (_, n) => {
      const { status } = await replicas.create(0, `kill-${n}`).catch(() => ({ status: 0 }));
      if (status === 201) names.push(`kill-${n}`);
    });
    await until(() => names.length > 5, 'some keys', 20_000);
    await replicas.replica(0).end('SIGKILL');
    await Promise.all(writes);
    await replicas.replica(0).start();
    for (const name of names) expect((await replicas.get(0, name)).status).toBe(200);
    for (const name of names) expect((await replicas.get(1, name)).status).toBe(200);
  }, 60_000);

  it('both go on after the API server was started again', async () => {
    await host.restartApiserver();
    await until(async () => (await root(0)) === 200 && (await root(1)) === 200, 'both', 30_000);
    await made(0, 'after-restart');
    expect((await replicas.get(1, 'after-restart')).status).toBe(200);
  }, 90_000);

  const secretOf = async (name: string) => {
    const { stdout } = await host.kubectl('-n', namespace, 'get', 'secrets', '-o', 'json');
    const { items } = JSON.parse(stdout) as { items: { metadata: { name: string }; data?: Record<string, string> }[] };
    const wanted = Buffer.from(`/registry/ownedaccesskeys/${name}`).toString('base64');
    return items.find(({ data }) => data?.['key'] === wanted)?.metadata.name ?? '';
  };

  it('lock a key out whose record was damaged by hand, say so, and serve the others', async () => {
    const key = await made(0, 'damaged');
    const other = await made(0, 'whole');
    const secret = await secretOf('damaged');
    const data = { value: Buffer.from('{"metadata":').toString('base64') };
    await host.kubectl('-n', namespace, 'patch', 'secret', secret, '--type=merge', '-p', JSON.stringify({ data }));
    for (const at of [0, 1]) {
      await until(async () => (await replicas.get(at, 'damaged', key)).status === 401, 'the key is refused');
      expect((await replicas.get(at, 'whole', other)).status).toBe(200);
    }
    expect(replicas.replica(0).output).toContain(secret);
    expect((await replicas.create(1, 'damaged')).status).toBe(503);
  });

  it('do not believe a record that somebody forges, widens or puts back by hand, and serve the others', async () => {
    const key = await made(0, 'narrow');
    const other = await made(0, 'beside');
    const secret = await secretOf('narrow');
    const { stdout } = await host.kubectl('-n', namespace, 'get', 'secret', secret, '-o', 'json');
    const found = JSON.parse(stdout) as { metadata: Record<string, unknown>; data: Record<string, string> };
    const text = Buffer.from(found.data['value'] ?? '', 'base64').toString();
    const write = (name: string, data: Record<string, string>) => {
      const body = { ...found, metadata: { name, namespace, labels: found.metadata['labels'] }, data };
      const path = `/api/v1/namespaces/${namespace}/secrets`;
      return new ApiClient({ url: host.url, caPem: host.caPem, token: host.adminToken }).request('POST', path, {
        body,
      });
    };
    // Of a key whose value the forger knows: the same key for an administrator, under its own name and under another one.
    const forged = text.replaceAll('"alice"', '"root"');
    expect(forged).not.toBe(text);
    const value = Buffer.from(forged).toString('base64');
    await host.kubectl(
      '-n',
      namespace,
      'patch',
      'secret',
      secret,
      '--type=merge',
      '-p',
      JSON.stringify({ data: { value } }),
    );
    const renamed = forged.replaceAll('"narrow"', '"forged"');
    const at = '/registry/ownedaccesskeys/forged';
    const base64 = (plain: string) => Buffer.from(plain).toString('base64');
    const copy = { ...found.data, key: base64(at), value: base64(renamed) };
    expect((await write(nameOf(at), copy)).status).toBe(201);
    for (const replica of [0, 1]) {
      await until(async () => (await replicas.get(replica, 'root', key)).status === 401, 'the forged key is refused');
      expect((await replicas.get(replica, 'beside', other)).status).toBe(200);
      expect((await replicas.get(replica, 'forged')).status).toBe(503);
      expect((await replicas.client(replica).request('GET', listPath)).text).not.toContain('"forged"');
      await until(() => replicas.replica(replica).output.includes('its seal does not fit'), 'said in the log');
      const { management } = (await replicas.replica(replica).status()) as { management: { troubles: string[] } };
      expect(management.troubles.join()).toContain('are not believed and let nobody in');
    }
    // A copy from before it was revoked.
    const gone = await made(1, 'gone');
    const copied = await host.kubectl('-n', namespace, 'get', 'secret', await secretOf('gone'), '-o', 'json');
    expect((await replicas.remove(1, 'gone')).status).toBe(200);
    const { data: goneData } = JSON.parse(copied.stdout) as { data: Record<string, string> };
    expect((await write(nameOf('/registry/ownedaccesskeys/gone'), goneData)).status).toBe(201);
    for (const replica of [0, 1]) {
      await until(() => replicas.replica(replica).output.includes('an older version of this record'), 'said');
      expect((await replicas.get(replica, 'gone', gone)).status).toBe(401);
    }
    const names = [secret, nameOf(at), nameOf('/registry/ownedaccesskeys/gone')];
    await host.kubectl('-n', namespace, 'delete', 'secret', ...names);
    await until(() => replicas.replica(0).output.includes('record of the store that was left aside is gone'), 'gone');
    expect((await replicas.create(0, 'gone')).status).toBe(201);
  }, 60_000);

  it('take a record that was deleted by hand as a revoked key', async () => {
    const key = await made(0, 'deleted');
    await host.kubectl('-n', namespace, 'delete', 'secret', await secretOf('deleted'));
    for (const at of [0, 1])
      await until(async () => (await replicas.get(at, 'deleted', key)).status === 401, 'refused');
  });

  it("do not touch other people's Secrets, and leave records of a newer version alone", async () => {
    await host.kubectl('-n', namespace, 'create', 'secret', 'generic', 'theirs', '--from-literal=a=b');
    await made(0, 'newer');
    const secret = await secretOf('newer');
    const data = { format: Buffer.from('7').toString('base64') };
    await host.kubectl('-n', namespace, 'patch', 'secret', secret, '--type=merge', '-p', JSON.stringify({ data }));
    await until(() => replicas.replica(0).output.includes('a newer version has written it'), 'said');
    expect(await root(0)).toBe(200);
    const { stdout } = await host.kubectl('-n', namespace, 'get', 'secret', 'theirs', secret, '-o', 'name');
    expect(stdout.trim().split('\n')).toHaveLength(2);
  });

  it('are not joined by another installation on their namespace', async () => {
    const others = new Replicas(host, namespace);
    try {
      await expect(others.start(['c'])).rejects.toThrow('secrets');
    } finally {
      await others.stop();
    }
  }, 60_000);

  it.skipIf(!isFull)(
    'one whose secretsDir is older than the one of the other answers 503 and never 401, and both go on with the newer one',
    async () => {
      const [one, two] = [replicas.replica(0), replicas.replica(1)];
      const [shared, own] = ['secrets', 'secrets-of-its-own'].map((name) => join(replicas.folder, name)) as [
        string,
        string,
      ];
      cpSync(shared, own, { recursive: true });
      await two.end();
      two.configure({ ...replicas.management(replicas.cables[1]?.kubeconfigPath ?? ''), secretsDir: own });
      await two.start();
      const pepperOf = async (replica: Replica) => {
        const { management } = (await replica.status()) as { management: { store: { secrets: { pepper: number } } } };
        return management.store.secrets;
      };
      await replicas.hostward('secrets', 'add', 'pepper', '--config', one.configPath);
      await until(async () => 'waiting' in (await pepperOf(one)), 'the wait for the other replica', 30_000);
      expect(await pepperOf(one)).toMatchObject({ pepper: 1 });
      // It ends with 1, because other tests have left records here that nobody believes.
      const words = [join(repository, 'src', 'main.ts'), 'status', '--config', one.configPath];
      const { stdout } = await run({ kubeconfig: '', folder: replicas.folder }, process.execPath, ...words);
      expect(stdout).toContain('waiting: pepper 2, until every replica has it');
      const before = await made(0, 'before-the-newer');
      expect((await replicas.get(1, 'before-the-newer', before)).status).toBe(200);

      const older = readFileSync(join(own, 'secrets.json'));
      cpSync(join(shared, 'secrets.json'), join(own, 'secrets.json'));
      const isUsed = async () => (await Promise.all([one, two].map(pepperOf))).every(({ pepper }) => pepper === 2);
      await until(isUsed, 'the newer pepper on both', 60_000);
      const after = await made(0, 'after-the-newer');
      expect((await replicas.get(1, 'after-the-newer', after)).status).toBe(200);

      writeFileSync(join(own, 'secrets.json'), older);
      const seen = new Set<number>();
      const answers = (wanted: number) => async () => {
        const { status } = await replicas.get(1, 'after-the-newer', after);
        seen.add(status);
        return status === wanted;
      };
      await until(answers(503), 'a replica that lacks a pepper', 20_000);
      expect([await two.isReady(), await root(0)]).toEqual([false, 200]);
      cpSync(join(shared, 'secrets.json'), join(own, 'secrets.json'));
      await until(answers(200), 'the replica with all its peppers', 20_000);
      expect([...seen].toSorted((a, b) => a - b)).toEqual([200, 503]);
      expect((await replicas.get(1, 'before-the-newer', before)).status).toBe(200);
    },
    180_000,
  );
});
