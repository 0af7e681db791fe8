// A node for exec, attach, port-forward and logs: a kubelet stand-in that build.sh builds from kubelet/main.go, a Node that points to
// it, and a running Pod on that node.
import { accessSync, constants, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pause, systemClock } from '../../../src/clock.ts';
import { ApiClient } from '../../contract/client.ts';
import { guarded } from '../proxy/guarded.ts';
import type { KubeAssets } from './assets.ts';
import type { KubeCluster } from './start.ts';

/** For kube-apiserver: the node's name is no host name. */
export const kubeletFlags = ['--kubelet-preferred-address-types=InternalIP'];

const startWithinMs = 10_000;

export function kubeletProgram({ folder }: KubeAssets): string | undefined {
  const program = join(folder, 'kubelet-stand-in');
  try {
    accessSync(program, constants.X_OK);
    return program;
  } catch {
    return undefined;
  }
}

/** The pod is `web` in `namespace`, its container `main`. */
export async function startNode(
  program: string,
  cluster: KubeCluster,
  namespace: string,
): Promise<{ stop(): Promise<void> }> {
  const logFile = join(cluster.folder, 'kubelet.log');
  const kubelet = guarded(program, [], { logFile });
  await registerNode(cluster, namespace, await portIn(logFile));
  return kubelet;
}

/** A Node whose kubelet listens on this port of the machine, and the running Pod `web` on it. */
export async function registerNode(cluster: KubeCluster, namespace: string, port: number): Promise<void> {
  const client = new ApiClient({ url: cluster.url, caPem: cluster.caPem, token: cluster.adminToken });
  const made = async (method: 'POST' | 'PUT', path: string, body: object) => {
    const answer = await client.request(method, path, { body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
    const object = JSON.parse(answer.text) as { metadata: { resourceVersion?: string } };
    // Controllers write to them as well.
    delete object.metadata.resourceVersion;
    return object;
  };
  const node = await made('POST', '/api/v1/nodes', { metadata: { name: 'node' } });
  await made('PUT', '/api/v1/nodes/node/status', {
    ...node,
    status: {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  });
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const spec = { nodeName: 'node', containers: [{ name: 'main', image: 'none', stdin: true }] };
  const pod = await made('POST', pods, { metadata: { name: 'web', namespace }, spec });
  const running = { name: 'main', image: 'none', imageID: 'none', ready: true, restartCount: 0, started: true };
  await made('PUT', `${pods}/web/status`, {
    ...pod,
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [{ ...running, state: { running: { startedAt: new Date().toISOString() } } }],
    },
  });
  await client.close();
}

async function portIn(logFile: string): Promise<number> {
  const endMs = systemClock.now() + startWithinMs;
  while (systemClock.now() < endMs) {
    const port = /^port (\d+)$/m.exec(readFileSync(logFile, 'utf8'))?.[1];
    if (port !== undefined) return Number(port);
    await pause(systemClock, 20);
  }
  throw new Error(`the kubelet stand-in did not start: ${readFileSync(logFile, 'utf8')}`);
}
