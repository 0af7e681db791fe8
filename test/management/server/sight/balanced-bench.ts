// The bench of the management API as two replicas in this process, over a namespace of a real API server, behind a balancer that gives
// each request to the other one. The tests that ask for a bench do not know of it. In: who the API server is, from the suite that has it.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../../src/clock.ts';
import type { ManagementSettings } from '../../../../src/config/settings/management-settings.ts';
import { silentLog } from '../../../../src/log.ts';
import { ManagementApi } from '../../../../src/management/server/server.ts';
import { ApiClient } from '../../../contract/client.ts';
import type { HostServer } from '../../../contract/store/on-host.ts';
import { balancer } from '../../../kube/store/balancer.ts';
import { type Ask, type Bench, type BenchOptions, follow, keyFor, people, send } from '../bench.ts';

export interface BenchHost extends HostServer {
  kubeconfigPath: string;
}

export async function openBalanced(options: BenchOptions, host: BenchHost): Promise<Bench> {
  const { settings, ...others } = options;
  const given = Object.keys(others);
  if (given.length > 0) throw new Error(`open two replicas: ${given.join(', ')} cannot be given to them`);
  const folder = mkdtempSync(join(tmpdir(), 'hostward-balanced-'));
  const namespace = `bench-${randomUUID()}`;
  const client = new ApiClient({ url: host.url, caPem: host.caPem, token: host.adminToken });
  await client.request('POST', '/api/v1/namespaces', { body: { metadata: { name: namespace } } });
  await client.close();
  const store = {
    kubernetes: { kubeconfig: host.kubeconfigPath, namespace },
    maxRecords: 10_000,
    maxBytes: 100_000_000,
  };
  const replica = async (name: string, more: Partial<ManagementSettings> = {}) => {
    const server = {
      ...{ listen: '127.0.0.1:0', baseURL: 'https://localhost:8443', ingressListen: undefined, store },
      ...{ dataDir: join(folder, name), secretsDir: join(folder, 'secrets') },
    };
    const all = { ...people, ...settings, ...more };
    const api = new ManagementApi({ settings: all, server, clock: systemClock, log: silentLog, version: '0.1.0' });
    await api.open();
    return api;
  };
  const replicas = [await replica('a'), await replica('b')];
  const first = () => replicas[0] as ManagementApi;
  const made = await first().createKey({ metadata: { generateName: 'admin-' }, spec: { user: 'admin' } });
  const admin = (made['spec'] as { key: string }).key;
  for (const api of replicas) await api.serve();
  const balance = balancer(() => replicas.map(({ port }) => port));
  await new Promise<void>((resolve) => balance.listen(0, '127.0.0.1', resolve));
  const front = { port: (balance.address() as AddressInfo).port, caPem: first().caPem };
  const ask = (method: string, path: string, how: Ask = {}) => send(front, method, path, { key: admin, ...how });
  return {
    get api() {
      return first();
    },
    ...{ folder: join(folder, 'a'), admin, ask },
    keyFor: (name, spec = {}) => keyFor(ask, name, spec),
    follow: (path, key) => follow(front, path, key),
    async restart(more) {
      for (const [at, name] of ['a', 'b'].entries()) {
        await replicas[at]?.close();
        replicas[at] = await replica(name, more);
        await replicas[at].serve();
      }
    },
    async stop() {
      balance.close();
      for (const api of replicas) await api.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
