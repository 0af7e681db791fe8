// Windows, writers and leases against a real kube-apiserver.
import { reflectorContract } from '../../contract/reflector.ts';
import { kubeAssets } from '../start/assets.ts';
import { startKube } from '../start/start.ts';

const assets = kubeAssets();

reflectorContract('a real kube-apiserver', () => startKube({ name: 'reflector' }), {
  skip: assets.found === undefined ? assets.reason : undefined,
});
