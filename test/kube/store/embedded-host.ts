// The host of replicas as an embedded cluster: the same questions, in seconds.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDevcluster } from '../../../src/devcluster/devcluster.ts';
import type { KubeCluster } from '../start/start.ts';

export type EmbeddedHost = Pick<
  KubeCluster,
  'url' | 'caPem' | 'adminToken' | 'kubeconfigPath' | 'kubectl' | 'restartApiserver' | 'stop'
>;

export async function startEmbedded(kubectl: string): Promise<EmbeddedHost> {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-host-'));
  const cluster = await startDevcluster({ name: 'host' });
  const { url, caPem, adminToken } = cluster;
  const kubeconfigPath = join(folder, 'kubeconfig');
  const text = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'host', cluster: { server: url, 'certificate-authority-data': Buffer.from(caPem).toString('base64') } },
    ],
    users: [{ name: 'admin', user: { token: adminToken } }],
    contexts: [{ name: 'host', context: { cluster: 'host', user: 'admin' } }],
    'current-context': 'host',
  };
  writeFileSync(kubeconfigPath, JSON.stringify(text), { mode: 0o600 });
  return {
    ...{ url, caPem, adminToken, kubeconfigPath },
    kubectl: (...args) =>
      new Promise((resolve) => {
        execFile(kubectl, ['--kubeconfig', kubeconfigPath, ...args], (error, stdout, stderr) =>
          resolve({ code: error === null ? 0 : 1, stdout, stderr }),
        );
      }),
    restartApiserver: async () => undefined,
    async stop() {
      await cluster.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
