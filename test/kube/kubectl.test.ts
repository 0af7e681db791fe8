// kubectl against the real server that it was made for: what it prints there is what it has to print against ours.
import { kubectlContract } from '../contract/kubectl.ts';
import { kubeAssets } from './assets.ts';
import { startKube } from './start.ts';

const assets = kubeAssets();

kubectlContract('a real kube-apiserver', () => startKube({ name: 'kubectl' }), {
  kubectl: assets.found?.kubectl,
  reason: assets.found === undefined ? assets.reason : undefined,
  isTruth: true,
});
