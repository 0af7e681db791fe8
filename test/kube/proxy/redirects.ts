// For redirects behind a real kube-apiserver: an aggregated API that redirects, and a server elsewhere that nobody may reach. The
// kubelet stand-in serves the one group of the aggregated API.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ApiClient } from '../../contract/client.ts';
import { until } from '../../management/server/bench.ts';

export const aggregatedGroup = 'redirect.example.com';

export interface Elsewhere {
  url: string;
  /** Requests that came, those to change the protocol among them. */
  readonly reached: number;
  close(): void;
}

/** kube-apiserver looks at a new aggregated API now and then. */
const servedWithinMs = 20_000;

/** Wants the node of startNode. */
export async function serveAggregated(admin: ApiClient): Promise<void> {
  const node = await admin.request('GET', '/api/v1/nodes/node');
  const { status } = node.json as { status: { daemonEndpoints: { kubeletEndpoint: { Port: number } } } };
  const { Port: port } = status.daemonEndpoints.kubeletEndpoint;
  const make = async (path: string, body: object) => {
    const answer = await admin.request('POST', path, { body });
    if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.text}`);
  };
  const service = { name: 'aggregated', namespace: 'default' };
  // A Service with a cluster address cannot lead to the loopback address.
  const spec = { type: 'ExternalName', externalName: 'localhost' };
  await make('/api/v1/namespaces/default/services', { metadata: service, spec });
  await make('/apis/apiregistration.k8s.io/v1/apiservices', {
    metadata: { name: `v1.${aggregatedGroup}` },
    spec: {
      ...{ group: aggregatedGroup, version: 'v1', groupPriorityMinimum: 1, versionPriority: 1 },
      ...{ service: { ...service, port }, insecureSkipTLSVerify: true },
    },
  });
  const isServed = async () => (await admin.request('GET', `/apis/${aggregatedGroup}/v1`)).status === 200;
  await until(isServed, 'the aggregated API', servedWithinMs);
}

export async function openElsewhere(): Promise<Elsewhere> {
  let reached = 0;
  const server = createServer((_request, response) => {
    reached++;
    response.end('elsewhere');
  });
  server.on('upgrade', (_request, socket) => {
    reached++;
    socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/taken`,
    get reached() {
      return reached;
    },
    close: () => void server.close(),
  };
}
