// Sessions at the ingress that Hostward serves, on a real kube-apiserver: exec and port-forward with a client certificate and with
// tokens, real kubectl at one end and the real streaming library at the other.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dump, load } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keysPath, until } from '../../management/server/bench.ts';
import { ownTime } from '../../own-time.ts';
import { kubeAssets } from '../start/assets.ts';
import { kubeletProgram } from '../start/kubelet.ts';
import { type Proxied, type Running, runProgram, startProxied } from './proxied.ts';

const found = kubeAssets();
const assets = found.found;
const kubelet = assets === undefined ? undefined : kubeletProgram(assets);
const reason = assets === undefined ? ` (skipped: ${found.reason})` : '';
const root = '/kubernetes/management/apis/management.platform/v1';
const protocols = {
  WebSocket: { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'true', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'true' },
  SPDY: { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' },
};
const sentBytes = 2 * 1024 * 1024;

interface Kubeconfig {
  clusters: { cluster: Record<string, string> }[];
  users: { user: Record<string, string> }[];
}

describe.skipIf(assets === undefined || kubelet === undefined)(`sessions at the ingress of Hostward${reason}`, () => {
  let proxied: Proxied;
  let folder: string;
  let count = 0;

  beforeAll(async () => {
    if (assets === undefined || kubelet === undefined) return;
    folder = mkdtempSync(join(tmpdir(), 'hostward-ingress-streams-'));
    proxied = await startProxied(assets, kubelet, { ingressListen: '127.0.0.1:0' });
    await proxied.giveRights({ project: 'shop', virtualCluster: 'v1' });
  }, 120_000);
  afterAll(async () => {
    await proxied?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }, 30_000);

  /** The kubeconfig as it was answered, except that no name server knows its address; TLS still proves the name. */
  async function kubeconfigFor(key: string, spec: object): Promise<Kubeconfig> {
    const path = `${root}/namespaces/p-shop/virtualclusterinstances/v1/kubeconfig`;
    const made = await proxied.bench.ask('POST', path, { key, body: { spec } });
    expect(made, made.text).toMatchObject({ code: 201 });
    const config = load(String(made.body['status']?.['kubeConfig'])) as Kubeconfig;
    const { ingressPort } = proxied.bench.api.status().certificates;
    const place = { server: `https://127.0.0.1:${ingressPort}`, 'tls-server-name': 'v1.example.com' };
    Object.assign(config.clusters[0]?.cluster ?? {}, place);
    return config;
  }

  const kubeconfigs = {
    'a client certificate': (key: string) => kubeconfigFor(key, { clientCert: true }),
    'the token of a kubeconfig': (key: string) => kubeconfigFor(key, {}),
    async 'a direct token'(key: string) {
      const config = await kubeconfigFor(key, {});
      const { body } = await proxied.bench.ask('POST', `${root}/directclusterendpointtokens`, { key, body: {} });
      return {
        ...config,
        users: config.users.map((user) => ({ ...user, user: { token: body['status']?.['token'] } })),
      };
    },
  };

  function kubectl(config: object, args: readonly string[], env: Record<string, string> = {}): Running {
    const file = join(folder, `${count++}.kubeconfig`);
    writeFileSync(file, dump(config), { mode: 0o600 });
    const program = assets?.kubectl ?? '';
    return runProgram(program, ['--kubeconfig', file, '--cache-dir', join(folder, 'cache'), ...args], env);
  }

  const cases = Object.entries(kubeconfigs).flatMap(([proof, make]) =>
    Object.entries(protocols).map(([protocol, env]) => ({ proof, protocol, make, env })),
  );

  it.each(cases)(
    'exec and port-forward with $proof over $protocol, and their end with the key',
    async (each) => {
      const name = `key-${count}`;
      const key = await proxied.bench.keyFor(name, { user: 'dora' });
      const config = await each.make(key);
      const echoed = kubectl(config, ['exec', '-i', 'web', '--', 'cat'], each.env);
      const text = randomBytes(50_000).toString('hex');
      echoed.child.stdin?.end(text);
      const { code, stdout, stderr } = await echoed.ended;
      expect({ code, stderr, isWhole: stdout === text }).toEqual({ code: 0, stderr: '', isWhole: true });

      const echo = await echoServer();
      const { port } = echo.address() as { port: number };
      const forward = kubectl(config, ['port-forward', 'pod/web', `:${port}`], each.env);
      await until(() => /127\.0\.0\.1:\d+/.test(forward.stdout()), 'the local port', 20_000);
      const local = Number(/127\.0\.0\.1:(\d+)/.exec(forward.stdout())?.[1]);
      const sent = randomBytes(sentBytes);
      expect((await backFrom(local, sent)).equals(sent)).toBe(true);

      const open = kubectl(config, ['exec', '-i', 'web', '--', 'cat'], each.env);
      open.child.stdin?.write('hello\n');
      await until(() => open.stdout() === 'hello\n', 'the echo', 20_000);
      const tookMs = ownTime();
      await proxied.bench.ask('DELETE', `${keysPath}/${name}`);
      await open.ended;
      expect(tookMs()).toBeLessThan(1_500);
      const after = await kubectl(config, ['get', 'pods']).ended;
      expect(after).toMatchObject({ code: 1, stderr: expect.stringMatching(/logged in|Unauthorized|deleted/) });
      forward.child.kill();
      await forward.ended;
      await new Promise((resolve) => echo.close(resolve));
    },
    60_000,
  );
});

async function echoServer(): Promise<Server> {
  const server = createServer((socket: Socket) => {
    socket.on('error', () => undefined);
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** As many bytes as were sent. */
function backFrom(port: number, sent: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const parts: Buffer[] = [];
    let length = 0;
    socket.on('data', (part: Buffer) => {
      parts.push(part);
      length += part.length;
      if (length < sent.length) return;
      socket.destroy();
      resolve(Buffer.concat(parts));
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`wanted ${sent.length} bytes, got ${length}`)));
    socket.write(sent);
  });
}
