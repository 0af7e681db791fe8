import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DevclusterOptions, startDevcluster } from '../../src/devcluster/devcluster.ts';
import { type ApiServerSubject, apiServerContract } from '../contract/server/api-server.ts';
import { createCa } from '../kube/start/certificates.ts';

async function start(options: DevclusterOptions): Promise<ApiServerSubject> {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-contract-'));
  const clientAuthority = await createCa(folder);
  const cluster = await startDevcluster({
    ...options,
    clientCa: readFileSync(clientAuthority.certificatePath, 'utf8'),
    users: [{ name: 'stranger', token: 'stranger-token' }],
    adminToken: 'admin-token',
    // The real answers were recorded without a controller manager.
    hasGarbageCollector: false,
  });
  return {
    url: cluster.url,
    caPem: cluster.caPem,
    adminToken: cluster.adminToken,
    strangerToken: 'stranger-token',
    clientAuthority,
    compact: async () => cluster.store.compact(await cluster.store.currentRevision()),
    async stop() {
      await cluster.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

apiServerContract('embedded, where roles decide', () => start({ authorization: 'rbac' }));
apiServerContract('embedded, open', () => start({}), { topics: ['http', 'impersonation', 'review', 'write'] });
