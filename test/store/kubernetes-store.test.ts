import { afterAll, beforeAll } from 'vitest';
import { type Devcluster, startDevcluster } from '../../src/devcluster/devcluster.ts';
import { newNamespace, numberingOf, storeOn } from '../contract/store/on-host.ts';
import { storeContract } from '../contract/store/store.ts';

let host: Devcluster;
beforeAll(async () => {
  host = await startDevcluster({ name: 'host' });
});
afterAll(() => host.stop());

storeContract('kubernetes store', async (settings) => storeOn(host, await newNamespace(host), settings), {
  numbering: numberingOf,
  modelRuns: 5,
});
