// Two replicas and a balancer, on a real kube-apiserver.
import { execFile } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newNamespace } from '../../contract/store/on-host.ts';
import { until } from '../../management/server/bench.ts';
import { kubeAssets } from '../start/assets.ts';
import { startKube } from '../start/start.ts';
import { type EmbeddedHost, startEmbedded } from './embedded-host.ts';
import { Replicas } from './replicas.ts';

const assets = kubeAssets();

describe.skipIf(assets.found === undefined)('two replicas on a real kube-apiserver', () => {
  let host: EmbeddedHost;
  let replicas: Replicas;
  beforeAll(async () => {
    const isEmbedded = process.env['HOSTWARD_EMBEDDED_HOST'] === '1';
    host = isEmbedded ? await startEmbedded(assets.found?.kubectl ?? '') : await startKube({ name: 'replicas' });
    replicas = new Replicas(host, await newNamespace(host));
    await replicas.start();
  }, 120_000);
  afterAll(async () => {
    await replicas.stop();
    await host.stop();
  });

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
  }, 60_000);

  it('answer 401 for a key that nobody made', async () => {
    const stranger = `mpk_${'0'.repeat(17)}_${'0'.repeat(49)}`;
    expect((await replicas.get(0, 'root', stranger)).status).toBe(401);
  });
});
