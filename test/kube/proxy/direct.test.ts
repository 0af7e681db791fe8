// A direct endpoint beside a real kube-apiserver: real kubectl with a direct token at one end, the real streaming library at the other.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../../src/cli/demo/free-ports.ts';
import { systemClock } from '../../../src/clock.ts';
import { silentLog } from '../../../src/log.ts';
import { DirectEndpoint } from '../../../src/management/proxy/direct/direct-endpoint.ts';
import { type Bench, keysPath, until } from '../../management/server/bench.ts';
import { ownTime } from '../../own-time.ts';
import { kubeAssets } from '../start/assets.ts';
import { kubeletProgram } from '../start/kubelet.ts';
import { type Proxied, startProxied } from './proxied.ts';

const assets = kubeAssets().found;
const kubelet = assets === undefined ? undefined : kubeletProgram(assets);
const tokensPath = '/kubernetes/management/apis/management.platform/v1/directclusterendpointtokens';

describe.skipIf(assets === undefined || kubelet === undefined)('a direct endpoint beside a real kube-apiserver', () => {
  let proxied: Proxied;
  let endpoint: DirectEndpoint;
  /** Where kubectl goes, in the form that it is told of a management server. */
  let there: Bench;
  let folder: string;

  beforeAll(async () => {
    if (assets === undefined || kubelet === undefined) return;
    const port = await freePort();
    proxied = await startProxied(assets, kubelet, { port });
    const { bench, settings } = proxied;
    await proxied.giveRights({ cluster: 'c1' });
    // Members of the cluster get their rights from its own RBAC, like every user of the cluster.
    const admin = ['create', 'clusterrolebinding', 'alice', '--clusterrole=admin', '--user=hostward:user:alice'];
    expect((await proxied.cluster.kubectl(...admin)).code).toBe(0);
    folder = mkdtempSync(join(tmpdir(), 'hostward-direct-kube-'));
    const [keyFile, certificateAuthority] = [join(folder, 'agent.key'), join(folder, 'ca.crt')];
    writeFileSync(keyFile, await bench.keyFor('agent', { user: 'admin', scope: { roles: [{ role: 'agent' }] } }));
    writeFileSync(certificateAuthority, bench.api.caPem);
    endpoint = new DirectEndpoint({
      settings: {
        ...{ listen: '127.0.0.1:0', cluster: 'c1', platform: `https://localhost:${port}`, silence: 30 },
        ...{ kubeconfig: settings.clusters[0]?.kubeconfig ?? '', keyFile, certificateAuthority },
        ...{ spaces: [{ project: 'shop', name: 's1', namespace: 'shop-s1' }], dataDir: join(folder, 'data') },
      },
      environment: {},
      clock: systemClock,
      log: silentLog,
      failedLogin: () => undefined,
    });
    await endpoint.start();
    await until(() => endpoint.trouble === undefined, 'the revocations');
    there = { api: { port: endpoint.port, caPem: endpoint.caPem } } as Bench;
  }, 120_000);
  afterAll(async () => {
    await endpoint?.stop();
    await proxied?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }, 30_000);

  async function tokenFor(name: string): Promise<string> {
    const key = await proxied.bench.keyFor(name, { user: 'alice' });
    const { body } = await proxied.bench.ask('POST', tokensPath, { key, body: {} });
    return String(body['status']?.['token']);
  }

  it('kubectl reads, writes and runs commands there with a token', async () => {
    const token = await tokenFor('reads');
    const kubectl = (...args: string[]) => proxied.start(token, 'cluster/c1', args, {}, there).ended;
    expect((await kubectl('get', 'pods')).stdout).toMatch(/^NAME .*\nweb /);
    expect((await kubectl('create', 'configmap', 'by-token')).stdout).toContain('created');
    expect((await kubectl('auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}')).stdout).toBe(
      'hostward:user:alice',
    );
    expect((await kubectl('exec', 'web', '--', 'echo', 'hello')).stdout).toContain('hello');
    expect((await kubectl('get', 'pods', '--as', 'root')).stderr).toContain('acts for its own callers only');
  }, 60_000);

  it('a watch and a session end within a second of their key, and kubectl is told why', async () => {
    const token = await tokenFor('ends');
    const watch = proxied.start(token, 'cluster/c1', ['get', 'pods', '--watch'], {}, there);
    const session = proxied.start(token, 'cluster/c1', ['exec', '-i', 'web', '--', 'cat'], {}, there);
    session.child.stdin?.write('hello\n');
    await until(() => watch.stdout().includes('web') && session.stdout().includes('hello'), 'both to begin', 20_000);
    const tookMs = ownTime();
    await proxied.bench.ask('DELETE', `${keysPath}/ends`);
    await session.ended;
    expect(tookMs()).toBeLessThan(2_000);
    const after = await proxied.start(token, 'cluster/c1', ['get', 'pods'], {}, there).ended;
    expect(after.code).toBe(1);
    expect(after.stderr).toMatch(/create a new token|logged in|Unauthorized/);
    watch.child.kill('SIGKILL');
    await watch.ended;
  }, 60_000);
});
