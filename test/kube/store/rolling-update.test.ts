// Two versions side by side on one namespace, as during a rolling update: this one, and the last one that knew no seals.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newNamespace } from '../../contract/store/on-host.ts';
import { until } from '../../management/server/bench.ts';
import { kubeAssets } from '../start/assets.ts';
import { startKube } from '../start/start.ts';
import { type EmbeddedHost, startEmbedded } from './embedded-host.ts';
import { Replicas } from './replicas.ts';

const assets = kubeAssets();
const root = fileURLToPath(new URL('../../..', import.meta.url));
const git = (...words: string[]) =>
  spawnSync('git', ['-C', root, '-c', 'safe.directory=*', ...words], { encoding: 'utf8' }).stdout.trim();
/** Where seals stood when they came. */
const sealed = git('log', '--diff-filter=A', '--format=%H', '--', 'src/store/kubernetes/seals.ts');
const older = sealed === '' ? '' : git('rev-parse', '--verify', '--quiet', `${sealed.split('\n').at(-1)}^`);
const reason = assets.found === undefined ? assets.reason : older === '' ? 'no history' : undefined;

describe.skipIf(reason !== undefined)(
  `two versions of the program on one store${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  () => {
    let host: EmbeddedHost;
    let replicas: Replicas;
    let sources: string;
    let program: string;
    beforeAll(async () => {
      sources = mkdtempSync(join(tmpdir(), 'hostward-older-'));
      program = join(sources, 'src', 'main.ts');
      symlinkSync(join(root, 'node_modules'), join(sources, 'node_modules'));
      const archive = `git -C '${root}' -c safe.directory='*' archive ${older} src package.json | tar -x -C '${sources}'`;
      expect(spawnSync('sh', ['-c', archive]).status).toBe(0);
      const isEmbedded = process.env['HOSTWARD_EMBEDDED_HOST'] === '1';
      host = isEmbedded ? await startEmbedded(assets.found?.kubectl ?? '') : await startKube({ name: 'rolling' });
      replicas = new Replicas(host, await newNamespace(host));
      await replicas.start(['older', 'newer'], { older: program });
    }, 120_000);
    afterAll(async () => {
      await replicas?.stop();
      await host?.stop();
      rmSync(sources, { recursive: true, force: true });
    });

    const keyOf = async (at: number, name: string) => {
      const { status, json, text } = await replicas.create(at, name);
      if (status !== 201) throw new Error(`create ${name}: ${status} ${text}`);
      return (json as { spec: { key: string } }).spec.key;
    };
    const codes = (name: string, key: string) =>
      Promise.all([0, 1].map(async (at) => (await replicas.get(at, name, key)).status));

    it('let in what the other has made, and refuse what the other has revoked', async () => {
      for (const [at, other] of [
        [0, 1],
        [1, 0],
      ] as const) {
        const key = await keyOf(at, `of-${at}`);
        expect(await codes(`of-${at}`, key)).toEqual([200, 200]);
        const headers = { 'content-type': 'application/merge-patch+json' };
        const change = { body: { spec: { description: 'changed by the other' } }, headers };
        const path = `/kubernetes/management/apis/management.platform/v1/ownedaccesskeys/of-${at}`;
        expect((await replicas.client(other).request('PATCH', path, change)).status).toBe(200);
        expect((await replicas.get(at, `of-${at}`)).text).toContain('changed by the other');
        expect((await replicas.remove(other, `of-${at}`)).status).toBe(200);
        await until(async () => (await codes(`of-${at}`, key)).join() === '401,401', 'refused by both');
      }
    }, 60_000);

    it('write at the same time, and hold the same in the end', async () => {
      const writes = Array.from({ length: 40 }, async (_, n) => {
        expect((await replicas.create(n % 2, `many-${n}`)).status).toBe(201);
        if (n % 4 < 2) expect((await replicas.remove((n + 1) % 2, `many-${n}`)).status).toBe(200);
      });
      await Promise.all(writes);
      const path = '/kubernetes/management/apis/management.platform/v1/ownedaccesskeys';
      const namesOn = async (at: number) => {
        const { items } = (await replicas.client(at).request('GET', path)).json as { items: { metadata: object }[] };
        return items.map(({ metadata }) => [(metadata as { name: string }).name, (metadata as { uid: string }).uid]);
      };
      expect((await namesOn(0)).length).toBe(21);
      expect(await namesOn(0)).toEqual(await namesOn(1));
    }, 60_000);

    it('are followed by seals, when no older one runs, and then the older one does not start', async () => {
      const key = await keyOf(0, 'kept');
      await replicas.replica(1).end();
      const config = replicas.replica(1).configPath;
      await expect(replicas.hostward('store', 'seal', '--config', config)).rejects.toThrow(
        'runs, and what it writes from now on would have no seal',
      );
      await replicas.replica(0).end();
      expect(await replicas.hostward('store', 'seal', '--config', config)).toMatch(/^sealed \d+ records/);
      await replicas.replica(1).start();
      expect((await replicas.get(1, 'kept', key)).status).toBe(200);
      await expect(replicas.replica(0).start()).rejects.toThrow('a newer version has written it');
      expect(await replicas.replica(1).status()).toMatchObject({ management: { store: { isSealed: true, aside: 0 } } });
    }, 90_000);
  },
);
