// A virtual cluster that Hostward serves (`servedBy: hostward`) in front of a real kube-apiserver: kubectl with a key and with a client
// certificate of our own CA, and the end of both when the access key dies, on kept connections, resumed sessions and open watches too.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { load } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ManagementSettings } from '../../../src/config/settings/management-settings.ts';
import { subjectNamed, upstreamObjects } from '../../../src/management/proxy/upstream-roles.ts';
import { type Bench, keysPath, openBench, people, until } from '../../management/server/bench.ts';
import { ownTime } from '../../own-time.ts';
import { kubeAssets } from '../start/assets.ts';
import { type KubeCluster, startKube } from '../start/start.ts';

const assets = kubeAssets();
const reason = assets.found === undefined ? ` (skipped: ${assets.reason})` : '';
const root = '/kubernetes/management/apis/management.platform/v1/namespaces/p-shop/virtualclusterinstances';
let cluster: KubeCluster;
let bench: Bench;
let count = 0;

const ingressPort = () => bench.api.status().certificates.ingressPort ?? 0;

interface Fetched {
  file: string;
  text: string;
  /** What a TLS client needs. */
  tls: { ca: string; cert?: string; key?: string; servername: string; port: number; host: string };
}

async function fetched(instance: string, key: string, spec: object): Promise<Fetched> {
  const made = await bench.ask('POST', `${root}/${instance}/kubeconfig`, { key, body: { spec } });
  expect(made, made.text).toMatchObject({ code: 201 });
  const text = String(made.body['status']?.['kubeConfig']).replace(/:443\b|(?<=example\.com)$/m, '');
  const config = load(text) as {
    clusters: { cluster: Record<string, string> }[];
    users: { user: Record<string, string> }[];
  };
  // The test has no name server: the address is ours, and TLS still proves the name.
  const [entry] = config.clusters;
  const servername = new URL(entry?.cluster['server'] ?? '').hostname;
  Object.assign(entry?.cluster ?? {}, {
    server: `https://127.0.0.1:${ingressPort()}`,
    'tls-server-name': servername,
  });
  const file = join(cluster.folder, `ingress-${count++}.kubeconfig`);
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  const decode = (value: string | undefined) => Buffer.from(value ?? '', 'base64').toString('utf8');
  const user = config.users[0]?.user ?? {};
  const proof =
    user['client-key-data'] === undefined
      ? {}
      : { cert: decode(user['client-certificate-data']), key: decode(user['client-key-data']) };
  const ca = decode(entry?.cluster['certificate-authority-data']);
  return { file, text, tls: { ca, ...proof, servername, port: ingressPort(), host: '127.0.0.1' } };
}

const kubectl = ({ file }: Fetched, ...args: string[]) => cluster.kubectl('--kubeconfig', file, ...args);

function codeOf(tls: Fetched['tls'], agent: Agent | false, headers: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ ...tls, path: '/api/v1/namespaces', agent: agent as Agent, headers }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject);
    sent.end();
  });
}

