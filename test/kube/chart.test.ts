// The chart on a real API server: every switch is accepted, an installation is complete, and its end leaves nothing behind.
import { execFile } from 'node:child_process';
import { accessSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, parse as parseYaml } from 'yaml';
import { kubeAssets } from './assets.ts';
import { type KubeCluster, startKube } from './start.ts';

const root = join(import.meta.dirname, '..', '..');
const chart = join(root, 'config', 'chart');
const helm = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'hostward', 'tools', 'helm');
const namespace = 'vcluster-my-vcluster';

const assets = kubeAssets();
const reason = assets.found === undefined ? assets.reason : isThere(helm) ? undefined : 'no helm; run .ci/tools helm';

function isThere(program: string): boolean {
  try {
    accessSync(program, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly Record<string, string[]>[];
  readonly data?: Readonly<Record<string, string>>;
}

/** Each switch of the chart, one after the other, and all of them together. */
const switches: Readonly<Record<string, readonly string[]>> = {
  'nothing but the name': [],
  'one replica': ['sync.replicas=1'],
  'an image by digest, with pull secrets': [`image.digest=sha256:${'0'.repeat(64)}`, 'pullSecrets[0]=registry'],
  references: ['sync.references=true', 'sync.toHost.secrets.enabled=true'],
  'namespace mapping': ['sync.toHost.namespaces.enabled=true', 'sync.toHost.namespaces.mappings.byName.a=b'],
  'namespace mapping without cluster-scoped objects': [
    'cluster=false',
    'sync.toHost.namespaces.enabled=true',
    'sync.toHost.namespaces.mappings.byName.a=b',
  ],
  'the management API alone': ['sync.enabled=false', 'management.enabled=true'],
  'the management API with its Secrets': [
    'management.enabled=true',
    'management.tlsSecret=t',
    'management.upstreamsSecret=u',
  ],
  'network policies': ['networkPolicy.enabled=true', 'management.enabled=true'],
  'where the pods go': ['nodeSelector.a=b', 'tolerations[0].key=c', 'priorityClassName=high', 'podLabels.d=e'],
};

describe.skipIf(reason !== undefined)(
  `the chart${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  { timeout: 60_000 },
  () => {
    let cluster: KubeCluster;
    let folder: string;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'hostward-chart-'));
      cluster = await startKube({ name: 'chart', controllerManager: true });
      for (const name of [namespace, 'b']) await cluster.kubectl('create', 'namespace', name);
    });
    afterAll(async () => {
      await cluster?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    const run = (program: string, ...words: string[]) =>
      new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
        const env = {
          ...process.env,
          KUBECONFIG: cluster.kubeconfigPath,
          HELM_CACHE_HOME: folder,
          HELM_CONFIG_HOME: folder,
        };
        execFile(program, words, { env, maxBuffer: 2 ** 24 }, (fault, stdout, stderr) =>
          resolve({ code: typeof fault?.code === 'number' ? fault.code : fault === null ? 0 : 1, stdout, stderr }),
        );
      });
    const set = (values: readonly string[]) =>
      ['sync.vcluster.name=my-vcluster', ...values].flatMap((one) => ['--set', one]);
    const template = async (...values: string[]) => {
      const { code, stdout, stderr } = await run(
        helm,
        'template',
        'hw',
        chart,
        '--namespace',
        namespace,
        ...set(values),
      );
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const documents = parseAllDocuments(stdout).map((document) => document.toJS() as Manifest | null);
      return { text: stdout, manifests: documents.filter((one) => one !== null) };
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
      for (const { metadata } of manifests) expect([namespace, undefined]).toContain(metadata.namespace);
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
      const values = switches['namespace mapping without cluster-scoped objects'] ?? [];
      const { manifests } = await template(...values);
      expect(manifests.filter(({ kind }) => kind.startsWith('Cluster'))).toEqual([]);
      const { stdout } = await run(helm, 'install', 'hw', chart, '-n', namespace, '--dry-run=client', ...set(values));
      expect(stdout).toContain('config/cluster-role.yaml');
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
      const misspelt = await run(helm, 'template', 'hw', chart, ...set(['sync.replica=3']));
      expect(misspelt).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("additional properties 'replica' not allowed"),
      });
      const nameless = await run(helm, 'template', 'hw', chart);
      expect(nameless).toMatchObject({ code: 1, stderr: expect.stringContaining('sync.vcluster.name is needed') });
    });

    it('is installed, upgraded and uninstalled, and only the volume with the keys stays', async () => {
      const values = [
        'management.enabled=true',
        'networkPolicy.enabled=true',
        ...(switches['namespace mapping'] ?? []),
      ];
      const change = (verb: string, ...more: string[]) =>
        run(helm, verb, 'hw', chart, '-n', namespace, ...set([...values, ...more]));
      expect(await change('install', 'sync.replicas=1')).toMatchObject({ code: 0 });
      expect(await change('upgrade')).toMatchObject({ code: 0 });
      const labelled = async () => {
        const kinds =
          'all,serviceaccounts,configmaps,secrets,roles,rolebindings,clusterroles,clusterrolebindings,leases,networkpolicies,poddisruptionbudgets,persistentvolumeclaims';
        const words = ['get', kinds, '-n', namespace, '-l', 'app.kubernetes.io/instance=hw', '-o', 'name'];
        return (await cluster.kubectl(...words)).stdout
          .trim()
          .split('\n')
          .filter((line) => line !== '');
      };
      expect(await labelled()).toContain('deployment.apps/hw-hostward');
      expect(await labelled()).toContain('poddisruptionbudget.policy/hw-hostward');
      const started = performance.now();
      expect(await run(helm, 'uninstall', 'hw', '-n', namespace, '--wait')).toMatchObject({ code: 0 });
      expect(performance.now() - started).toBeLessThan(60_000);
      expect(await labelled()).toEqual(['persistentvolumeclaim/hw-hostward-management']);
    });

    it('has a twin without helm that kubectl applies and deletes', async () => {
      const folderOf = join(root, 'config');
      expect(await cluster.kubectl('apply', '-k', folderOf)).toMatchObject({ code: 0 });
      expect(await cluster.kubectl('delete', '-k', folderOf)).toMatchObject({ code: 0 });
      expect(parseYaml(readFileSync(join(folderOf, 'kustomization.yaml'), 'utf8')).resources).toContain('role.yaml');
    });
  },
);
