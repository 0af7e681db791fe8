// The black box between two real API servers, as its users run it: as a process, with our daemon, with nobody, and with what they get wrong.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../../src/cli/demo/free-ports.ts';
import { ApiClient } from '../../contract/client.ts';
import { kubeAssets } from '../../kube/start/assets.ts';
import { type KubeCluster, startKube } from '../../kube/start/start.ts';

const assets = kubeAssets();
const root = fileURLToPath(new URL('../../..', import.meta.url));
const [vcluster, hostNamespace] = ['vc', 'vcluster-vc'];
const half = { token: 'half-token', user: 'half' };

async function grant(admin: ApiClient, verbs: readonly string[]): Promise<void> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const rules = [{ apiGroups: [''], resources: ['namespaces', 'services', 'endpoints'], verbs }];
  await admin.request('POST', `${rbac}/clusterroles`, { body: { metadata: { name: 'half' }, rules } });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'half' };
  const subjects = [{ kind: 'User', name: half.user, apiGroup: 'rbac.authorization.k8s.io' }];
  await admin.request('POST', `${rbac}/clusterrolebindings`, {
    body: { metadata: { name: 'half' }, roleRef, subjects },
  });
}

describe.skipIf(assets.found === undefined)(
  `bench:blackbox between two real API servers${assets.found === undefined ? ` (skipped: ${assets.reason})` : ''}`,
  { timeout: 120_000 },
  () => {
    let folder: string;
    let virtual: KubeCluster;
    let host: KubeCluster;
    let admin: ApiClient;
    let daemon: ChildProcess | undefined;

    const file = (name: string, text: string): string => {
      const path = join(folder, name);
      writeFileSync(path, text);
      return path;
    };
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'hostward-blackbox-'));
      [virtual, host] = await Promise.all([
        startKube({ name: 'box-virtual', controllerManager: true, users: [half] }),
        startKube({ name: 'box-host', users: [half] }),
      ]);
      admin = new ApiClient({ url: virtual.url, caPem: virtual.caPem, token: virtual.adminToken });
      const { url, caPem, adminToken: token } = host;
      const hostAdmin = new ApiClient({ url, caPem, token });
      await hostAdmin.request('POST', '/api/v1/namespaces', { body: { metadata: { name: hostNamespace } } });
      const owner = { metadata: { name: vcluster }, spec: { clusterIP: 'None', ports: [{ port: 443 }] } };
      await hostAdmin.request('POST', `/api/v1/namespaces/${hostNamespace}/services`, { body: owner });
      // What the black box needs, but for one verb on each side.
      await grant(admin, ['create', 'get', 'list', 'watch', 'delete', 'deletecollection']);
      await grant(hostAdmin, ['get', 'list']);
      await hostAdmin.close();
    }, 120_000);
    afterAll(async () => {
      await stopDaemon();
      await admin?.close();
      await Promise.all([virtual?.stop(), host?.stop()]);
      rmSync(folder, { recursive: true, force: true });
    }, 60_000);

    async function startDaemon(): Promise<void> {
      const listen = `127.0.0.1:${await freePort()}`;
      const config = file(
        'hostward.yaml',
        JSON.stringify({
          sync: { toHost: { endpoints: { enabled: true } } },
          hostward: {
            ...{ virtualClusterName: vcluster, hostNamespace, leaderElection: 'never', listen },
            ...{ virtualKubeconfig: virtual.kubeconfigPath, hostKubeconfig: host.kubeconfigPath },
            endpointSlices: { enabled: true },
          },
        }),
      );
      daemon = spawn(process.execPath, [join(root, 'src/main.ts'), 'run', '--config', config], { stdio: 'ignore' });
    }
    async function stopDaemon(): Promise<void> {
      if (daemon === undefined) return;
      const ended = new Promise((resolve) => daemon?.once('exit', resolve));
      daemon.kill('SIGTERM');
      await ended;
      daemon = undefined;
    }

    interface Given {
      words?: string[];
      virtualKubeconfig?: string;
      hostKubeconfig?: string;
      namespace?: string;
      onProgress?: (text: string, child: ChildProcess) => void;
    }
    function run(given: Given = {}): Promise<{ code: number | null; stdout: string; stderr: string }> {
      const { words = [], virtualKubeconfig = virtual.kubeconfigPath, hostKubeconfig = host.kubeconfigPath } = given;
      const kubeconfigs = ['--virtual-kubeconfig', virtualKubeconfig, '--host-kubeconfig', hostKubeconfig];
      const names = ['--vcluster-name', vcluster, '--host-namespace', given.namespace ?? hostNamespace];
      const child = spawn(process.execPath, [
        join(root, 'bench/blackbox/main.ts'),
        ...kubeconfigs,
        ...names,
        '--no-keep',
        ...words,
      ]);
      let [stdout, stderr] = ['', ''];
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        stdout += text;
      });
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        stderr += text;
        given.onProgress?.(stderr, child);
      });
      return new Promise((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })));
    }
    /** A namespace ends when its controller has looked into it, some seconds after it was deleted. */
    async function settledNamespaces(wanted: readonly string[]): Promise<string[]> {
      for (const untilMs = performance.now() + 40_000; performance.now() < untilMs; ) {
        if (JSON.stringify(await namespaces()) === JSON.stringify(wanted)) break;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      return namespaces();
    }
    async function namespaces(): Promise<string[]> {
      const { json } = await admin.request('GET', '/api/v1/namespaces');
      return (json as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name).sort();
    }

    it('says in one sentence that nobody copies, and leaves nothing', async () => {
      const before = await namespaces();
      const { code, stdout, stderr } = await run({ words: ['--objects', '5', '--wait', '1'] });
      const last = stderr.trimEnd().split('\n').at(-1);
      expect(last).toMatch(
        /^no copy of the endpoints hostward-bench-.* came to the host namespace "vcluster-vc" within 1 s/,
      );
      expect({ code, stdout, left: await settledNamespaces(before) }).toEqual({ code: 3, stdout: '', left: before });
    });

    const wrong: [string, () => Given, RegExp][] = [
      [
        'a kubeconfig that is not there',
        () => ({ virtualKubeconfig: '/nowhere/config' }),
        /^cannot use the virtual kubeconfig "\/nowhere\/config": ENOENT/,
      ],
      [
        'a file that is no kubeconfig',
        () => ({ hostKubeconfig: file('none', 'a: [') }),
        /^cannot use the host kubeconfig ".*none": /,
      ],
      [
        'a kubeconfig without a cluster',
        () => ({ hostKubeconfig: file('empty', '{}') }),
        /^cannot use the host kubeconfig ".*empty": its current context names no cluster/,
      ],
      [
        'a server that nobody serves',
        () => ({ hostKubeconfig: file('dead', host.kubeconfig.replaceAll(host.url, 'https://127.0.0.1:1')) }),
        /^cannot reach the host API server at https:\/\/127\.0\.0\.1:1: connect ECONNREFUSED/,
      ],
      [
        'a token that is unknown',
        () => ({ virtualKubeconfig: file('unknown', virtual.kubeconfigFor({ token: 'nobody' })) }),
        /^the virtual kubeconfig is not accepted: Unauthorized/,
      ],
      [
        'a user without rights on the virtual side',
        () => ({ virtualKubeconfig: file('poor', virtual.kubeconfigFor({ token: virtual.strangerToken })) }),
        /^the virtual kubeconfig may not create namespaces: .*forbidden/,
      ],
      [
        'a user without rights on the host',
        () => ({ hostKubeconfig: file('poor', host.kubeconfigFor({ token: host.strangerToken })) }),
        /^the host kubeconfig may not list endpoints in vcluster-vc: .*forbidden/,
      ],
      [
        'a user who may not watch the host',
        () => ({ hostKubeconfig: file('half', host.kubeconfigFor({ token: half.token })) }),
        /^the host kubeconfig may not watch objects: .*cannot watch resource/,
      ],
      [
        'a host namespace that is not there',
        () => ({ namespace: 'elsewhere' }),
        /^the host has no namespace "elsewhere"/,
      ],
    ];
    it.each(wrong)('says in one sentence what is wrong with %s', async (_, given, sentence) => {
      const { code, stdout, stderr } = await run({ words: ['--objects', '5', '--wait', '1'], ...given() });
      const said = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('blackbox: '));
      expect(said).toEqual([expect.stringMatching(sentence)]);
      expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    });

    describe('with our daemon between them', () => {
      beforeAll(startDaemon, 60_000);
      afterAll(stopDaemon, 60_000);

      it.each(['endpoints', 'endpointslices'])('measures %s at a rate', async (kind) => {
        const before = await namespaces();
        const words = [
          '--objects',
          '40',
          '--rate',
          '40',
          '--seconds',
          '2',
          '--kind',
          kind,
          '--pid',
          String(daemon?.pid),
        ];
        const { code, stdout, stderr } = await run({ words: [...words, '-o', 'json'] });
        expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
        const result = JSON.parse(stdout);
        expect(result).toMatchObject({ changes: 80, samples: 80, missing: 0, wrong: 0, extra: 0, unseen: 0, left: 0 });
        expect(result.writesPerChange).toBeGreaterThan(0.5);
        expect(result.writesPerChange).toBeLessThanOrEqual(1);
        const { p50, p90, p99, p999, max } = result;
        expect([p50, p90, p99, p999, max]).toEqual([p50, p90, p99, p999, max].toSorted((a, b) => a - b));
        expect(p50).toBeGreaterThan(0.5);
        expect(result.firstSync.seconds).toBeGreaterThan(0);
        expect(result.process.rssMib).toBeGreaterThan(30);
        expect(result.cpuMsPerChange).toBeGreaterThan(0);
        expect(await settledNamespaces(before)).toEqual(before);
      });

      it('says that the right to change is missing, and leaves nothing', async () => {
        const before = await namespaces();
        const virtualKubeconfig = file('half', virtual.kubeconfigFor({ token: half.token }));
        const { code, stdout, stderr } = await run({ words: ['--objects', '5', '--seconds', '2'], virtualKubeconfig });
        const said = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('blackbox: '));
        const sentence = /^the virtual kubeconfig may not change endpoints: .*cannot patch resource/;
        expect(said).toEqual([expect.stringMatching(sentence)]);
        expect({ code, stdout, left: await settledNamespaces(before) }).toEqual({ code: 3, stdout: '', left: before });
      });

      it('measures beside another run, each its own objects alone', async () => {
        const before = await namespaces();
        const words = ['--objects', '30', '--rate', '20', '--seconds', '2', '-o', 'json'];
        const both = await Promise.all([run({ words }), run({ words })]);
        for (const { code, stdout } of both)
          expect([code, JSON.parse(stdout)]).toMatchObject([
            ...[0, { changes: 40, samples: 40, missing: 0, wrong: 0, extra: 0, unseen: 0, left: 0 }],
          ]);
        expect(await settledNamespaces(before)).toEqual(before);
      });

      it('changes all at once, and prints a table', async () => {
        const before = await namespaces();
        const { code, stdout } = await run({ words: ['--objects', '60', '--burst'] });
        expect(code).toBe(0);
        expect(stdout).toMatch(/^all at once: 60 changes, [\d.]+ writes a change$/m);
        expect(stdout).toMatch(/^missing 0, wrong 0, twice on the host 0, left behind 0$/m);
        // The next test must not find one that is being deleted.
        expect(await settledNamespaces(before)).toEqual(before);
      });

      it('removes its namespaces after Ctrl-C', async () => {
        const before = await namespaces();
        let during: string[] = [];
        const words = ['--objects', '30', '--rate', '20', '--seconds', '60'];
        let isSent = false;
        const { code, stdout } = await run({
          words,
          onProgress: (text, child) => {
            if (isSent || !/changes at 20 a second/.test(text)) return;
            isSent = true;
            void namespaces().then((names) => {
              during = names;
              child.kill('SIGINT');
            });
          },
        });
        expect({ code, stdout, left: await settledNamespaces(before) }).toEqual({
          code: 130,
          stdout: '',
          left: before,
        });
        expect(during.filter((name) => name.startsWith('hostward-bench-'))).toHaveLength(1);
      });
    });
  },
);
