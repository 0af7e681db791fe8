// Finds the programs that build.sh has built. Plain `npm test` must do the same on every machine, so the real servers run only
// on request: KUBEBUILDER_ASSETS names their folder, or HOSTWARD_KUBE=1 selects the cache folder.
import { accessSync, constants, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface KubeAssets {
  folder: string;
  etcd: string;
  etcdutl: string;
  apiserver: string;
  controllerManager: string;
  kubectl: string;
}

export type AssetSearch = { found: KubeAssets } | { found: undefined; reason: string };

const programs = ['etcd', 'etcdutl', 'kube-apiserver', 'kube-controller-manager', 'kubectl'];
const howToGet = 'run "bash test/kube/build.sh" and set KUBEBUILDER_ASSETS to the folder it prints';

export function kubeAssets(env: NodeJS.ProcessEnv = process.env): AssetSearch {
  const named = env['KUBEBUILDER_ASSETS'];
  if (named === undefined && env['HOSTWARD_KUBE'] !== '1')
    return { found: undefined, reason: `KUBEBUILDER_ASSETS is not set: ${howToGet}` };
  const folder = named ?? cacheFolder(env);
  const missing = programs.filter((program) => !isExecutable(join(folder, program)));
  if (missing.length > 0)
    return { found: undefined, reason: `${missing.join(', ')} not found in "${folder}": ${howToGet}` };
  const [etcd, etcdutl, apiserver, controllerManager, kubectl] = programs.map((program) => join(folder, program)) as [
    string,
    string,
    string,
    string,
    string,
  ];
  return { found: { folder, etcd, etcdutl, apiserver, controllerManager, kubectl } };
}

/** The folder that build.sh fills; build.sh computes it by the same rule. */
function cacheFolder(env: NodeJS.ProcessEnv): string {
  const base =
    env['HOSTWARD_KUBE_CACHE'] ?? join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'hostward', 'kube');
  const goMod = readFileSync(fileURLToPath(new URL('../go.mod', import.meta.url)), 'utf8');
  return join(base, /^require k8s\.io\/kubernetes (\S+)$/m.exec(goMod)?.[1] ?? 'unknown');
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
