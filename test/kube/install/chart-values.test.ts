// What the chart makes of values, with both Helms and without a cluster: which objects, which rights, and what it refuses.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { replicated, switches } from './chart-switches.ts';
import {
  chart,
  chartSkipReason,
  helms,
  type Manifest,
  namespace,
  renderer,
  root,
  run as runProgram,
  set,
  tools,
} from './helm.ts';

interface Workload {
  readonly spec: { readonly template: { readonly metadata: { readonly labels: object }; readonly spec: object } };
}

/** Configurations of the same bytes, whatever Helm and switch they come from, are checked once. */
const accepted = new Set<string>();

describe.each(Object.entries(helms))('the chart, rendered by %s', { timeout: 60_000 }, (_, program) => {
  const reason = chartSkipReason(program);
  const helm = join(tools, program);
  describe.skipIf(reason !== undefined)(reason === undefined ? 'without a cluster' : `skipped: ${reason}`, () => {
    let folder: string;
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'hostward-values-'));
    });
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    const where = () => ({ kubeconfig: join(folder, 'none'), folder });
    const run = (program: string, ...words: string[]) => runProgram(where(), program, ...words);
    const template = renderer(helm, where);
    const rulesOf = ({ manifests }: { manifests: readonly Manifest[] }, kind: string) =>
      manifests.filter((one) => one.kind === kind).flatMap(({ rules }) => rules ?? []);

    it('passes helm lint', async () => {
      const { code, stdout } = await run(helm, 'lint', '--strict', chart, ...set([]));
      expect({ code, stdout: stdout.replace(/\[INFO\].*/g, '') }).toMatchObject({ code: 0 });
      expect(stdout).not.toMatch(/\[(WARNING|ERROR)\]/);
    });

    it.each(Object.entries(switches))('writes a configuration that check accepts with %s', async (_, values) => {
      const { manifests } = await template(...values);
      const configurations = manifests.flatMap(({ data }) => data?.['hostward.yaml'] ?? []);
      expect(configurations).not.toEqual([]);
      for (const text of configurations) {
        if (accepted.has(text)) continue;
        const file = join(folder, 'hostward.yaml');
        writeFileSync(file, text);
        const words = [join(root, 'src', 'main.ts'), 'check', '--no-files', '--config', file];
        expect(await run(process.execPath, ...words)).toMatchObject({ code: 0 });
        accepted.add(text);
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

    it.each([
      ['nothing but the name', { Deployment: 1, PodDisruptionBudget: 1, Role: 1, RoleBinding: 1, ServiceAccount: 1 }],
      ['nothing but the name', { ClusterRole: 0, NetworkPolicy: 0, StatefulSet: 0, ValidatingAdmissionPolicy: 0 }],
      ['one replica', { PodDisruptionBudget: 0 }],
      ['namespace mapping', { ClusterRole: 1, ClusterRoleBinding: 1 }],
      ['the management API alone', { Deployment: 1, Lease: 0, PersistentVolumeClaim: 1, PodDisruptionBudget: 0 }],
      ['the wall of admission policies', { ValidatingAdmissionPolicy: 2, ValidatingAdmissionPolicyBinding: 2 }],
      ['network policies', { NetworkPolicy: 2 }],
      ['a dashboard', { ConfigMap: 2 }],
    ])('with %s makes %j', async (name, wanted) => {
      const { manifests } = await template(...(switches[name] ?? []));
      const counts = Object.keys(wanted).map((kind) => [kind, manifests.filter((one) => one.kind === kind).length]);
      expect(Object.fromEntries(counts)).toEqual(wanted);
    });

    it('gives the pods what the values say of image, secrets and nodes, and no right to be root or to write', async () => {
      const values = ['an image by digest, with pull secrets', 'where the pods go', 'network policies'] as const;
      const { manifests } = await template(...values.flatMap((name) => switches[name] ?? []));
      const pods = manifests.flatMap(({ kind, ...more }) => (kind === 'Deployment' ? [more as never as Workload] : []));
      expect(pods).toHaveLength(2);
      for (const { spec } of pods) {
        expect(spec.template.metadata.labels).toMatchObject({ d: 'e' });
        expect(spec.template.spec).toMatchObject({
          imagePullSecrets: [{ name: 'registry' }],
          nodeSelector: { a: 'b' },
          tolerations: [{ key: 'c' }],
          priorityClassName: 'high',
          securityContext: { runAsNonRoot: true, runAsUser: 65532 },
          containers: [
            {
              image: `hostward@sha256:${'0'.repeat(64)}`,
              securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
            },
          ],
        });
      }
    });

    it('has the dashboard and the alerts of its files in the objects', async () => {
      const dashboard = readFileSync(join(chart, 'files', 'dashboard.json'), 'utf8');
      const { manifests } = await template('monitoring.dashboard=true');
      const texts = manifests.flatMap(({ data }) => data?.['hostward.json'] ?? []);
      expect(texts.map((text) => JSON.parse(text))).toEqual([JSON.parse(dashboard)]);
      const known = ['--api-versions', 'monitoring.coreos.com/v1/PrometheusRule'];
      const { stdout } = await run(helm, 'template', 'hw', chart, ...set([]), ...known);
      const rule = parseAllDocuments(stdout)
        .map((document) => document.toJS() as { kind: string; spec: unknown } | null)
        .find((one) => one?.kind === 'PrometheusRule');
      expect(rule?.spec).toEqual(parse(readFileSync(join(chart, 'files', 'rules.yaml'), 'utf8')));
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

    it.each(['10.96.0.1', 'banana', '10.0.0.0/33'])('says what a network is instead of %s', async (value) => {
      const { code, stderr } = await run(
        helm,
        'template',
        'hw',
        chart,
        ...set([`sync.hostward.addressPolicy.deny[0]=${value}`]),
      );
      expect(code).toBe(1);
      expect(stderr).toContain("/deny/0': value must be 'a network such as 10.0.0.0/8");
      expect(stderr.length).toBeLessThan(400);
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
  });
});
