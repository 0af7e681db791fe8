// kubectl against a real server: its output there is the expected output against our server.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDevcluster } from '../../../src/devcluster/devcluster.ts';
import { type KubectlSubject, kubectlContract } from '../../contract/server/kubectl.ts';
import { kubeAssets } from '../start/assets.ts';
import { startKube } from '../start/start.ts';

const assets = kubeAssets();
const options = {
  kubectl: assets.found?.kubectl,
  reason: assets.found === undefined ? assets.reason : undefined,
};

async function startEmbedded(): Promise<KubectlSubject> {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-kubectl-server-'));
  const cluster = await startDevcluster({ name: 'kubectl', authorization: 'rbac' });
  const kubeconfigPath = join(folder, 'kubeconfig');
  writeFileSync(kubeconfigPath, cluster.kubeconfig, { mode: 0o600 });
  return {
    kubeconfigPath,
    async stop() {
      await cluster.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

kubectlContract('a real kube-apiserver', () => startKube({ name: 'kubectl' }), { ...options, isTruth: true });
kubectlContract('the embedded server', startEmbedded, options);
