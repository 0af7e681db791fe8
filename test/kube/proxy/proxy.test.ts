// The proxy in front of a real kube-apiserver: real kubectl at one end, the real streaming library at the other. The numbers are
// those of the proxy tests in the design's list.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiClient } from '../../contract/client.ts';
import { rawClient, requestText } from '../../management/proxy/upstream.ts';
import { keysPath, until } from '../../management/server/bench.ts';
import { ownTime } from '../../own-time.ts';
import { kubeAssets } from '../start/assets.ts';
import { kubeletProgram } from '../start/kubelet.ts';
import { type Proxied, proxyToken, startProxied } from './proxied.ts';
import { describeRoles } from './proxy-roles.ts';

const assets = kubeAssets().found;
const kubelet = assets === undefined ? undefined : kubeletProgram(assets);
const instance = 'project/shop/virtualcluster/v1';
const space = 'project/shop/space/s1';
const protocols = [
  ['WebSocket', { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'true', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'true' }],
  ['SPDY', { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' }],
] as const;

describe.skipIf(assets === undefined || kubelet === undefined)('the proxy before a real kube-apiserver', () => {
  let proxied: Proxied;
  let alice: string;
  let dora: string;
  beforeAll(async () => {
    if (assets === undefined || kubelet === undefined) return;
    proxied = await startProxied(assets, kubelet);
    alice = await proxied.bench.keyFor('alice-key', { user: 'alice' });
    dora = await proxied.bench.keyFor('dora-key', { user: 'dora' });
  }, 120_000);
  afterAll(() => proxied?.stop(), 30_000);

  it('says which command gives it the rights that it lacks, and has them at once afterwards', async () => {
    // Of a fault in discovery kubectl shows no more than its code.
    const before = await proxied.kubectl(alice, instance, 'create', 'configmap', 'early');
    expect(before.code).toBe(1);
    expect(before.stderr).toContain(
      'hostward upstream-rbac --instance shop/v1 --config FILE >rights.yaml && kubectl --kubeconfig ADMIN-THERE apply -f rights.yaml',
    );
    const missing = () => (proxied.bench.api.status() as { upstreams?: { missing: string[] }[] }).upstreams;
    await until(() => missing() !== undefined, 'the missing rights in the status');
    expect(missing()?.[0]?.missing).toContain('impersonate users hostward:user:alice');
    await proxied.giveRights({ project: 'shop', virtualCluster: 'v1' });
    await proxied.giveRights({ cluster: 'c1' });
    const endMs = performance.now() + 10_000;
    let after = before;
    while (after.code !== 0 && performance.now() < endMs) after = await proxied.kubectl(alice, instance, 'get', 'pods');
    expect(after.stdout).toMatch(/^NAME .*\nweb /);
    await proxied.bench.api.apply(proxied.settings);
    await until(() => missing() === undefined, 'a status without missing rights');
  }, 30_000);

  it('may impersonate the names of the configuration and no other', async () => {
    const { cluster } = proxied;
    const ask = async (headers: Record<string, string>) => {
      const client = new ApiClient({ url: cluster.url, caPem: cluster.caPem, token: proxyToken });
      const answer = await client.request('GET', '/api/v1/namespaces/default/pods', { headers });
      await client.close();
      return answer.status;
    };
    const alice = { 'impersonate-user': 'hostward:user:alice' };
    expect(await ask({ ...alice, 'impersonate-group': 'hostward:project:shop:user' })).toBe(200);
    for (const user of [
      'admin',
      'system:kube-controller-manager',
      'system:admin',
      'hostward:user:eve',
      'system:serviceaccount:kube-system:default',
      'system:node:node',
    ])
      expect(`${user} ${await ask({ 'impersonate-user': user })}`).toBe(`${user} 403`);
    for (const group of ['system:masters', 'system:nodes', 'hostward:project:bank:admin', 'hostward:group:x'])
      expect(`${group} ${await ask({ ...alice, 'impersonate-group': group })}`).toBe(`${group} 403`);
    expect(await ask({ ...alice, 'impersonate-uid': '1' })).toBe(403);
    expect(await ask({ ...alice, 'impersonate-extra-scopes': 'x' })).toBe(403);
    expect(await ask({})).toBe(403);
  });

  it('get, create, apply, patch and delete, and each caller under the own name and role', async () => {
    const made = await proxied.kubectl(alice, instance, 'create', 'configmap', 'one', '--from-literal=a=b');
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect((await proxied.kubectl(alice, instance, 'get', 'configmap', 'one', '-o', 'jsonpath={.data.a}')).stdout).toBe(
      'b',
    );
    const patched = await proxied.kubectl(alice, instance, 'annotate', 'configmap', 'one', 'x=y');
    expect(patched.stdout).toContain('annotated');
    expect((await proxied.kubectl(alice, instance, 'delete', 'configmap', 'one')).code).toBe(0);
    expect((await proxied.kubectl(alice, instance, 'auth', 'whoami')).stdout).toMatch(
      /hostward:user:alice[\s\S]*hostward:project:shop:user/,
    );
    expect((await proxied.kubectl(alice, instance, 'get', 'nodes')).stderr).toMatch(
      /"hostward:user:alice" cannot list resource "nodes"/,
    );
    expect((await proxied.kubectl(dora, instance, 'get', 'nodes')).stdout).toMatch(/node /);
    expect((await proxied.kubectl(alice, space, '-n', 'shop-s1', 'create', 'configmap', 'two')).code).toBe(0);
    expect((await proxied.kubectl(alice, space, 'get', 'pods')).stderr).toContain('Forbidden');
    const bob = await proxied.bench.keyFor('bob-key', { user: 'bob' });
    expect((await proxied.kubectl(bob, instance, 'get', 'pods')).stderr).toContain('Forbidden');
  }, 60_000);

  it('kubectl --as is refused for everybody', async () => {
    for (const key of [alice, proxied.bench.admin])
      expect((await proxied.kubectl(key, instance, '--as', 'admin', 'get', 'pods')).stderr).toContain('Forbidden');
  });

  it('kubectl auth can-i tells the truth', async () => {
    const mayI = async (key: string, ...args: string[]) =>
      (await proxied.kubectl(key, instance, 'auth', 'can-i', ...args)).stdout.trim();
    expect(await mayI(alice, 'get', 'pods')).toBe('yes');
    expect(await mayI(alice, 'list', 'nodes')).toBe('no');
    const scope = {
      rules: [{ verbs: ['get', 'list', 'watch'], resources: [{ group: '', resources: ['pods', 'pods/exec'] }] }],
    };
    const reader = await proxied.bench.keyFor('reader', { user: 'alice', scope });
    expect(await mayI(reader, 'get', 'pods')).toBe('yes');
    expect(await mayI(reader, 'create', 'pods')).toMatch(/^no/);
    expect((await proxied.kubectl(reader, instance, 'get', 'configmaps')).stderr).toContain('Forbidden');
    const list = await proxied.kubectl(reader, instance, 'auth', 'can-i', '--list');
    expect(list.stderr + list.stdout).toMatch(/incomplete|may narrow/i);
    // 18: an exec counts as create, whatever opens it.
    for (const [, env] of protocols) {
      const exec = await proxied.start(reader, instance, ['exec', 'web', '--', 'true'], env).ended;
      expect(exec.stderr).toMatch(/Forbidden|forbidden/);
    }
  }, 60_000);

  it('an event of a watch is there within 100 ms of its write', async () => {
    const watch = await proxied.bench.follow(
      `/kubernetes/${instance}/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=0`,
      alice,
    );
    await proxied.cluster.kubectl('create', 'configmap', 'watched');
    const direct = await proxied.bench.follow(
      `/kubernetes/${instance}/api/v1/namespaces/default/configmaps?watch=true`,
      alice,
    );
    await until(
      () => watch.events.some((event) => String(event['object']?.['metadata']?.['name']) === 'watched'),
      'the event',
    );
    const path = `/kubernetes/${instance}/api/v1/namespaces/default/configmaps/watched`;
    const count = watch.events.length;
    const patch = proxied.bench.ask('PATCH', path, {
      key: alice,
      type: 'application/merge-patch+json',
      body: { data: { a: 'b' } },
    });
    await patch;
    const tookMs = ownTime();
    await until(() => watch.events.length > count, 'the change');
    expect(tookMs()).toBeLessThan(100);
    watch.stop();
    direct.stop();
  }, 30_000);

  it('kubectl get --watch and logs -f show what comes while it comes', async () => {
    const logs = proxied.start(alice, instance, ['logs', '-f', 'web']);
    await until(() => logs.stdout().includes('line 5'), `the fifth line: ${logs.stderr()}`);
    logs.child.kill();
    expect((await proxied.kubectl(alice, instance, 'logs', 'web')).stdout).toBe('line 1\nline 2\nline 3\n');
    const watch = proxied.start(alice, instance, ['get', 'configmaps', '--watch', '-o', 'name']);
    await until(() => watch.stdout().includes('watched'), 'the list');
    await proxied.cluster.kubectl('create', 'configmap', 'seen-later');
    await until(() => watch.stdout().includes('seen-later'), 'the new one');
    watch.child.kill();
  }, 30_000);

  for (const [name, env] of protocols) {
    it(`exec and attach over ${name}`, async () => {
      const text = randomBytes(200_000).toString('hex');
      const exec = proxied.start(alice, instance, ['exec', '-i', 'web', '--', 'cat'], env);
      exec.child.stdin?.end(text);
      const echoed = await exec.ended;
      expect(echoed).toMatchObject({ code: 0, stderr: '' });
      expect(echoed.stdout === text).toBe(true);
      const failed = await proxied.start(
        alice,
        instance,
        ['exec', 'web', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7'],
        env,
      ).ended;
      expect(failed.stdout).toBe('out\n');
      expect(failed.stderr).toContain('err\n');
      const attach = proxied.start(alice, instance, ['attach', '-i', 'web'], env);
      attach.child.stdin?.write('hello\n');
      await until(() => attach.stdout().includes('hello'), `the echo: ${attach.stderr()}`);
      attach.child.stdin?.end();
      await attach.ended;
    }, 60_000);

    it(`port-forward over ${name}, 10 MiB each way`, async () => {
      const echo = await echoServer();
      const { port } = echo.address() as { port: number };
      const forward = proxied.start(alice, instance, ['port-forward', 'pod/web', `:${port}`], env);
      await until(() => /127\.0\.0\.1:\d+/.test(forward.stdout()), `the local port: ${forward.stderr()}`);
      const local = Number(/127\.0\.0\.1:(\d+)/.exec(forward.stdout())?.[1]);
      const sent = randomBytes(10 * 1024 * 1024);
      const socket = connect(local, '127.0.0.1');
      const parts: Buffer[] = [];
      let length = 0;
      socket.on('data', (part: Buffer) => {
        parts.push(part);
        length += part.length;
      });
      socket.write(sent);
      await until(() => length >= sent.length, 'the echo', 30_000);
      expect(Buffer.concat(parts).equals(sent)).toBe(true);
      socket.destroy();
      forward.child.kill();
      await forward.ended;
      await new Promise((resolve) => echo.close(resolve));
    }, 60_000);
  }

  it('kubectl really speaks both protocols in these tests', async () => {
    const upgraded: (string | undefined)[] = [];
    for (const [, env] of protocols) {
      const exec = await proxied.start(alice, instance, ['-v=9', 'exec', 'web', '--', 'true'], env).ended;
      upgraded.push(/Upgrade: ?\[?"?(websocket|SPDY\/3\.1)/i.exec(exec.stderr)?.[1] ?? exec.stderr);
    }
    expect(upgraded).toEqual(['websocket', 'SPDY/3.1']);
  });

  it('the refusal of an exec is passed on, and nothing behind it is run (CVE-2018-1002105)', async () => {
    // A member of the cluster whom nobody there has given a right.
    const path = '/kubernetes/cluster/c1/api/v1/namespaces/default/pods/web/exec?command=id&stdout=true';
    const client = await rawClient(proxied.bench);
    const upgrade = [
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA==',
      'Sec-WebSocket-Protocol: v5.channel.k8s.io',
    ];
    const first = requestText(`GET ${path} HTTP/1.1`, [`Authorization: Bearer ${alice}`, ...upgrade]);
    client.write(first + requestText('DELETE /api/v1/namespaces/default/configmaps/seen-later HTTP/1.1', []));
    await client.closed;
    expect(client.text()).toMatch(/^HTTP\/1.1 403 [\s\S]*hostward:user:alice/);
    expect(client.text().match(/HTTP\/1.1/g)).toHaveLength(1);
    expect((await proxied.cluster.kubectl('get', 'configmap', 'seen-later')).code).toBe(0);
  });

  it('a key that dies ends its watch, log and sessions within a second, and the audit log has their bytes', async () => {
    const key = await proxied.bench.keyFor('short-lived', { user: 'alice' });
    const [[, websocket], [, spdy]] = protocols;
    const sessions = [
      proxied.start(key, instance, ['exec', '-i', 'web', '--', 'cat'], websocket),
      proxied.start(key, instance, ['exec', '-i', 'web', '--', 'cat'], spdy),
    ];
    for (const session of sessions) session.child.stdin?.write('hi\n');
    for (const session of sessions) await until(() => session.stdout() === 'hi\n', `the echo: ${session.stderr()}`);
    const logs = proxied.start(key, instance, ['logs', '-f', 'web']);
    const forwarded = proxied.start(key, instance, ['port-forward', 'pod/web', `:80`], websocket);
    const pods = proxied.start(key, instance, ['get', 'pods', '-w']);
    await until(() => logs.stdout().includes('line 2'), 'the log');
    await until(() => pods.stdout().includes('web'), 'the list of pods');
    await until(() => forwarded.stdout().includes('127.0.0.1'), 'the local port');
    const watch = await proxied.bench.follow(
      `/kubernetes/${instance}/api/v1/namespaces/default/configmaps?watch=true`,
      key,
    );
    const tookMs = ownTime();
    await proxied.bench.ask('DELETE', `${keysPath}/short-lived`);
    await watch.ended;
    await Promise.all([...sessions, logs, forwarded, pods].map(({ ended }) => ended));
    // Of a tunnel's reason kubectl says nothing.
    const told = 'the access key was deleted';
    for (const { ended } of sessions)
      expect(await ended).toMatchObject({ code: 1, stdout: 'hi\n', stderr: `error: ${told}\n` });
    expect(await logs.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('unexpected EOF') });
    expect(await forwarded.ended).toMatchObject({ code: 1, stderr: 'error: lost connection to pod\n' });
    expect((await pods.ended).stdout).toContain(told);
    expect(tookMs()).toBeLessThan(1_500);
    expect(watch.events.at(-1)).toMatchObject({ type: 'ERROR', object: { code: 401 } });
    const ends = () =>
      readFileSync(join(proxied.bench.folder, 'audit.log'), 'utf8').match(/"stage":"streamEnd"[^\n]*key was deleted/g);
    await until(() => (ends()?.length ?? 0) >= 2, 'the audit lines');
  }, 30_000);

  describeRoles(() => proxied);
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
