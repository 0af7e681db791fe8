// A real kube-apiserver is the source of the contract: UPDATE_GOLDEN=1 records its answers.
import { apiServerContract } from '../../contract/server/api-server.ts';
import { kubeAssets } from '../start/assets.ts';
import { startKube } from '../start/start.ts';

const assets = kubeAssets();

apiServerContract('a real kube-apiserver', () => startKube({ name: 'contract' }), {
  skip: assets.found === undefined ? assets.reason : undefined,
  isTruth: true,
});
