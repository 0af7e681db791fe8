// A real kube-apiserver is the source of the contract: UPDATE_GOLDEN=1 records its answers.
import { apiServerContract } from '../contract/api-server.ts';
import { kubeAssets } from './assets.ts';
import { startKube } from './start.ts';

const assets = kubeAssets();

apiServerContract('a real kube-apiserver', () => startKube({ name: 'contract' }), {
  skip: assets.found === undefined ? assets.reason : undefined,
  isTruth: true,
});
