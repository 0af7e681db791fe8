// The chart for somebody who may make nothing outside of two namespaces (cluster=false), and what its notes tell an administrator to do
// by hand: the records get the same wall and the same place in the queues as with cluster=true.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { until } from '../../contract/sync-stage/backend.ts';
import { type KubeCluster, startKube } from '../start/start.ts';
import { chart, chartSkipReason, helm, namespace, records, run } from './helm.ts';

const tenant = { token: 'tenant-token', user: 'tenant' };
const somebody = { token: 'somebody-token', user: 'somebody', groups: ['system:masters'] };
const reason = chartSkipReason();

describe.skipIf(reason !== undefined)(
  `the chart with cluster=false${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  { timeout: 60_000 },
  () => {
    let cluster: KubeCluster;
    let folder: string;
    let values: string;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'hostward-by-hand-'));
      cluster = await startKube({ name: 'by-hand', controllerManager: true, users: [tenant, somebody] });
      values = join(folder, 'values.yaml');
      const management = { enabled: true, replicas: 2, store: { type: 'kubernetes' } };
      writeFileSync(values, stringify({ cluster: false, sync: { enabled: false }, management }));
    }, 120_000);
    afterAll(async () => {
      await cluster?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    const asTenant = (...words: string[]) => {
      const kubeconfig = join(folder, 'tenant.kubeconfig');
      writeFileSync(kubeconfig, cluster.kubeconfigFor({ token: tenant.token }), { mode: 0o600 });
      return run({ kubeconfig, folder }, helm, ...words);
    };
    const change = (verb: string) => asTenant(verb, 'hw', chart, '-n', namespace, '-f', values);

    it('is installed and upgraded by somebody with two namespaces, before and after an administrator does what the notes say', async () => {
      for (const name of [namespace, records]) {
        await cluster.kubectl('create', 'namespace', name);
        const binding = ['rolebinding', 'tenant', '--clusterrole=admin', '--user=tenant'];
        expect(await cluster.kubectl('create', ...binding, '-n', name)).toMatchObject({ code: 0 });
      }
      const installed = await change('install');
      expect(installed).toMatchObject({ code: 0, stderr: '' });
      const [, words = ''] =
        /^ {2}helm (template .* -s templates\/management-store\.yaml)$/m.exec(installed.stdout) ?? [];
      const filled = words.split(' ').map((word) => ({ CHART: chart, VALUES: values })[word] ?? word);
      const printed = await run({ kubeconfig: cluster.kubeconfigPath, folder }, helm, ...filled);
      expect(printed).toMatchObject({ code: 0, stderr: '' });
      expect(await cluster.kubectlWith(printed.stdout, 'apply', '-f', '-')).toMatchObject({ code: 0 });
      expect(await change('upgrade')).toMatchObject({ code: 0 });

      const made = await cluster.kubectl('get', 'flowschemas,prioritylevelconfigurations', '-o', 'name');
      expect(made.stdout.match(/hostward-management/g)).toHaveLength(2);
      const stranger = join(folder, 'somebody.kubeconfig');
      writeFileSync(stranger, cluster.kubeconfigFor({ token: somebody.token }), { mode: 0o600 });
      await until('the wall', async () => {
        const words = ['-n', records, 'create', 'secret', 'generic', 'between', '--dry-run=server'];
        const { code, stderr } = await cluster.kubectl('--kubeconfig', stranger, ...words);
        return code !== 0 && stderr.includes('ValidatingAdmissionPolicy') ? true : undefined;
      });
    });

    it('is installed too when the administrator was first', async () => {
      const [other, theirs] = ['other', 'other-records'];
      await cluster.kubectl('create', 'namespace', other);
      const words = ['template', 'hw', chart, '-n', other, '-f', values, '--set', 'cluster=true'];
      const where = { kubeconfig: cluster.kubeconfigPath, folder };
      const printed = await run(where, helm, ...words, '-s', 'templates/management-store.yaml');
      expect(await cluster.kubectlWith(printed.stdout, 'apply', '-f', '-')).toMatchObject({ code: 0 });
      for (const name of [other, theirs])
        await cluster.kubectl('create', 'rolebinding', 'tenant', '--clusterrole=admin', '--user=tenant', '-n', name);
      expect(await asTenant('install', 'hw', chart, '-n', other, '-f', values)).toMatchObject({ code: 0, stderr: '' });
    });
  },
);
