// The test cluster on which the other suites with real servers rely.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pause, systemClock } from '../../../src/clock.ts';
import { kubeAssets } from './assets.ts';
import { type KubeCluster, startKube } from './start.ts';

const assets = kubeAssets();
const pollMs = 50;

describe.skipIf(assets.found === undefined)(
  `startKube()${assets.found === undefined ? ` (skipped: ${assets.reason})` : ''}`,
  () => {
    let cluster: KubeCluster;
    beforeAll(async () => {
      const users = [{ token: 'reader-token', user: 'reader' }];
      cluster = await startKube({ name: 'start', controllerManager: true, users });
    });
    afterAll(() => cluster?.stop());

    it('is ready, with its default namespaces, when it returns', async () => {
      const { stdout } = await cluster.kubectl('get', 'namespaces', '-o', 'name');
      expect(stdout.trim().split('\n')).toEqual(
        ['default', 'kube-node-lease', 'kube-public', 'kube-system'].map((name) => `namespace/${name}`),
      );
    });

    it('has already finished its first cleanup of Endpoints without a Service', async () => {
      const { code, stdout } = await cluster.kubectl('get', 'endpoints', '-n', 'kube-public', '-o', 'name');
      expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    });

    it('provides users with only their RBAC rights', async () => {
      const asReader = join(cluster.folder, 'reader.kubeconfig');
      writeFileSync(asReader, cluster.kubeconfigFor({ token: 'reader-token' }));
      const list = () => cluster.kubectl('--kubeconfig', asReader, 'get', 'configmaps');
      expect((await list()).stderr).toContain('User "reader" cannot list resource "configmaps"');
      await cluster.kubectl('create', 'rolebinding', 'reader', '--clusterrole=view', '--user=reader');
      await until(async () => (await list()).code === 0);
      expect((await cluster.kubectl('--kubeconfig', asReader, 'create', 'configmap', 'x')).code).toBe(1);
    });

    it('makes client certificates that the server accepts', async () => {
      const file = join(cluster.folder, 'joe.kubeconfig');
      writeFileSync(file, cluster.kubeconfigFor(await cluster.clientCertificate('joe', ['devs'])));
      const { stdout } = await cluster.kubectl('--kubeconfig', file, 'auth', 'whoami');
      expect(stdout).toMatch(/joe[\s\S]*devs/);
    });

    it('mirrors Endpoints, collects garbage and deletes namespaces when the controller manager runs', async () => {
      await cluster.kubectl('create', 'namespace', 'work');
      const manifest = [
        { apiVersion: 'v1', kind: 'Service', metadata: { name: 's' }, spec: { ports: [{ name: 'http', port: 80 }] } },
        {
          apiVersion: 'v1',
          kind: 'Endpoints',
          metadata: { name: 's' },
          subsets: [{ addresses: [{ ip: '10.9.0.1' }], ports: [{ name: 'http', port: 80 }] }],
        },
      ];
      await cluster.kubectlWith(
        JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifest }),
        'apply',
        '-n',
        'work',
        '-f',
        '-',
      );
      const slices = async () => (await cluster.kubectl('get', 'endpointslices', '-n', 'work', '-o', 'name')).stdout;
      await until(async () => (await slices()).includes('endpointslice'));
      await cluster.kubectl('delete', 'endpoints', 's', '-n', 'work');
      await until(async () => (await slices()) === '');
      const { code } = await cluster.kubectl('delete', 'namespace', 'work', '--timeout=30s');
      expect(code).toBe(0);
    });

    it('has the same port and data after restartApiserver()', async () => {
      await cluster.kubectl('create', 'configmap', 'kept');
      await cluster.restartApiserver();
      expect((await cluster.kubectl('get', 'configmap', 'kept', '-o', 'name')).stdout).toBe('configmap/kept\n');
    });
  },
);

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await pause(systemClock, pollMs);
}
