// The management server in front of a real kube-apiserver, with kubectl as people run it: a kubeconfig with our address and a key.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../../src/clock.ts';
import type { ManagementSettings } from '../../../src/config/settings/management-settings.ts';
import type { UpstreamPlace } from '../../../src/management/proxy/upstream-roles.ts';
import { runKeys } from '../../cli/keys/keys-bench.ts';
import { type Bench, openBench, people } from '../../management/server/bench.ts';
import type { KubeAssets } from '../start/assets.ts';
import { kubeletFlags, startNode } from '../start/kubelet.ts';
import { type KubeCluster, type KubectlResult, startKube } from '../start/start.ts';

export const proxyUser = 'hostward-proxy';
export const proxyToken = 'proxy-token';

export interface Running {
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  ended: Promise<KubectlResult>;
}

export interface Proxied {
  cluster: KubeCluster;
  bench: Bench;
  settings: ManagementSettings;
  /** Applies what `hostward upstream-rbac` prints for this place. */
  giveRights(place: UpstreamPlace): Promise<void>;
  /** Starts kubectl; `env` chooses among its protocols. */
  start(key: string, place: string, args: string[], env?: Record<string, string>, at?: Bench): Running;
  kubectl(key: string, place: string, ...args: string[]): Promise<KubectlResult>;
  stop(): Promise<void>;
}

export interface ProxiedOptions {
  /** Of the management server, where tokens are to name its address. */
  port?: number;
  /** Where the virtual cluster is served, at `https://v1.example.com`; absent = it has no ingress. */
  ingressListen?: string;
  /** Beside alice, bob and dora. */
  users?: ManagementSettings['users'];
  /** Of kube-apiserver. */
  apiserverFlags?: string[];
  clock?: Clock;
}

export async function startProxied(
  assets: KubeAssets,
  kubelet: string,
  options: ProxiedOptions = {},
): Promise<Proxied> {
  const users = [{ token: proxyToken, user: proxyUser }];
  const cluster = await startKube({
    name: 'proxied',
    users,
    apiserverFlags: [...kubeletFlags, ...(options.apiserverFlags ?? [])],
    // Fills the roles view, edit and admin.
    controllerManager: true,
  });
  const folder = mkdtempSync(join(tmpdir(), 'hostward-proxied-'));
  const kubeconfig = join(folder, 'upstream.kubeconfig');
  writeFileSync(kubeconfig, cluster.kubeconfigFor({ token: proxyToken }), { mode: 0o600 });
  await cluster.kubectl('create', 'namespace', 'shop-s1');
  const node = await startNode(kubelet, cluster, 'default');
  const settings = settingsAt(kubeconfig, options);
  const bench = await openBench({ settings, ...options });
  const start = (key: string, place: string, args: string[], env: Record<string, string> = {}, at = bench) => {
    const path = join(folder, `${key.slice(4, 12)}-${place.replaceAll('/', '-')}.kubeconfig`);
    writeFileSync(path, ourKubeconfig(at, key, place), { mode: 0o600 });
    return runProgram(assets.kubectl, ['--kubeconfig', path, '--cache-dir', join(folder, 'cache'), ...args], env);
  };
  return {
    ...{ cluster, bench, settings, start },
    async giveRights(place) {
      const { administrators, users, teams, clusters, projects } = settings;
      const { ingressListen } = options;
      const management = {
        dataDir: join(folder, 'data'),
        ingressListen,
        administrators,
        users,
        teams,
        clusters,
        projects,
      };
      const files = { '/home/h.yaml': JSON.stringify({ hostward: { management } }) };
      const which =
        'cluster' in place ? ['--cluster', place.cluster] : ['--instance', `${place.project}/${place.virtualCluster}`];
      const printed = await runKeys(['upstream-rbac', '--config', 'h.yaml', ...which], { files });
      if (printed.code !== 0) throw new Error(`print the rights: ${printed.err}`);
      const applied = await cluster.kubectlWith(printed.out, 'apply', '-f', '-');
      if (applied.code !== 0) throw new Error(`apply the rights: ${applied.stderr}`);
    },
    kubectl: (key, place, ...args) => start(key, place, args).ended,
    async stop() {
      await bench.stop();
      await node.stop();
      await cluster.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function settingsAt(kubeconfig: string, { ingressListen, users = [] }: ProxiedOptions): ManagementSettings {
  const ingress = { server: 'https://v1.example.com', servedBy: 'hostward' as const };
  const clientCert = { clusterRole: 'cluster-admin', maxTTL: 0 };
  return {
    ...people,
    users: [...people.users, { name: 'dora', groups: [], disabled: false }, ...users],
    clusters: [{ name: 'c1', kubeconfig, members: [{ user: 'alice' }] }],
    projects: [
      {
        name: 'shop',
        members: [
          { user: 'alice', role: 'user' },
          { user: 'bob', role: 'viewer' },
          { user: 'dora', role: 'admin' },
        ],
        virtualClusters: [{ name: 'v1', kubeconfig, clientCert, ...(ingressListen === undefined ? {} : { ingress }) }],
        spaces: [{ name: 's1', cluster: 'c1', namespace: 'shop-s1' }],
      },
    ],
  };
}

export function ourKubeconfig({ api }: Bench, token: string, place: string): string {
  const ca = Buffer.from(api.caPem).toString('base64');
  const server = `https://127.0.0.1:${api.port}/kubernetes/${place}`;
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'ours', cluster: { server, 'certificate-authority-data': ca } }],
    users: [{ name: 'key', user: { token } }],
    contexts: [{ name: 'ours', context: { cluster: 'ours', user: 'key' } }],
    'current-context': 'ours',
  });
}

export function runProgram(program: string, args: readonly string[], env: Record<string, string>): Running {
  const base = { PATH: process.env['PATH'] ?? '', HOME: tmpdir() };
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], env: { ...base, ...env } });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('latin1').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin.on('error', () => undefined);
  const ended = once(child, 'close').then(([code]) => ({ code: (code as number | null) ?? 1, stdout, stderr }));
  return { child, stdout: () => stdout, stderr: () => stderr, ended };
}
