// Two replicas and a balancer, on a real kube-apiserver.
import { execFile } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nameOf } from '../../../src/store/kubernetes/records/record-format.ts';
import { newNamespace } from '../../contract/store/on-host.ts';
import { until } from '../../management/server/bench.ts';
import { root, run } from '../install/helm.ts';
import { kubeAssets } from '../start/assets.ts';
import { startKube } from '../start/start.ts';
import { type EmbeddedHost, startEmbedded } from './embedded-host.ts';
import { Replicas } from './replicas.ts';

const assets = kubeAssets();
const main = join(root, 'src', 'main.ts');

describe.skipIf(assets.found === undefined)('two replicas on a real kube-apiserver', () => {
  let host: EmbeddedHost;
  let replicas: Replicas;
  let namespace: string;
  beforeAll(async () => {
    const isEmbedded = process.env['HOSTWARD_EMBEDDED_HOST'] === '1';
    host = isEmbedded ? await startEmbedded(assets.found?.kubectl ?? '') : await startKube({ name: 'replicas' });
    namespace = await newNamespace(host);
    replicas = new Replicas(host, namespace);
    await replicas.start();
  }, 120_000);
  afterAll(async () => {
    await replicas.stop();
    await host.stop();
  });

  it('keep owner, finalizers, uid and times in the record, where neither a backup program nor the garbage collector acts on them', async () => {
    const owner = (await replicas.create(0, 'owner')).json as { metadata: { uid: string } };
    const ownerReferences = [
      { apiVersion: 'management.platform/v1', kind: 'OwnedAccessKey', name: 'owner', uid: owner.metadata.uid },
    ];
    const metadata = { name: 'owned', finalizers: ['example.com/hold'], ownerReferences, labels: { team: 'red' } };
    const path = '/kubernetes/management/apis/management.platform/v1/ownedaccesskeys';
    const body = { metadata, spec: { user: 'alice' } };
    const made = await replicas.client(0).request('POST', path, { body });
    expect(made.status).toBe(201);
    const secret = nameOf('/registry/ownedaccesskeys/owned');
    const { stdout } = await host.kubectl('-n', namespace, 'get', 'secret', secret, '-o', 'json');
    const found = JSON.parse(stdout) as { type: string; metadata: Record<string, unknown> };
    const { creationTimestamp: _, managedFields: __, resourceVersion: ___, uid, ...own } = found.metadata;
    expect([found.type, own]).toEqual([
      'hostward.dev/record',
      { name: secret, namespace, labels: { 'hostward.dev/record': 'true' } },
    ]);
    expect(uid).not.toBe((made.json as { metadata: { uid: string } }).metadata.uid);
    const headers = { 'content-type': 'application/merge-patch+json' };
    const free = { metadata: { finalizers: null } };
    expect((await replicas.client(1).request('PATCH', `${path}/owned`, { headers, body: free })).status).toBe(200);
    expect((await replicas.remove(1, 'owner')).status).toBe(200);
    await until(async () => (await replicas.get(0, 'owned')).status === 404, 'the end of the owned key', 20_000);
  }, 60_000);

  const kubectl = (...args: string[]): Promise<string> =>
    new Promise((resolve, reject) => {
      const all = ['--kubeconfig', replicas.kubeconfigPath, ...args];
      execFile(assets.found?.kubectl ?? '', all, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`kubectl ${args.join(' ')}: ${stderr}`));
      });
    });

  it('are one API for kubectl behind a balancer', async () => {
    for (let n = 0; n < 4; n++) {
      const manifest = { apiVersion: 'management.platform/v1', kind: 'OwnedAccessKey', metadata: { name: `k${n}` } };
      const made = await replicas.create(n % 2, manifest.metadata.name);
      expect(made.status).toBe(201);
      expect(await kubectl('get', 'ownedaccesskeys', `k${n}`, '-o', 'name')).toContain(`k${n}`);
      await kubectl('label', 'ownedaccesskeys', `k${n}`, `round=${n}`);
    }
    expect((await kubectl('get', 'ownedaccesskeys', '-o', 'name')).trim().split('\n')).toHaveLength(5);
    await kubectl('delete', 'ownedaccesskeys', 'k0', 'k1', 'k2', 'k3', '--timeout=20s');
  });

  it('let a key in on one at once that was made on the other', async () => {
    for (let round = 0; round < 20; round++) {
      const made = await replicas.create(round % 2, `quick-${round}`);
      const { key } = (made.json as { spec: { key: string } }).spec;
      const used = await replicas.get((round + 1) % 2, `quick-${round}`, key);
      expect([made.status, used.status]).toEqual([201, 200]);
    }
  });

  it('accept a value that clients bring along once, whoever asks both at the same time', async () => {
    for (let round = 0; round < 15; round++) {
      const key = `Supplied-value-${round}-of-0123456789-abcdefghijklm`;
      const asked = [0, 1, 0, 1].map((at, n) => replicas.create(at, `brought-${round}-${n}`, { user: 'alice', key }));
      const codes = (await Promise.all(asked)).map(({ status }) => status);
      expect(codes.toSorted((a, b) => a - b)).toEqual([201, 422, 422, 422]);
      const winner = `brought-${round}-${codes.indexOf(201)}`;
      for (const at of [0, 1]) expect((await replicas.get(at, winner, key)).status).toBe(200);
      expect((await replicas.create(round % 2, `late-${round}`, { user: 'alice', key })).status).toBe(422);
    }
  }, 60_000);

  it('refuse a key within 100 ms after it was revoked on the other', async () => {
    const late: number[] = [];
    for (let round = 0; round < 10; round++) {
      const made = await replicas.create(0, `gone-${round}`);
      const { key } = (made.json as { spec: { key: string } }).spec;
      expect((await replicas.get(1, `gone-${round}`, key)).status).toBe(200);
      expect((await replicas.remove(0, `gone-${round}`)).status).toBe(200);
      const revokedMs = performance.now();
      while ((await replicas.get(1, `gone-${round}`, key)).status !== 401)
        if (performance.now() - revokedMs > 5_000) throw new Error('the key still lives');
      late.push(performance.now() - revokedMs);
    }
    expect(late.toSorted((a, b) => a - b)[late.length >> 1]).toBeLessThan(100);
  });

  it('say in their status who they are, how far behind, and who of them sweeps', async () => {
    const storeOf = async (at: number) => {
      const { management } = (await replicas.replica(at).status()) as {
        management: { store: Record<string, unknown> };
      };
      return management.store;
    };
    await until(async () => (await storeOf(0))['sweeper'] !== undefined, 'a sweeper', 30_000);
    const [one, two] = [await storeOf(0), await storeOf(1)];
    const namesIn = ({ replicas: rows }: Record<string, unknown>) =>
      (rows as { replica: string }[]).map(({ replica }) => replica);
    expect(namesIn(one)).toHaveLength(2);
    expect(namesIn(one)).toEqual(namesIn(two));
    expect(one['replicas']).toMatchObject([
      { generation: 0, peppers: '1', tokenKeys: expect.any(String) },
      { generation: 0, peppers: '1', tokenKeys: expect.any(String) },
    ]);
    expect(one['secrets']).toMatchObject({ pepper: 1 });
    expect(one['sweeper']).toBe(two['sweeper']);
    expect([Number(one['lagMs']) < 5_000, one['troubles']]).toEqual([true, []]);
    const said = await replicas.hostward('status', '--config', replicas.replica(0).configPath);
    const line =
      /^store: (.+), \d+ records; replica (\S+) of 2, \d+ ms behind at most; (\S+) sweeps; pepper 1, token key ([0-9a-zA-Z_-]+)$/m;
    const { sweeper, replica, secrets } = one as { sweeper: string; replica: string; secrets: { tokenKey: string } };
    expect(line.exec(said)?.slice(2)).toEqual([replica, sweeper, secrets.tokenKey]);
  }, 60_000);

  it('have one audit log and one journal each, and the store tells when the end of one was cut off, or a whole one is missing', async () => {
    for (const at of [0, 1]) {
      expect((await replicas.create(at, `logged-${at}`)).status).toBe(201);
      expect((await replicas.remove(at, `logged-${at}`)).status).toBe(200);
    }
    const [config, folder] = [replicas.replica(0).configPath, replicas.folder];
    const verify = (...more: string[]) =>
      run(
        { kubeconfig: '', folder },
        process.execPath,
        main,
        'audit',
        'verify',
        '--config',
        config,
        '--store',
        ...more,
      );
    const seen = /^replica (\S+): the store has seen line ([1-9]\d*) of the (log|journal of revocations)$/gm;
    let both = await verify('--replica', join(folder, 'b'));
    await until(
      async () => {
        both = await verify('--replica', join(folder, 'b'));
        return [...both.stdout.matchAll(seen)].length === 4;
      },
      'the ends of both logs and journals in the store',
      20_000,
    );
    expect(both).toMatchObject({ code: 0, stderr: '' });
    const replicaOf = (name: string) => JSON.parse(readFileSync(join(folder, name, 'replica.json'), 'utf8')).replica;
    const [a, b] = [replicaOf('a'), replicaOf('b')];
    expect(new Set([...both.stdout.matchAll(seen)].map(([, replica]) => replica))).toEqual(new Set([a, b]));

    const alone = await verify();
    expect(alone.code).toBe(1);
    expect(alone.stdout).toContain(`replica ${b}: its log of `);
    expect(alone.stdout).toContain('is in none of these folders');

    const copy = join(folder, 'copy-of-b');
    for (const name of ['audit.log', 'revocations.log']) {
      rmSync(copy, { recursive: true, force: true });
      cpSync(join(folder, 'b'), copy, { recursive: true, filter: (path) => !path.endsWith('.sock') });
      const lines = readFileSync(join(copy, name), 'utf8').trimEnd().split('\n');
      writeFileSync(join(copy, name), `${lines.slice(0, -2).join('\n')}\n`);
      const cut = await verify('--replica', copy);
      expect(cut.code).toBe(1);
      const what = name === 'audit.log' ? 'log' : 'journal of revocations';
      expect(cut.stdout).toMatch(new RegExp(`replica ${b}: the ${what} ends with line .* its end was cut off`));
      expect(cut.stdout.match(/cut off/g)).toHaveLength(1);
    }
  }, 60_000);

  it('answer 401 for a key that nobody made', async () => {
    const stranger = `mpk_${'0'.repeat(17)}_${'0'.repeat(49)}`;
    expect((await replicas.get(0, 'root', stranger)).status).toBe(401);
  });
});
