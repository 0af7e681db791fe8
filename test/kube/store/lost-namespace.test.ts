// A namespace of records is gone: the way back through a backup, a database file and `store migrate`, with commands alone.
import { cpSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../../src/cli/demo/free-ports.ts';
import { newNamespace } from '../../contract/store/on-host.ts';
import { until } from '../../management/server/bench.ts';
import { root, run } from '../install/helm.ts';
import { kubeAssets } from '../start/assets.ts';
import { startKube } from '../start/start.ts';
import { type EmbeddedHost, startEmbedded } from './embedded-host.ts';
import { Replicas } from './replicas.ts';

const assets = kubeAssets();

describe.skipIf(assets.found === undefined)('a namespace of records that is gone', () => {
  let host: EmbeddedHost;
  let replicas: Replicas;
  let namespace: string;
  beforeAll(async () => {
    const isEmbedded = process.env['HOSTWARD_EMBEDDED_HOST'] === '1';
    host = isEmbedded ? await startEmbedded(assets.found?.kubectl ?? '') : await startKube({ name: 'lost' });
    namespace = await newNamespace(host);
    replicas = new Replicas(host, namespace);
    await replicas.start();
  }, 120_000);
  afterAll(async () => {
    await replicas.stop();
    await host.stop();
  });

  const keyOf = async (name: string) => {
    const made = await replicas.create(0, name);
    expect(made.status).toBe(201);
    return (made.json as { spec: { key: string } }).spec.key;
  };

  it('comes back with its keys, and what was revoked since the backup stays revoked', async () => {
    const [kept, revoked] = [await keyOf('kept'), await keyOf('revoked')];
    const config = replicas.replica(0).configPath;
    const backup = join(replicas.folder, 'backup');
    await replicas.hostward('backup', backup, '--config', config);
    expect((await replicas.remove(0, 'revoked')).status).toBe(200);
    for (const replica of replicas.all) await replica.end();
    await host.kubectl('delete', 'secrets,configmaps,leases', '--all', '-n', namespace);
    // The replica must not begin an empty store, on which revoked keys would be forgotten.
    await expect(replicas.replica(0).start()).rejects.toThrow('no store is there');

    const [listen, own] = (await freePorts(2)).map((port) => `127.0.0.1:${port}`);
    const { users, teams, projects, administrators } = replicas.management('') as Record<string, unknown>;
    const people = { users, teams, projects, administrators };
    const file = join(replicas.folder, 'file.yaml');
    const dataDir = join(replicas.folder, 'file');
    writeFileSync(file, JSON.stringify({ hostward: { listen, management: { listen: own, dataDir, ...people } } }));
    const journals = ['a', 'b'].map((name) => {
      const journal = join(replicas.folder, `${name}-revocations.log`);
      cpSync(join(replicas.folder, name, 'revocations.log'), journal);
      return ['--journal', journal];
    });
    await replicas.hostward('restore', backup, ...journals.flat(), '--config', file);
    const unmoved = join(replicas.folder, 'unmoved');
    cpSync(dataDir, unmoved, { recursive: true });
    await replicas.hostward('store', 'migrate', '--from', file, '--to', config);
    await replicas.replica(0).start();
    await until(async () => (await replicas.get(0, 'kept', kept)).status === 200, 'the kept key');
    expect((await replicas.get(0, 'kept', revoked)).status).toBe(401);
    // The other one remembers the store that is gone.
    await expect(replicas.replica(1).start()).rejects.toThrow('the store there is another one');
    rmSync(join(replicas.folder, 'b', 'replica.json'));
    await replicas.replica(1).start();
    expect((await replicas.get(1, 'kept', kept)).status).toBe(200);
    expect((await replicas.get(1, 'kept', revoked)).status).toBe(401);
    expect((await replicas.create(0, 'after')).status).toBe(201);
    await replicas.replica(1).end();
    const again = () => replicas.hostward('store', 'migrate', '--from', file, '--to', config);
    await expect(again()).rejects.toThrow('the records were moved already');
    rmSync(dataDir, { recursive: true });
    renameSync(unmoved, dataDir);
    await expect(again()).rejects.toThrow('another process has locked it');
  }, 240_000);

  it('gives a first key with no server running', async () => {
    await replicas.replica(0).end();
    const key = await replicas.hostward(
      'keys',
      'create',
      'unserved',
      '--admin',
      '--config',
      replicas.replica(0).configPath,
    );
    await replicas.replica(0).start();
    expect((await replicas.get(0, 'unserved', key.trim())).status).toBe(200);
  }, 120_000);

  it('is no store any more once its records were moved into a file: no replica starts, and doctor says where they are', async () => {
    for (const replica of replicas.all) await replica.end();
    const { configPath } = replicas.replica(0);
    const [listen, own] = (await freePorts(2)).map((port) => `127.0.0.1:${port}`);
    const { users, teams, projects, administrators } = replicas.management('') as Record<string, unknown>;
    const management = { listen: own, dataDir: join(replicas.folder, 'back'), users, teams, projects, administrators };
    const file = join(replicas.folder, 'back.yaml');
    writeFileSync(file, JSON.stringify({ hostward: { listen, management } }));
    expect(await replicas.hostward('store', 'migrate', '--from', configPath, '--to', file)).toContain('moved');
    await expect(replicas.replica(0).start()).rejects.toThrow('its records were moved to');
    const words = ['doctor', '--config', configPath, '-o', 'json'];
    const where = { kubeconfig: host.kubeconfigPath, folder: replicas.folder };
    const { code, stdout } = await run(where, process.execPath, join(root, 'src', 'main.ts'), ...words);
    const { checks } = JSON.parse(stdout) as {
      checks: { code: string; verdict: string; says: string; mend: string }[];
    };
    expect([code, checks.find((one) => one.code === 'HW-807')]).toMatchObject([
      1,
      {
        verdict: 'fault',
        says: expect.stringContaining(`the records in ${namespace} were moved to `),
        mend: expect.stringContaining('start with the configuration of that store'),
      },
    ]);
  }, 120_000);
});
