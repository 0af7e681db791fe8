// The contract of an API server, with two servers of the kit on one Kubernetes store and a balancer between them and the client that gives
// each request to the other one: the answers are those of one kube-apiserver.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeServingCertificate } from '../../../src/apiserver/tls/certificates.ts';
import { type Devcluster, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import { ClusterAddresses } from '../../../src/devcluster/kinds/addresses/cluster-addresses.ts';
import { type ApiServerSubject, apiServerContract } from '../../contract/server/api-server.ts';
import { newNamespace, storeOn } from '../../contract/store/on-host.ts';
import { kubeAssets } from '../start/assets.ts';
import { createCa } from '../start/certificates.ts';
import { startKube } from '../start/start.ts';
import { balancer } from './balancer.ts';
import { startEmbedded } from './embedded-host.ts';

const assets = kubeAssets();
const isEmbedded = process.env['HOSTWARD_EMBEDDED_HOST'] === '1';

async function start(): Promise<ApiServerSubject> {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-contract-'));
  const host = isEmbedded ? await startEmbedded(assets.found?.kubectl ?? '') : await startKube({ name: 'balanced' });
  const namespace = await newNamespace(host);
  const clientAuthority = await createCa(folder);
  const certificate = await makeServingCertificate('balanced', ['127.0.0.1', 'localhost'], new Date());
  const stores = ['one', 'two'].map((replica) => storeOn(host, namespace, { replica }));
  const addresses = new ClusterAddresses();
  const servers: Devcluster[] = [];
  for (const store of stores) {
    await store.start();
    const server = await startDevcluster({
      store: { kind: 'given', store },
      authorization: 'rbac',
      addresses,
      certificate,
      clientCa: readFileSync(clientAuthority.certificatePath, 'utf8'),
      users: [{ name: 'stranger', token: 'stranger-token' }],
      adminToken: 'admin-token',
      // The real answers were recorded without a controller manager.
      hasGarbageCollector: false,
    });
    servers.push(server);
  }
  const front = balancer(() => servers.map(({ server }) => server.port));
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(front.address() as AddressInfo).port}`,
    caPem: certificate.caPem,
    adminToken: 'admin-token',
    strangerToken: 'stranger-token',
    clientAuthority,
    isBalanced: true,
    async compact() {
      for (const store of stores) await store.compact(await store.currentRevision({ fresh: true }));
    },
    async stop() {
      front.close();
      for (const server of servers) await server.stop();
      for (const store of stores) await store.stop();
      await host.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

apiServerContract('two replicas behind a balancer', start, {
  skip: assets.found === undefined && !isEmbedded ? assets.reason : undefined,
});
