// The chart on a real API server: every switch is accepted, an installation is complete, and its end leaves nothing behind.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, parse as parseYaml } from 'yaml';
import { grantsText } from '../../../src/cli/doctor/grants.ts';
import { rightsToInstall } from '../../../src/cli/doctor/patient/chart-rights.ts';
import type { Permission } from '../../../src/cluster/wire/probe.ts';
import { until } from '../../contract/sync-stage/backend.ts';
import { commandsIn } from '../../documents/commands-in.ts';
import { type KubeCluster, startKube } from '../start/start.ts';
import { replicated, switches } from './chart-switches.ts';
import { chart, chartSkipReason, helms, root, run as runProgram, set, tools } from './helm.ts';

const namespace = 'vcluster-my-vcluster';
/** Has the rights that a test gives him. */
const installer = { token: 'installer-token', user: 'installer' };
/** Of the keys, with the store in the cluster. */
const records = `${namespace}-records`;

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly Record<string, string[]>[];
  readonly data?: Readonly<Record<string, string>>;
}

describe.each(Object.entries(helms))('the chart with %s', { timeout: 60_000 }, (_, program) => {
  const reason = chartSkipReason(program);
  const helm = join(tools, program);
  describe.skipIf(reason !== undefined)(reason === undefined ? 'on a real API server' : `skipped: ${reason}`, () => {
    let cluster: KubeCluster;
    let folder: string;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'hostward-chart-'));
      cluster = await startKube({ name: `chart-${program}`, controllerManager: true, users: [installer] });
      for (const name of [namespace, records, 'b']) await cluster.kubectl('create', 'namespace', name, '--save-config');
    });
    afterAll(async () => {
      await cluster?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    const run = (program: string, ...words: string[]) =>
      runProgram({ kubeconfig: cluster.kubeconfigPath, folder }, program, ...words);
    const rendered = async (...values: string[]) => {
      const words = ['template', 'hw', chart, '--namespace', namespace, ...set(values)];
      const { code, stdout, stderr } = await run(helm, ...words);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const documents = parseAllDocuments(stdout).map((document) => document.toJS() as Manifest | null);
      return { text: stdout, manifests: documents.filter((one) => one !== null) };
    };
    /** Several tests look at the same ones. */
    const known = new Map<string, ReturnType<typeof rendered>>();
    const template = (...values: string[]) => {
      const key = values.join();
      const found = known.get(key) ?? rendered(...values);
      known.set(key, found);
      return found;
    };
    const rulesOf = ({ manifests }: { manifests: readonly Manifest[] }, kind: string) =>
      manifests.filter((one) => one.kind === kind).flatMap(({ rules }) => rules ?? []);

    it('passes helm lint', async () => {
      const { code, stdout } = await run(helm, 'lint', '--strict', chart, ...set([]));
      expect({ code, stdout: stdout.replace(/\[INFO\].*/g, '') }).toMatchObject({ code: 0 });
      expect(stdout).not.toMatch(/\[(WARNING|ERROR)\]/);
    });

    it.each(Object.entries(switches))('is accepted by the server with %s', async (_, values) => {
      const { text, manifests } = await template(...values);
      expect(
        await cluster.kubectlWith(text, 'apply', '--dry-run=server', '--validate=strict', '-f', '-'),
      ).toMatchObject({
        code: 0,
        stderr: '',
      });
      for (const { metadata } of manifests) expect([namespace, records, undefined]).toContain(metadata.namespace);
    });

    it.each(Object.entries(switches))('writes a configuration that check accepts with %s', async (_, values) => {
      const { manifests } = await template(...values);
      const configurations = manifests.flatMap(({ data }) => data?.['hostward.yaml'] ?? []);
      expect(configurations).not.toEqual([]);
      for (const text of configurations) {
        const file = join(folder, 'hostward.yaml');
        writeFileSync(file, text);
        const words = [join(root, 'src', 'main.ts'), 'check', '--no-files', '--config', file];
        expect(await run(process.execPath, ...words)).toMatchObject({ code: 0 });
      }
    });

    it('makes monitors only where the cluster knows their kinds', async () => {
      const kinds = ['ServiceMonitor', 'PrometheusRule'];
      const without = await template();
      expect(without.manifests.filter(({ kind }) => kinds.includes(kind))).toEqual([]);
      const known = kinds.flatMap((kind) => ['--api-versions', `monitoring.coreos.com/v1/${kind}`]);
      const { stdout } = await run(helm, 'template', 'hw', chart, '-n', namespace, ...set([]), ...known);
      const found = parseAllDocuments(stdout).map((document) => (document.toJS() as Manifest | null)?.kind);
      expect(found).toEqual(expect.arrayContaining(kinds));
    });

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

    it.each([
      [['sync.enabled=false'], 'so nothing would be installed'],
      [['sync.resources.limits.memry=1Gi'], "'/sync/resources/limits': additional properties 'memry' not allowed"],
      [['management.enabled=true', 'management.volume.size=large'], "'large' does not match pattern"],
      [
        ['management.enabled=true', 'management.replicas=2'],
        'management.replicas is 2, and a database file serves one',
      ],
      [[...replicated, `management.store.namespace=${namespace}`], 'is the namespace of the release'],
      [[...replicated, 'management.secrets.volume.accessMode=ReadWriteOnce'], '2 replicas share that volume'],
    ])('refuses what cannot work, %j, in one sentence', async (values, says) => {
      expect(await run(helm, 'template', 'hw', chart, '-n', namespace, ...set(values))).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(says),
      });
    });

    it('spreads several replicas, and lets one of them be evicted at a time', async () => {
      const [one, two] = await Promise.all(
        [replicated.filter((value) => !value.includes('replicas')), replicated].map((values) =>
          template('sync.enabled=false', ...values),
        ),
      );
      const budgets = (found: typeof two) => found?.manifests.filter(({ kind }) => kind === 'PodDisruptionBudget');
      expect([budgets(one)?.length, budgets(two)?.length]).toEqual([0, 1]);
      expect(two?.text).toContain('topologySpreadConstraints');
      expect(two?.text).toContain('kind: StatefulSet');
    });

    it('gives the rights of config/role.yaml and config/cluster-role.yaml', async () => {
      const shipped = (file: string, kind: string) =>
        parseAllDocuments(readFileSync(join(root, 'config', file), 'utf8'))
          .map((document) => document.toJS() as Manifest)
          .filter((one) => one.kind === kind)
          .flatMap(({ rules }) => rules ?? []);
      expect(rulesOf(await template(), 'Role')).toEqual(shipped('role.yaml', 'Role'));
      const mapped = await template(...(switches['namespace mapping'] ?? []));
      expect(rulesOf(mapped, 'ClusterRole')).toEqual(shipped('cluster-role.yaml', 'ClusterRole'));
      expect(rulesOf(mapped, 'Role')).toEqual(shipped('cluster-role.yaml', 'Role'));
    });

    it('names a value that is misspelt, and asks for the name of the virtual cluster', async () => {
      for (const [value, wrong] of [
        ['sync.replica=3', 'replica'],
        ['sync.hostward.endpoint.enabled=true', 'endpoint'],
        ['sync.toHost.endpoints.patch=[]', 'patch'],
        ['sync.toHost.endpoins.enabled=true', 'endpoins'],
        ['management.configuration.user=alice', 'user'],
      ] as const)
        expect(await run(helm, 'template', 'hw', chart, ...set([value]))).toMatchObject({
          code: 1,
          stderr: expect.stringContaining(`additional properties '${wrong}' not allowed`),
        });
      const nameless = await run(helm, 'template', 'hw', chart);
      expect(nameless).toMatchObject({ code: 1, stderr: expect.stringContaining('sync.vcluster.name is needed') });
    });

    it('has a pod take the lease, and the right to it, with any number of replicas', async () => {
      const [one, two] = await Promise.all([template('sync.replicas=1'), template('sync.replicas=2')]);
      const kept = ({ manifests }: { manifests: readonly Manifest[] }) =>
        manifests.filter(({ kind }) => ['ConfigMap', 'Role', 'Lease'].includes(kind));
      expect(kept(one)).toEqual(kept(two));
      expect(
        kept(one)
          .map(({ kind }) => kind)
          .sort(),
      ).toEqual(['ConfigMap', 'Lease', 'Role']);
      expect(one.text).toContain('leaderElection: always');
    });

    it.each([
      ['sync.hostward.virtualClusterName=other', 'set sync.vcluster.name'],
      ['sync.hostward.hostNamespace=other', 'it is the namespace of the release'],
      ['sync.hostward.virtualKubeconfig=/x', 'set sync.vcluster.kubeconfigSecret'],
      ['sync.hostward.virtualServer=https://x', 'set sync.vcluster.server'],
      ['sync.hostward.hostKubeconfig=/x', 'the pods use their ServiceAccount'],
      ['sync.hostward.leaderElection=never', 'it is always'],
      ['sync.hostward.listen=127.0.0.1:9440', 'it is 0.0.0.0:9440'],
      ['management.configuration.listen=0.0.0.0:1', 'it is 0.0.0.0:8443'],
      ['management.configuration.ingressListen=0.0.0.0:1', 'it is 0.0.0.0:9443'],
      ['management.configuration.baseURL=https://x', 'set management.baseURL'],
      ['management.configuration.dataDir=/x', 'it is in the volume'],
      ['management.configuration.tls.key=/x', 'set management.tlsSecret'],
      ['management.configuration.secretsDir=/x', 'set management.secrets'],
      ['management.configuration.store.kubernetes.namespace=x', 'set management.store'],
    ])('refuses what it writes itself, %s, and says what counts', async (value, instead) => {
      expect(await run(helm, 'template', 'hw', chart, ...set([value]))).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(new RegExp(`left out, because the chart writes .*${instead}`)),
      });
    });

    it.each(['podLabels', 'podAnnotations', 'nodeSelector', 'monitoring.labels'])(
      'wants strings in %s',
      async (path) => {
        expect(await run(helm, 'template', 'hw', chart, ...set([`${path}.x=true`]))).toMatchObject({
          code: 1,
          stderr: expect.stringContaining('got boolean, want string'),
        });
      },
    );

    it('refuses the wall on a host that cannot read its expressions', async () => {
      const words = ['template', 'hw', chart, ...set(['admissionPolicy.enabled=true'])];
      expect(await run(helm, ...words, '--kube-version', '1.30.0')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('wants Kubernetes 1.31 or newer, found v1.30.0'),
      });
      expect(await run(helm, ...words, '--kube-version', '1.31.0')).toMatchObject({ code: 0 });
    });

    it('names the policies by release and namespace, because they are cluster-scoped', async () => {
      const { manifests } = await template('admissionPolicy.enabled=true');
      const names = manifests
        .filter(({ metadata }) => metadata.namespace === undefined)
        .map(({ metadata }) => metadata.name);
      expect(names).toHaveLength(4);
      for (const name of names) expect(name).toMatch(new RegExp(`^hw-hostward-${namespace}-endpoint(s|slices)$`));
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

    it('is installed, upgraded from earlier values, and uninstalled; only the volume with the keys stays', async () => {
      const before = await everything();
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
      // It looks at everything that a server has, many times.
    }, 180_000);

    it.each([
      ['by default', [], {}],
      ['with namespace mapping', switches['namespace mapping'] ?? [], { isMapped: true }],
      ['with references', switches['references'] ?? [], { hasReferences: true }],
    ])(
      'is installed %s with the rights that doctor --pre counts, and not without the smallest of them',
      async (_, values, wants) => {
        const none = { isMapped: false, hasReferences: false, hasMonitoring: false };
        const rights = rightsToInstall({ namespace, ...none, ...wants });
        const kubeconfig = join(folder, 'installer.kubeconfig');
        writeFileSync(kubeconfig, cluster.kubeconfigFor({ token: installer.token }));
        const install = async (held: readonly Permission[]) => {
          const text = grantsText({ user: installer.user, name: 'installer', lacked: held });
          for (const kind of ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'])
            await cluster.kubectl('delete', kind, 'hostward-installer-rights', '-n', namespace, '--ignore-not-found');
          expect(await cluster.kubectlWith(text, 'apply', '-f', '-')).toMatchObject({ code: 0 });
          const words = ['install', 'hw', chart, '-n', namespace, ...set(values)];
          const ended = await runProgram({ kubeconfig, folder }, helm, ...words);
          await run(helm, 'uninstall', 'hw', '-n', namespace, '--ignore-not-found', '--wait');
          return ended;
        };
        const lost = rights.find(({ verb, resource }) => verb === 'get' && resource === 'namespaces');
        expect(lost).toBeDefined();
        expect(await install(rights.filter((one) => one !== lost))).toMatchObject({
          code: 1,
          stderr: expect.stringContaining('forbidden'),
        });
        expect(await install(rights)).toMatchObject({ code: 0 });
      },
    );

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

    it('has a twin without helm that kubectl applies and deletes', async () => {
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
});
