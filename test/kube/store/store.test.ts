// The suite of every store, with a real kube-apiserver as the log.
import { afterAll, beforeAll, describe } from 'vitest';
import { newNamespace, numberingOf, storeOn } from '../../contract/store/on-host.ts';
import { storeContract } from '../../contract/store/store.ts';
import { kubeAssets } from '../start/assets.ts';
import { type KubeCluster, startKube } from '../start/start.ts';

const assets = kubeAssets();

describe.skipIf(assets.found === undefined)('on a real kube-apiserver', () => {
  let host: KubeCluster;
  beforeAll(async () => {
    host = await startKube({ name: 'records' });
  }, 90_000);
  afterAll(() => host.stop());

  storeContract('kubernetes store', async (settings) => storeOn(host, await newNamespace(host), settings), {
    numbering: numberingOf,
    modelRuns: 5,
  });
});
