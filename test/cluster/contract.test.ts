import { startDevcluster } from '../../src/devcluster/devcluster.ts';
import { reflectorContract } from '../contract/reflector.ts';

const bookmarkIntervalMs = 100;

reflectorContract('the embedded cluster', async () => {
  const cluster = await startDevcluster({
    users: [{ name: 'stranger', token: 'stranger-token' }],
    watch: { bookmarkIntervalMs },
  });
  return {
    url: cluster.url,
    caPem: cluster.caPem,
    adminToken: cluster.adminToken,
    strangerToken: 'stranger-token',
    compact: async () => cluster.store.compact(await cluster.store.currentRevision()),
    bookmarkWithinMs: bookmarkIntervalMs,
    stop: () => cluster.stop(),
  };
});
