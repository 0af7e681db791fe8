// The chart on a real API server: every switch is accepted, an installation is complete, and its end leaves nothing behind.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { grantsText } from '../../../src/cli/doctor/grants.ts';
import { rightsToInstall } from '../../../src/cli/doctor/patient/chart-rights.ts';
import type { Permission } from '../../../src/cluster/permission.ts';
import { until } from '../../contract/sync-stage/backend.ts';
import { commandsIn } from '../../documents/commands-in.ts';
import { type KubeCluster, startKube } from '../start/start.ts';
import { replicated, switches } from './chart-switches.ts';
import {
  chart,
  chartSkipReason,
  helms,
  namespace,
  records,
  renderer,
  root,
  run as runProgram,
  set,
  tools,
} from './helm.ts';

/** Has the rights that a test gives him. */
const installer = { token: 'installer-token', user: 'installer' };

let cluster: KubeCluster;
let folder: string;
const isAnywhere = Object.values(helms).some((program) => chartSkipReason(program) === undefined);
// One server for both, which take back what they make.
beforeAll(async () => {
  if (!isAnywhere) return;
  folder = mkdtempSync(join(tmpdir(), 'hostward-chart-'));
  cluster = await startKube({ name: 'chart', controllerManager: true, users: [installer] });
  for (const name of [namespace, records, 'b']) await cluster.kubectl('create', 'namespace', name, '--save-config');
});
afterAll(async () => {
  if (!isAnywhere) return;
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Everything that the server has, of every kind that it lists, as kind/name. */
const everything = async () => {
  const kinds = ['true', 'false'].map((scope) =>
    cluster.kubectl('api-resources', '--verbs=list', '-o', 'name', `--namespaced=${scope}`),
  );
  const [inNamespaces, others] = (await Promise.all(kinds)).map(({ stdout }) => stdout.trim().split('\n'));
  // Without those that the server itself makes.
  const counted = (all: readonly string[] = []) =>
    all.filter((kind) => !/^events|componentstatuses/.test(kind)).join(',');
  const found = await Promise.all([
    cluster.kubectl('get', counted(inNamespaces), '-n', namespace, '-o', 'name'),
    cluster.kubectl('get', counted(others), '-o', 'name'),
  ]);
  return found
    .flatMap(({ stdout }) => stdout.trim().split('\n'))
    .filter((line) => line !== '')
    .sort();
};

/** Objects that a server has accepted: both Helms make the same ones. */
const accepted = new Set<string>();

describe.each(Object.entries(helms))('the chart with %s', { timeout: 60_000 }, (_, program) => {
  const reason = chartSkipReason(program);
  const helm = join(tools, program);
  describe.skipIf(reason !== undefined)(reason === undefined ? 'on a real API server' : `skipped: ${reason}`, () => {
    const run = (program: string, ...words: string[]) =>
      runProgram({ kubeconfig: cluster.kubeconfigPath, folder }, program, ...words);
    const template = renderer(helm, () => ({ kubeconfig: cluster.kubeconfigPath, folder }));

    it.each(Object.entries(switches))('is accepted by the server with %s', async (_, values) => {
      const { text, manifests } = await template(...values);
      const objects = JSON.stringify(manifests);
      if (!accepted.has(objects)) {
        const words = ['apply', '--dry-run=server', '--validate=strict', '-f', '-'];
        expect(await cluster.kubectlWith(text, ...words)).toMatchObject({ code: 0, stderr: '' });
        accepted.add(objects);
      }
      for (const { metadata } of manifests) expect([namespace, records, undefined]).toContain(metadata.namespace);
    });

    // Helm 3 asks a cluster before it shows notes.
    it('makes no cluster-scoped object with cluster=false, and says in its notes who has to', async () => {
      const values = [
        ...(switches['namespace mapping without cluster-scoped objects'] ?? []),
        'admissionPolicy.enabled=true',
      ];
      const { manifests } = await template(...values);
      expect(manifests.filter(({ metadata }) => metadata.namespace === undefined)).toEqual([]);
      const { stdout } = await run(helm, 'install', 'hw', chart, '-n', namespace, '--dry-run=client', ...set(values));
      for (const said of ['config/cluster-role.yaml', '-s templates/admission.yaml']) expect(stdout).toContain(said);
      expect(stdout).toContain('in each host namespace that');
      const pattern = [...values, 'sync.toHost.namespaces.mappings.byName.prod-*=host-prod-*'];
      const wide = await run(helm, 'install', 'hw', chart, '-n', namespace, '--dry-run=client', ...set(pattern));
      expect(wide.stdout).toContain('its ClusterRoleBinding to the');
      expect(wide.stdout).not.toContain('in each host namespace that');
    });

    it('is installed, upgraded from earlier values, and uninstalled; only the volume with the keys and the host copies stay', async () => {
      // As the daemon leaves one.
      const labels = {
        'vcluster.loft.sh/managed-by': 'my-vcluster',
        'endpointslice.kubernetes.io/managed-by': 'hostward',
      };
      const slice = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4', endpoints: [] };
      const copy = JSON.stringify({ ...slice, metadata: { name: 'db-1-x-shop-x-my-vcluster', labels } });
      expect(await cluster.kubectlWith(copy, 'create', '-n', namespace, '-f', '-')).toMatchObject({ code: 0 });
      const before = await everything();
      expect(before).toContain('endpointslice.discovery.k8s.io/db-1-x-shop-x-my-vcluster');
      const values = [
        ...['management.enabled=true', 'networkPolicy.enabled=true', 'admissionPolicy.enabled=true'],
        ...['monitoring.dashboard=true', ...(switches['namespace mapping'] ?? [])],
      ];
      const earlier = join(root, 'fixtures', 'chart', 'values-0.1.0.yaml');
      const change = (verb: string, ...more: string[]) => run(helm, verb, 'hw', chart, '-n', namespace, ...more);
      expect(await change('install', '-f', earlier)).toMatchObject({ code: 0 });
      expect(await everything()).toEqual(expect.arrayContaining(['deployment.apps/hw-hostward', ...before]));
      expect(await change('upgrade', '--reuse-values', ...set(values))).toMatchObject({ code: 0 });
      const installed = await everything();
      for (const one of ['poddisruptionbudget.policy/hw-hostward', 'lease.coordination.k8s.io/hostward-my-vcluster'])
        expect(installed).toContain(one);
      // As the pods do.
      const lease = ['lease', 'hostward-my-vcluster', '-n', namespace];
      await cluster.kubectl('patch', ...lease, '--type=merge', '-p', '{"spec":{"holderIdentity":"a-pod"}}');
      expect(await change('upgrade', '--reuse-values')).toMatchObject({ code: 0 });
      expect((await cluster.kubectl('get', ...lease, '-o', 'jsonpath={.spec.holderIdentity}')).stdout).toBe('a-pod');
      const started = performance.now();
      const { code, stdout } = await run(helm, 'uninstall', 'hw', '-n', namespace, '--wait');
      expect(code).toBe(0);
      expect(performance.now() - started).toBeLessThan(60_000);
      expect(stdout).toContain('hw-hostward-management');
      const volume = 'persistentvolumeclaim/hw-hostward-management';
      await until('an end of all pods', async () =>
        (await everything()).length === before.length + 1 ? true : undefined,
      );
      expect(await everything()).toEqual([...before, volume].sort());
      const { stdout: notes } = await run(
        helm,
        'install',
        'hw',
        chart,
        '-n',
        namespace,
        '--dry-run=client',
        ...set(values),
      );
      expect(notes).toContain(`kubectl --namespace ${namespace} delete persistentvolumeclaim hw-hostward-management`);
      await cluster.kubectl('delete', volume, '-n', namespace);
      await cluster.kubectlWith(copy, 'delete', '-n', namespace, '-f', '-');
      // It looks at everything that a server has, many times.
    }, 180_000);

    const hasRights = async (held: readonly Permission[]) => {
      for (const kind of ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'])
        for (const place of [namespace, records])
          await cluster.kubectl('delete', kind, 'hostward-installer-rights', '-n', place, '--ignore-not-found');
      if (held.length === 0) return;
      const text = grantsText({ user: installer.user, name: 'installer', lacked: held });
      expect(await cluster.kubectlWith(text, 'apply', '-f', '-')).toMatchObject({ code: 0 });
    };
    const installerKubeconfig = () => {
      const kubeconfig = join(folder, 'installer.kubeconfig');
      writeFileSync(kubeconfig, cluster.kubeconfigFor({ token: installer.token }));
      return kubeconfig;
    };
    const install = async (held: readonly Permission[], values: readonly string[]) => {
      await hasRights(held);
      const asInstaller = (...words: string[]) =>
        runProgram({ kubeconfig: installerKubeconfig(), folder }, helm, ...words, '-n', namespace);
      const ended = await asInstaller('install', 'hw', chart, ...set(values));
      if (ended.code === 0) {
        // One replica needs no budget of disruptions, so the upgrade deletes it.
        const fewer = await asInstaller('upgrade', 'hw', chart, ...set([...values, 'sync.replicas=1']));
        expect(fewer).toMatchObject({ code: 0 });
        expect((await everything()).filter((one) => one.includes('poddisruptionbudget'))).toEqual([]);
        expect(await asInstaller('uninstall', 'hw')).toMatchObject({ code: 0 });
      }
      await run(helm, 'uninstall', 'hw', '-n', namespace, '--ignore-not-found', '--wait');
      return ended;
    };
    const isReadingNamespaces = ({ verb, resource }: Permission) => verb === 'get' && resource === 'namespaces';

    it.each([
      ['by default', [], {}],
      ['with namespace mapping', switches['namespace mapping'] ?? [], { isMapped: true }],
      ['with references', switches['references'] ?? [], { hasReferences: true }],
    ])(
      'is installed %s with the rights that doctor --pre counts, and not without the smallest of them',
      async (_, values, wants) => {
        const none = { isMapped: false, hasReferences: false, hasMonitoring: false };
        const rights = rightsToInstall({ namespace, ...none, ...wants });
        const lost = rights.find(isReadingNamespaces);
        expect(lost).toBeDefined();
        expect(
          await install(
            rights.filter((one) => one !== lost),
            values,
          ),
        ).toMatchObject({
          code: 1,
          stderr: expect.stringContaining('forbidden'),
        });
        expect(await install(rights, values)).toMatchObject({ code: 0 });
      },
    );

    it('is installed with every switch and the rights that doctor --manifests counts, which doctor then finds', async () => {
      const values = [
        ...['networkPolicy.enabled=true', 'admissionPolicy.enabled=true', 'monitoring.dashboard=true'],
        // The records have a namespace here already.
        ...[...replicated, 'management.store.createNamespace=false', ...(switches['namespace mapping'] ?? [])],
      ];
      const file = join(folder, 'rendered.yaml');
      writeFileSync(file, (await template(...values)).text);
      const doctor = async (...more: string[]) => {
        const words = ['--vcluster-name', 'my-vcluster', '--host-namespace', namespace, '--manifests', file];
        const both = ['--host-kubeconfig', '--virtual-kubeconfig'].flatMap((one) => [one, installerKubeconfig()]);
        return run(process.execPath, join(root, 'src', 'main.ts'), 'doctor', ...words, ...both, ...more);
      };
      const found = async () => {
        const { checks } = JSON.parse((await doctor('-o', 'json')).stdout) as { checks: { code: string }[] };
        return checks.find(({ code }) => code === 'HW-508');
      };
      await hasRights([]);
      expect(await found()).toMatchObject({ verdict: 'fault' });
      const { code, stdout: grants } = await doctor('--rights', 'host');
      expect(code).toBe(0);
      expect(await cluster.kubectlWith(grants, 'apply', '-f', '-')).toMatchObject({ code: 0 });
      expect(await found()).toMatchObject({ verdict: 'ok' });
      const words = ['install', 'hw', chart, '-n', namespace, ...set(values)];
      expect(await runProgram({ kubeconfig: installerKubeconfig(), folder }, helm, ...words)).toMatchObject({
        code: 0,
      });
      await run(helm, 'uninstall', 'hw', '-n', namespace, '--wait');
      await cluster.kubectl('delete', 'persistentvolumeclaims', '--all', '-n', namespace);
      expect(await cluster.kubectlWith(grants, 'delete', '-f', '-')).toMatchObject({ code: 0 });
    });

    it('is installed by the command of docs/quick-start.md', async () => {
      const page = readFileSync(join(root, 'docs', 'quick-start.md'), 'utf8');
      const command = commandsIn(page)
        .flat()
        .find(({ words }) => words.includes('config/chart'));
      const [, ...words] = command?.words ?? [];
      const inSources = words.map((word) => (word === 'config/chart' ? chart : word));
      expect(await run(helm, ...inSources)).toMatchObject({ code: 0, stderr: '' });
      expect(await everything()).toContain('deployment.apps/hostward');
      expect(await run(helm, 'uninstall', 'hostward', '-n', namespace, '--wait')).toMatchObject({ code: 0 });
    });

    it('mends a Role that somebody broke by hand, with the words of docs/doctor.md, and can be upgraded afterwards', async () => {
      const page =
        readFileSync(join(root, 'docs', 'doctor.md'), 'utf8')
          .split('### HW-502')[1]
          ?.split('###')[0] ?? '';
      const [, command = ''] = /`(helm upgrade [^`]*)`/.exec(page) ?? [];
      const words = command
        .split(' ')
        .slice(1)
        .map((word) => (word === 'config/chart' ? chart : word));
      expect(page).toContain('`--force-conflicts` too if Helm 4');
      const forced = program === 'helm4' ? ['--force-conflicts'] : [];
      expect(await run(helm, 'install', 'hostward', chart, '-n', namespace, ...set([]))).toMatchObject({ code: 0 });
      const rules = () => cluster.kubectl('get', 'role', 'hostward', '-n', namespace, '-o', 'jsonpath={.rules}');
      const whole = (await rules()).stdout;
      const role = JSON.parse((await cluster.kubectl('get', 'role', 'hostward', '-n', namespace, '-o', 'json')).stdout);
      expect(await cluster.kubectlWith(JSON.stringify({ ...role, rules: [] }), 'replace', '-f', '-')).toMatchObject({
        code: 0,
      });
      expect((await rules()).stdout).not.toBe(whole);
      // Without the option Helm 4 changes nothing, and says why.
      if (forced.length > 0)
        expect(await run(helm, ...words)).toMatchObject({
          code: 1,
          stderr: expect.stringContaining('conflict with "kubectl'),
        });
      expect(await run(helm, ...words, ...forced)).toMatchObject({ code: 0 });
      expect((await rules()).stdout).toBe(whole);
      expect(await run(helm, ...words)).toMatchObject({ code: 0 });
      expect(await run(helm, 'uninstall', 'hostward', '-n', namespace, '--wait')).toMatchObject({ code: 0 });
    });

    it('leaves the Lease of another installation alone', async () => {
      await cluster.kubectlWith(
        `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"hostward-my-vcluster","namespace":"${namespace}"}}`,
        ...['create', '-f', '-'],
      );
      expect(await run(helm, 'install', 'hw', chart, '-n', namespace, ...set([]))).toMatchObject({ code: 0 });
      expect(await run(helm, 'uninstall', 'hw', '-n', namespace, '--wait')).toMatchObject({ code: 0 });
      expect(await everything()).toContain('lease.coordination.k8s.io/hostward-my-vcluster');
      await cluster.kubectl('delete', 'lease', 'hostward-my-vcluster', '-n', namespace);
    });

    it('is installed with what hostward install prints', async () => {
      const words = ['--vcluster-name', 'my-vcluster', '--image', `registry.example/hw@sha256:${'a'.repeat(64)}`];
      const printed = async (what: string, ...more: string[]) => {
        const { code, stdout } = await run(
          process.execPath,
          join(root, 'src', 'main.ts'),
          'install',
          what,
          ...words,
          ...more,
        );
        expect(code).toBe(0);
        return stdout;
      };
      const file = join(folder, 'chart-values.yaml');
      writeFileSync(file, await printed('chart-values'));
      const { code, stdout } = await run(helm, 'template', 'hw', chart, '-n', namespace, '-f', file);
      expect(code).toBe(0);
      expect(stdout).toContain(`image: registry.example/hw@sha256:${'a'.repeat(64)}`);
      for (const text of [stdout, await printed('manifests'), await printed('manifests', '--mapped')])
        expect(
          await cluster.kubectlWith(text, 'apply', '--dry-run=server', '--validate=strict', '-f', '-'),
        ).toMatchObject({ code: 0, stderr: '' });
    });
  });
});

describe.skipIf(!isAnywhere)('the samples without helm', { timeout: 60_000 }, () => {
  it('are applied and deleted by kubectl, and leave nothing behind', async () => {
    const folderOf = join(root, 'config');
    const before = await everything();
    expect(await cluster.kubectl('apply', '-k', folderOf)).toMatchObject({ code: 0 });
    expect(await everything()).toContain('deployment.apps/hostward');
    const started = performance.now();
    expect(await cluster.kubectl('delete', '-k', folderOf, '--wait')).toMatchObject({ code: 0 });
    await until('an end of all pods', async () => ((await everything()).length === before.length ? true : undefined));
    expect(performance.now() - started).toBeLessThan(60_000);
    expect(await everything()).toEqual(before);
    expect(parseYaml(readFileSync(join(folderOf, 'kustomization.yaml'), 'utf8')).resources).toContain('role.yaml');
  });
});
