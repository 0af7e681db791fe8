import { startDevcluster } from '../../src/devcluster/devcluster.ts';
import { apiServerContract } from '../contract/api-server.ts';

apiServerContract('embedded', async () => {
  const cluster = await startDevcluster({
    users: [{ name: 'stranger', token: 'stranger-token' }],
    adminToken: 'admin-token',
    // The real answers were recorded without a controller manager.
    hasCaretaker: false,
  });
  return {
    url: cluster.url,
    caPem: cluster.caPem,
    adminToken: cluster.adminToken,
    strangerToken: 'stranger-token',
    compact: async () => cluster.store.compact(await cluster.store.currentRevision()),
    stop: () => cluster.stop(),
  };
});
