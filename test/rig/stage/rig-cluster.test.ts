// The API servers of the rig keep the contract that a real kube-apiserver keeps: each request of the contract comes over TLS, and from there goes from hand
// to hand like those of a daemon, to the store that remembers who wrote what.
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { makeServingCertificate } from '../../../src/apiserver/tls/certificates.ts';
import { systemClock } from '../../../src/clock.ts';
import { type ApiServerSubject, apiServerContract } from '../../contract/server/api-server.ts';
import { Chance } from '../play/random.ts';
import type { AnswerHeaders } from './direct-call.ts';
import { RigCluster } from './rig-cluster.ts';

const people = { daemon: undefined, request: 0 };

async function start(): Promise<ApiServerSubject> {
  const chance = new Chance(1, 'contract');
  const cluster = new RigCluster({
    ...{ side: 'host', clock: systemClock, chance, note: () => {}, daemons: new Map() },
    // The real answers were recorded with roles, and without a controller manager.
    otherwise: {
      ...{ authorization: 'rbac', hasGarbageCollector: false },
      users: [{ name: 'stranger', token: 'stranger-token' }],
    },
  });
  await cluster.start();
  const { caPem, certPem: cert, keyPem: key } = await makeServingCertificate('contract', ['127.0.0.1'], new Date());
  const server = createServer({ cert, key }, async (request, response) => {
    const { method = '', url: path = '', headers, headersDistinct } = request;
    const call = cluster.forward({ method, path, headers, headersDistinct, body: await text(request) }, people, {
      begun: (status: number, answered: AnswerHeaders) => response.writeHead(status, answered).flushHeaders(),
      data: (chunk) => void response.write(chunk),
      ended: () => void response.end(),
      cut: () => void response.destroy(),
    });
    response.once('close', () => call.abandon());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caPem,
    adminToken: 'people',
    strangerToken: 'stranger-token',
    compact: async () => cluster.store.compact(await cluster.store.currentRevision()),
    async stop() {
      server.closeAllConnections();
      server.close();
      await cluster.stop();
    },
  };
}

apiServerContract('the rig', start, { noClientCertificates: 'daemons of the rig have tokens' });
