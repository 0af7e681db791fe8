// Our values in the chart of vCluster itself, of the oldest version that knows sidecars and of a new one: the pod, the rights, and the
// names by which other pods reach its API server.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, parse as parseYaml } from 'yaml';
import { type KubeCluster, startKube } from '../start/start.ts';
import { chartSkipReason, helms, root, run, tools } from './helm.ts';

const namespace = 'vcluster-my-vcluster';
// Nothing of vCluster is fetched here: .ci/vcluster does it, and prints the folder that holds its sources, one folder a version.
const sources = process.env['HOSTWARD_VCLUSTER_SOURCES'] ?? '';
const versions = ['v0.30.0', 'v0.34.0'] as const;
const missing = versions.find((version) => sources === '' || !existsSync(join(sources, version, 'chart')));
const reason =
  chartSkipReason() ??
  chartSkipReason('helm4') ??
  (missing && `HOSTWARD_VCLUSTER_SOURCES names no folder with the sources of vCluster ${missing}`);

/** What the certificate of vCluster's API server holds of such names, as seen in a running one of 0.30 and of 0.34. */
const certified = (name: string, hostNamespace: string) => [name, `${name}.${hostNamespace}`];

interface Container {
  readonly name: string;
  readonly volumeMounts: readonly { readonly name: string }[];
}
interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules?: readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[];
  readonly spec?: {
    readonly ports?: readonly { readonly port: number }[];
    readonly template?: {
      readonly spec: {
        readonly containers: readonly Container[];
        readonly volumes: readonly { readonly name: string }[];
      };
    };
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
  };
}

it('our pods reach vCluster under a name that its certificate holds', () => {
  const { hostname, port } = new URL(virtualServer());
  expect([certified('my-vcluster', namespace), port]).toEqual([expect.arrayContaining([hostname]), '']);
});

function virtualServer(): string {
  const deployment = parseAllDocuments(readFileSync(shipped('deployment.yaml'), 'utf8')).map((one) => one.toJS());
  return parseYaml(deployment.find(({ kind }) => kind === 'ConfigMap').data['hostward.yaml']).hostward.virtualServer;
}

function shipped(file: string): string {
  return join(root, 'config', file);
}

describe.skipIf(reason !== undefined)(
  `the chart of vCluster${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  { timeout: 60_000 },
  () => {
    let cluster: KubeCluster;
    let folder: string;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'hostward-vcluster-'));
      cluster = await startKube({ name: 'vcluster-chart' });
      await cluster.kubectl('create', 'namespace', namespace);
    });
    afterAll(async () => {
      await cluster?.stop();
      rmSync(folder, { recursive: true, force: true });
    });
    const template = async (version: string, name: string, values: string, program: keyof typeof helms = 'Helm 3') => {
      const words = ['template', name, join(sources, version, 'chart'), '-n', namespace, '-f', values];
      const { code, stdout, stderr } = await run(
        { kubeconfig: cluster.kubeconfigPath, folder },
        join(tools, helms[program]),
        ...words,
      );
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const manifests = parseAllDocuments(stdout).map((document) => document.toJS() as Manifest | null);
      return { text: stdout, manifests: manifests.filter((one) => one !== null) };
    };
    const cases = versions.flatMap((version) =>
      ['sidecar-values.yaml', 'vcluster.yaml'].flatMap((file) =>
        (Object.keys(helms) as (keyof typeof helms)[]).map((program) => [version, file, program] as const),
      ),
    );

    it.each(cases)('of %s takes config/%s with %s, and the server takes the result', async (version, file, program) => {
      const { text, manifests } = await template(version, 'my-vcluster', shipped(file), program);
      expect(await cluster.kubectlWith(text, 'apply', '--dry-run=server', '-n', namespace, '-f', '-')).toMatchObject({
        code: 0,
      });
      // Where an etcd of other pods keeps its data, vCluster itself is a Deployment.
      const { spec } =
        manifests.find(
          ({ kind, metadata }) => /^(StatefulSet|Deployment)$/.test(kind) && metadata.name === 'my-vcluster',
        ) ?? {};
      const { containers = [], volumes = [] } = spec?.template?.spec ?? {};
      const ours = containers.find(({ name }) => name === 'hostward');
      const known = [
        ...volumes.map(({ name }) => name),
        ...(spec?.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name),
      ];
      expect(ours?.volumeMounts.map(({ name }) => name)).toEqual(['data', 'vcluster-config']);
      for (const { name } of ours?.volumeMounts ?? []) expect(known).toContain(name);
      const granted = manifests
        .filter(({ kind }) => kind === 'Role')
        .flatMap(({ rules = [] }) => rules)
        .flatMap(({ resources, verbs }) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`)));
      for (const resource of ['endpoints', 'endpointslices'])
        for (const verb of ['get', 'list', 'watch', 'create', 'patch', 'delete'])
          expect(granted).toContain(`${verb} ${resource}`);
    });

    it.each(versions)('of %s takes what hostward install prints for another name', async (version) => {
      const words = ['install', 'values', '--vcluster-name', 'shop', '--host-namespace', namespace];
      const { stdout } = await run(
        { kubeconfig: '', folder },
        process.execPath,
        join(root, 'src', 'main.ts'),
        ...words,
      );
      const file = join(folder, 'values.yaml');
      writeFileSync(file, stdout);
      expect((await template(version, 'shop', file)).text).toContain('name: hostward');
    });

    it.each(versions)('of %s has a Service and a certificate for the name that our pods use', async (version) => {
      const { manifests } = await template(version, 'my-vcluster', shipped('sidecar-values.yaml'));
      const service = manifests.find(({ kind, metadata }) => kind === 'Service' && metadata.name === 'my-vcluster');
      expect(service?.spec?.ports?.map((one) => one.port)).toContain(443);
      // How the API server of vCluster names itself, in Go: parts of texts and two fields.
      const source = readFileSync(join(sources, version, 'pkg', 'server', 'cert', 'cert.go'), 'utf8');
      const expressions = source.match(/vConfig\.Name(?:\+(?:"[^"]*"|vConfig\.HostNamespace))*/g) ?? [];
      const names = expressions.map((one) =>
        one.replace(/"|\+/g, '').replace('vConfig.Name', 'my-vcluster').replace('vConfig.HostNamespace', namespace),
      );
      expect(names).toEqual(expect.arrayContaining(certified('my-vcluster', namespace)));
    });
  },
);
