// Two replicas whose clocks are half a minute apart. They run in the process of the test, because only there the clock can be another.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/clock.ts';
import { silentLog } from '../../../src/log.ts';
import { ManagementApi } from '../../../src/management/server/server.ts';
import { ApiClient } from '../../contract/client.ts';
import { newNamespace } from '../../contract/store/on-host.ts';
import { keysPath, people } from '../../management/server/bench.ts';
import { kubeAssets } from '../start/assets.ts';
import { startKube } from '../start/start.ts';
import { type EmbeddedHost, startEmbedded } from './embedded-host.ts';

const assets = kubeAssets();
const apartMs = 30_000;
const ahead: Clock = { ...systemClock, wallTime: () => new Date(Date.now() + apartMs) };
const tokensPath = '/kubernetes/management/apis/management.platform/v1/directclusterendpointtokens';

describe.skipIf(assets.found === undefined)('two replicas whose clocks are half a minute apart', () => {
  let folder: string;
  let host: EmbeddedHost;
  const apis: ManagementApi[] = [];
  let admin: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'hostward-clocks-'));
    const isEmbedded = process.env['HOSTWARD_EMBEDDED_HOST'] === '1';
    host = isEmbedded ? await startEmbedded(assets.found?.kubectl ?? '') : await startKube({ name: 'clocks' });
    const kubernetes = { kubeconfig: host.kubeconfigPath, namespace: await newNamespace(host) };
    const common = { listen: '127.0.0.1:0', baseURL: 'https://localhost', ingressListen: undefined };
    const store = { kubernetes, maxRecords: 1_000, maxBytes: 1_000_000 };
    for (const [name, clock] of [
      ['ahead', ahead],
      ['right', systemClock],
    ] as const) {
      const server = { ...common, dataDir: join(folder, name), secretsDir: join(folder, 'secrets'), store };
      const api = new ManagementApi({ settings: people, server, clock, log: silentLog, version: '0.1.0' });
      await api.open();
      apis.push(api);
      await api.serve();
    }
    const made = await (apis[1] as ManagementApi).createKey({ metadata: { name: 'root' }, spec: { user: 'admin' } });
    admin = (made['spec'] as { key: string }).key;
  }, 120_000);
  afterAll(async () => {
    for (const api of apis) await api.close();
    await host?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const client = (at: number, token = admin) => {
    const { port, caPem } = apis[at] as ManagementApi;
    return new ApiClient({ url: `https://localhost:${port}`, caPem, token });
  };
  const keyOf = async (at: number, name: string, spec: object = {}) => {
    const body = { metadata: { name }, spec: { user: 'alice', ...spec } };
    const { status, json, text } = await client(at).request('POST', keysPath, { body });
    if (status !== 201) throw new Error(`create ${name}: ${status} ${text}`);
    return (json as { spec: { key: string } }).spec.key;
  };
  const codes = (name: string, key: string) =>
    Promise.all([0, 1].map(async (at) => (await client(at, key).request('GET', `${keysPath}/${name}`)).status));

  it('let in what the other has made, and refuse at once what the other has revoked', async () => {
    for (const at of [0, 1]) {
      const key = await keyOf(at, `made-${at}`);
      expect(await codes(`made-${at}`, key)).toEqual([200, 200]);
      expect((await client(1 - at).request('DELETE', `${keysPath}/made-${at}`)).status).toBe(200);
      await expect.poll(() => codes(`made-${at}`, key)).toEqual([401, 401]);
    }
  });

  it('take the direct tokens of the other', async () => {
    for (const at of [0, 1]) {
      const key = await keyOf(at, `token-${at}`);
      const made = await client(at, key).request('POST', tokensPath, { body: { spec: {} } });
      const { token } = (made.json as { status: { token: string } }).status;
      // The cluster is not reachable; who is not let in is told 401.
      const { status, text } = await client(1 - at, token).request('GET', '/kubernetes/cluster/c1/api/v1/pods');
      expect([status === 401, text]).toEqual([false, expect.any(String)]);
    }
  });

  it('agree on the end of a key but for the difference of the clocks', async () => {
    // Seen from the clock that is ahead, this one is over before the other replica says so; and it stays over.
    const early = await keyOf(1, 'early', { ttl: 20 });
    expect(await codes('early', early)).toEqual([401, 200]);
    const late = await keyOf(0, 'late', { ttl: 20 });
    expect(await codes('late', late)).toEqual([200, 200]);
  });

  it('do not refuse a key as idle that the other has just seen', async () => {
    const key = await keyOf(1, 'idle', { ttl: 40, ttlAfterLastActivity: true });
    for (let n = 0; n < 3; n++) expect((await client(1, key).request('GET', `${keysPath}/idle`)).status).toBe(200);
    expect(await codes('idle', key)).toEqual([200, 200]);
  });

  it('show every watch of either the same changes in one order', async () => {
    const ofBob = `${keysPath}?fieldSelector=spec.user%3Dbob`;
    const streams = await Promise.all(
      [0, 1].map(async (at) => {
        const { json } = await client(at).request('GET', ofBob);
        const { resourceVersion } = (json as { metadata: { resourceVersion: string } }).metadata;
        return client(at).watch(`${ofBob}&watch=true&resourceVersion=${resourceVersion}`);
      }),
    );
    const seen: string[][] = [[], []];
    for (let n = 0; n < 10; n++) await keyOf(n % 2, `watched-${n}`, { user: 'bob' });
    for (const [at, stream] of streams.entries()) {
      if (!('next' in stream)) throw new Error(`watch: ${stream.status}`);
      while ((seen[at]?.length ?? 0) < 10) {
        const line = await stream.next();
        if (line?.type === 'ADDED') seen[at]?.push((line.object as { metadata: { name: string } }).metadata.name);
      }
      stream.close();
    }
    expect(seen[0]).toEqual(Array.from({ length: 10 }, (_, n) => `watched-${n}`));
    expect(seen[1]).toEqual(seen[0]);
  });
});
