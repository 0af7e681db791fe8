// A real kube-apiserver is where the contract comes from: UPDATE_GOLDEN=1 writes its answers down.
import { apiServerContract } from '../contract/api-server.ts';
import { kubeAssets } from './assets.ts';
import { startKube } from './start.ts';

const assets = kubeAssets();

apiServerContract('a real kube-apiserver', () => startKube({ name: 'contract' }), {
  skip: assets.found === undefined ? assets.reason : undefined,
  isTruth: true,
});