describe.skipIf(assets.found === undefined)(`the ingress that Hostward serves${reason}`, () => {
  beforeAll(async () => {
    cluster = await startKube({ name: 'ingress', users: [{ token: 'hostward-token', user: 'hostward' }] });
    const own = join(cluster.folder, 'hostward.kubeconfig');
    writeFileSync(own, cluster.kubeconfigFor({ token: 'hostward-token' }));
    const instance = (name: string) => ({
      name,
      kubeconfig: own,
      ingress: { server: `https://${name}.example.com`, servedBy: 'hostward' as const },
      clientCert: { clusterRole: 'cluster-admin', maxTTL: 0 },
    });
    const settings: ManagementSettings = {
      ...people,
      projects: [
        {
          name: 'shop',
          members: [{ user: 'alice', role: 'admin' }],
          virtualClusters: [
            instance('v1'),
            instance('v2'),
            {
              ...instance('proxied'),
              ingress: { server: 'https://proxied.example.com', servedBy: 'virtualCluster' },
            },
          ],
          spaces: [],
        },
      ],
    };
    const items = upstreamObjects(settings, { project: 'shop', virtualCluster: 'v1' }, subjectNamed('hostward'));
    const rights = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    expect(await cluster.kubectlWith(rights, 'create', '-f', '-')).toMatchObject({ code: 0 });
    bench = await openBench({ ingressListen: '127.0.0.1:0', settings });
  }, 120_000);
  afterAll(async () => {
    await bench?.stop();
    await cluster?.stop();
  });

  it.each([
    ['a token', {}],
    ['a client certificate', { clientCert: true }],
  ])('works with %s, and refuses it when the key dies', async (what, spec) => {
    const name = what.includes('token') ? 'by-token' : 'by-certificate';
    const key = await bench.keyFor(name, { user: 'alice' });
    const made = await fetched('v1', key, spec);
    expect(made.text).toContain('server: https://v1.example.com\n');
    expect(await kubectl(made, 'get', 'ns', '-o', 'name')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('namespace/default'),
    });
    expect((await kubectl(made, 'auth', 'whoami')).stdout).toMatch(/hostward:user:alice/);
    await bench.ask('DELETE', `${keysPath}/${name}`);
    const refused = await kubectl(made, 'get', 'ns');
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/must be logged in|Unauthorized/) });
  });

  it('makes no signing request and no binding in the virtual cluster', async () => {
    const key = await bench.keyFor('quiet', { user: 'alice' });
    await fetched('v1', key, { clientCert: true });
    expect((await cluster.kubectl('get', 'csr', '-o', 'name')).stdout).toBe('');
    expect((await cluster.kubectl('get', 'clusterrolebindings', '-l', 'hostward.dev/issue', '-o', 'name')).stdout).toBe(
      '',
    );
  });

  // OpenSSL does not tell the server name of a resumed session of TLS 1.2.
  it.each([
    ['kept-2', 'TLSv1.2'],
    ['kept-3', 'TLSv1.3'],
  ] as const)(
    'looks at the key at every request of a kept connection and of a resumed session: %s',
    async (name, version) => {
      const key = await bench.keyFor(name, { user: 'alice' });
      const made = await fetched('v1', key, { clientCert: true });
      const tls = { ...made.tls, maxVersion: version };
      const kept = new Agent({ keepAlive: true, maxSockets: 1 });
      let session: Buffer | undefined;
      const sockets = new Set<unknown>();
      kept.on('free', (socket: TLSSocket) => {
        sockets.add(socket);
        socket.on('session', (ticket: Buffer) => {
          session = ticket;
        });
      });
      expect([await codeOf(tls, kept), await codeOf(tls, kept)]).toEqual([200, 200]);
      expect(sockets.size).toBe(1);
      session ??= await ticketOf(tls);
      const resumed = async () => {
        const socket = connect({ ...tls, session });
        await once(socket, 'secureConnect');
        const isReused = socket.isSessionReused();
        socket.write(`GET /api/v1/namespaces HTTP/1.1\r\nHost: ${tls.servername}\r\nConnection: close\r\n\r\n`);
        const [first] = (await once(socket, 'data')) as [Buffer];
        socket.destroy();
        return { isReused, code: Number(first.toString().split(' ')[1]) };
      };
      expect(await resumed()).toEqual({ isReused: true, code: 200 });
      await bench.ask('PATCH', `${keysPath}/${name}`, {
        body: { spec: { disabled: true } },
        type: 'application/merge-patch+json',
      });
      expect(await codeOf(tls, kept)).toBe(401);
      expect(sockets.size).toBe(1);
      expect(await resumed()).toMatchObject({ code: 401 });
      kept.destroy();
    },
  );

  it('closes an open watch within a second', async () => {
    const key = await bench.keyFor('watched', { user: 'alice' });
    const made = await fetched('v1', key, { clientCert: true });
    const watch = request({ ...made.tls, path: '/api/v1/namespaces?watch=true', agent: false });
    watch.end();
    const [response] = (await once(watch, 'response')) as [NodeJS.ReadableStream];
    await once(response, 'data');
    const closed = new Promise<void>((resolve) => {
      response.resume();
      response.on('close', resolve);
      response.on('error', () => undefined);
    });
    const tookMs = ownTime();
    await bench.ask('DELETE', `${keysPath}/watched`);
    await closed;
    expect(tookMs()).toBeLessThan(1_000);
  });

  it('takes a certificate at its own virtual cluster only, and never at the API server behind', async () => {
    const key = await bench.keyFor('narrow', { user: 'alice' });
    const { tls } = await fetched('v1', key, { clientCert: true });
    expect(await codeOf({ ...tls, servername: 'v2.example.com' }, false)).toBe(401);
    await expect(codeOf({ ...tls, servername: 'v3.example.com' }, false)).rejects.toThrow();
    const behind = new URL(cluster.url);
    const direct = { ...tls, ca: cluster.caPem, servername: 'kubernetes', port: Number(behind.port) };
    expect(await codeOf(direct, false)).toBe(401);
    const both = { authorization: `Bearer ${key}` };
    expect(await codeOf(tls, false, both)).toBe(400);
    const foreign = await cluster.clientCertificate('hostward:user:alice', ['system:masters']);
    expect(await codeOf({ ...tls, cert: foreign.certificatePem, key: foreign.keyPem }, false)).toBe(401);
    const { cert: _cert, key: _key, ...bare } = tls;
    expect(await codeOf(bare, false)).toBe(401);
    expect(await codeOf(bare, false, { authorization: `Bearer ${key}` })).toBe(200);
  });

  it('is the same after a restart', async () => {
    const key = await bench.keyFor('lasting', { user: 'alice' });
    const { tls } = await fetched('v1', key, { clientCert: true });
    await bench.restart();
    expect(await codeOf({ ...tls, port: ingressPort() }, false)).toBe(200);
    await bench.ask('DELETE', `${keysPath}/lasting`);
    expect(await codeOf({ ...tls, port: ingressPort() }, false)).toBe(401);
    await until(() => bench.api.status().certificates.removalsWaiting.length === 0, 'the end of the record');
  });

  it('lets kubectl run the command as its plugin, under an allow list', async () => {
    const key = await bench.keyFor('plugin', { user: 'alice' });
    const folder = join(cluster.folder, 'plugin');
    mkdirSync(join(folder, 'bin'), { recursive: true });
    const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
    const command = join(folder, 'bin', 'hostward');
    writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
    chmodSync(command, 0o755);
    writeFileSync(join(folder, 'my.key'), key, { mode: 0o600 });
    writeFileSync(join(folder, 'ca.crt'), bench.api.caPem);
    const kuberc = (name: string) => {
      const file = join(folder, `kuberc-${name}`);
      const preference = { apiVersion: 'kubectl.config.k8s.io/v1beta1', kind: 'Preference' };
      const list = { credentialPluginPolicy: 'Allowlist', credentialPluginAllowlist: [{ command: name }] };
      writeFileSync(file, JSON.stringify({ ...preference, ...list }));
      return file;
    };
    const env = { PATH: `${join(folder, 'bin')}:/usr/bin:/bin`, HOME: folder };
    const proxied = `https://localhost:${bench.api.port}/kubernetes/project/shop/virtualcluster/proxied`;
    const server = ['--server', `https://localhost:${bench.api.port}`, '--certificate-authority', 'ca.crt'];
    const made = await run(command, folder, env, [
      ...['kubeconfig', 'shop/proxied', '--exec', '--key-file', 'my.key', '--api-server', proxied],
      ...server,
    ]);
    expect(made).toMatchObject({ code: 0 });
    writeFileSync(join(folder, 'config'), made.out);
    const get = (allowed: string) =>
      run(assets.found?.kubectl ?? '', '/', { ...env, KUBERC: kuberc(allowed) }, [
        ...['--kubeconfig', join(folder, 'config'), 'get', 'ns', '-o', 'name'],
      ]);
    expect(await get('hostward')).toMatchObject({ code: 0, out: expect.stringContaining('namespace/default') });
    expect(await get('hostward')).toMatchObject({ code: 0 });
    expect(await get('other')).toMatchObject({
      code: 1,
      err: expect.stringContaining('not permitted by the credential plugin allowlist'),
    });
    const items = (await bench.ask('GET', keysPath)).body['items'] as unknown as { metadata: { name: string } }[];
    expect(items.filter(({ metadata }) => metadata.name.startsWith('kubeconfig-shop-proxied-'))).toHaveLength(1);
  }, 60_000);
});

async function ticketOf(tls: Fetched['tls']): Promise<Buffer> {
  const socket = connect(tls);
  const [ticket] = (await once(socket, 'session')) as [Buffer];
  socket.destroy();
  return ticket;
}

async function run(program: string, cwd: string, env: Record<string, string>, args: readonly string[]) {
  const child = spawn(program, args, { cwd, env });
  let [out, err] = ['', ''];
  child.stdout.on('data', (part) => {
    out += part;
  });
  child.stderr.on('data', (part) => {
    err += part;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
}
