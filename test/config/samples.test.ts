import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { parseCommandLine } from '../../src/cli/line/parse-arguments.ts';
import { loadConfiguration } from '../../src/config/load/load.ts';
import { report, root } from './loading.ts';

const folder = join(root, 'config');
const read = (name: string) => ({ name, text: readFileSync(join(folder, name), 'utf8') });
const inPod = { environment: { VCLUSTER_NAME: 'my-vcluster', NAMESPACE: 'vcluster-my-vcluster' } };

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
  rules?: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
  data?: Record<string, string>;
}

interface Probe {
  httpGet: { path: string; port: string; scheme: string };
}

interface Deployment {
  spec: {
    replicas: number;
    strategy: { type: string };
    template: {
      spec: {
        containers: {
          args: string[];
          ports: { name: string; containerPort: number }[];
          livenessProbe: Probe;
          readinessProbe: Probe;
          volumeMounts: { name: string; mountPath: string }[];
        }[];
        volumes: { name: string }[];
      };
    };
  };
}

interface Values {
  sync: { toHost: Record<'endpoints' | 'endpointSlices', { enabled: boolean }> };
  controlPlane: { statefulSet: { sidecarContainers: Record<string, unknown>[] } };
}

function manifests(name: string): Manifest[] {
  return parseAllDocuments(read(name).text).map((document) => document.toJS() as Manifest);
}

/**
 * What the values of vCluster's chart may hold of what we set, from 0.30 on (read in its schema and its types on 2026-11-27). It refuses other keys
 * everywhere but below `global`. What belongs to the paid product is not here: the open source accepts it, and does not start.
 */
const takenByVcluster = new Set([
  'global',
  'sync.toHost.services.enabled',
  ...['endpoints', 'endpointSlices'].flatMap((kind) =>
    ['enabled', 'patches[].path', 'patches[].expression', 'patches[].reverseExpression'].map(
      (key) => `sync.toHost.${kind}.${key}`,
    ),
  ),
  'controlPlane.backingStore.etcd.deploy.enabled',
  'controlPlane.statefulSet.highAvailability.replicas',
  'controlPlane.statefulSet.sidecarContainers',
  'rbac.role.extraRules',
]);

/** The paths of all values; what vCluster hands on as it is counts as one value. */
function pathsIn(value: unknown, path = ''): string[] {
  if (path === 'global' || takenByVcluster.has(path)) return [path];
  if (Array.isArray(value)) return value.flatMap((one) => pathsIn(one, `${path}[]`));
  if (value === null || typeof value !== 'object') return [path];
  return Object.entries(value).flatMap(([key, one]) => pathsIn(one, path === '' ? key : `${path}.${key}`));
}

describe('the samples in config/', () => {
  it.each(['vcluster.yaml', 'sidecar-values.yaml'])(
    '%s sets only what the open-source chart of vCluster takes',
    (name) => {
      const paths = parseAllDocuments(read(name).text).flatMap((document) => pathsIn(document.toJS()));
      expect(paths.length).toBeGreaterThan(4);
      expect(paths.filter((path) => !takenByVcluster.has(path))).toEqual([]);
    },
  );

  it('would show a value that vCluster refuses, and one of the paid product', () => {
    const wrong = {
      sync: { toHost: { endpoints: { patches: [{ path: 'a', onMissing: 'create' }] } } },
      rbac: { extraRules: [] },
    };
    expect(pathsIn(wrong).filter((path) => !takenByVcluster.has(path))).toEqual([
      'sync.toHost.endpoints.patches[].onMissing',
    ]);
    expect(takenByVcluster).not.toContain('controlPlane.backingStore.etcd.embedded.enabled');
  });

  it.each([
    ['vcluster.yaml'],
    ['sidecar-values.yaml'],
    ['hostward.yaml'],
    ['patches.yaml'],
    ['deny-list.yaml'],
    ['hostward.yaml', 'deny-list.yaml'],
    ['vcluster.yaml', 'sidecar-values.yaml'],
    ['hostward.yaml', 'patches.yaml'],
    ['vcluster.yaml', 'hostward.yaml'],
  ])('load without a fault or a warning: %s %s', (...names) => {
    const loaded = loadConfiguration({ ...inPod, files: names.filter((name) => name !== undefined).map(read) });
    expect(report(loaded)).toBe('ok\n');
  });

  it('have exactly one writer of Endpoints', () => {
    const loaded = loadConfiguration({ ...inPod, files: [read('vcluster.yaml')] });
    if (loaded.kind !== 'ok') throw new Error(report(loaded));
    const { vcluster, endpointsEnabled, endpointSlices, patches, replicas } = loaded.settings;
    expect((vcluster['sync'] as { toHost: { endpoints: { enabled: boolean } } }).toHost.endpoints.enabled).toBe(false);
    expect([endpointsEnabled, endpointSlices.enabled, patches.length, replicas]).toEqual([true, true, 1, 3]);
  });

  it.each(['vcluster.yaml', 'sidecar-values.yaml'])("%s turns off vCluster's sync of the same addresses", (name) => {
    const values = manifests(name)[0] as unknown as Values;
    const { endpoints, endpointSlices } = values.sync.toHost;
    expect([endpoints.enabled, endpointSlices.enabled]).toEqual([false, false]);
  });

  // A container that is not ready makes its whole pod not ready. The virtual API server in the same pod would then lose its
  // Service, and the kubeconfigs of all tenants would fail whenever Hostward waits.
  it.each(['vcluster.yaml', 'sidecar-values.yaml'])('%s gives the sidecar no readiness probe', (name) => {
    const values = manifests(name)[0] as unknown as Values;
    const containers = values.controlPlane.statefulSet.sidecarContainers;
    expect(containers.map((container) => [container['name'], 'readinessProbe' in container])).toEqual([
      ['hostward', false],
    ]);
    expect(containers.every((container) => 'livenessProbe' in container && !('startupProbe' in container))).toBe(true);
  });

  it.each([['169.254.169.254', 'fd00:ec2::254', '100.100.100.200', '192.0.0.192', '168.63.129.16', '169.254.170.2']])(
    'deny the metadata services of clouds',
    (...addresses) => {
      const loaded = loadConfiguration({ ...inPod, files: [read('deny-list.yaml')] });
      if (loaded.kind !== 'ok') throw new Error(report(loaded));
      const denied = loaded.settings.addressPolicy.deny;
      for (const address of addresses) expect(denied.some((network) => network.split('/')[0] === address)).toBe(true);
      expect(new Set(denied).size).toBe(denied.length);
    },
  );

  it('grant exactly the rights that the daemon uses', () => {
    const rights = (name: string) =>
      manifests(name)
        .flatMap((manifest) => manifest.rules ?? [])
        .map((rule) => `${rule.resources.join()}: ${rule.verbs.join()}`);
    const wanted = [
      'endpoints: get,list,watch,create,patch,delete',
      'endpointslices: get,list,watch,create,patch,delete',
      'services: get,list,watch',
      'namespaces: get',
      'leases: get,create,update',
    ];
    expect(rights('role.yaml')).toEqual(wanted);
    expect(rights('cluster-role.yaml')).toEqual(wanted);
  });

  it('are manifests with matching references and a valid configuration', () => {
    const all = ['role.yaml', 'cluster-role.yaml', 'deployment.yaml'].flatMap(manifests);
    for (const { kind, apiVersion, metadata } of all) {
      expect([kind, apiVersion, metadata.name].every((text) => typeof text === 'string')).toBe(true);
      expect(metadata.namespace).toBe(kind.startsWith('Cluster') ? undefined : 'vcluster-my-vcluster');
    }
    const text = all.find((manifest) => manifest.kind === 'ConfigMap')?.data?.['hostward.yaml'] ?? '';
    expect(report(loadConfiguration({ files: [{ name: 'hostward.yaml', text }] }))).toBe('ok\n');
  });

  it('serve the management API from one pod, whose folder is on a volume and whose probes ask what is served', () => {
    const all = manifests('management.yaml');
    const one = (kind: string) => all.find((manifest) => manifest.kind === kind);
    for (const { metadata } of all) expect(metadata).toMatchObject({ name: 'hostward', namespace: 'hostward' });
    const text = one('ConfigMap')?.data?.['hostward.yaml'] ?? '';
    const loaded = loadConfiguration({ files: [{ name: 'hostward.yaml', text }] });
    expect(report(loaded)).toBe('ok\n');
    const { managementServer, management } = loaded.kind === 'ok' ? loaded.settings : {};
    const { spec } = one('Deployment') as unknown as Deployment;
    expect([spec.replicas, spec.strategy.type]).toEqual([1, 'Recreate']);
    const [container] = spec.template.spec.containers;
    const { volumeMounts = [], ports, livenessProbe, readinessProbe } = container ?? {};
    const mountOf = (file = '') => volumeMounts.find(({ mountPath }) => file.startsWith(`${mountPath}/`))?.name;
    const volumeOf = (file?: string) => spec.template.spec.volumes.find(({ name }) => name === mountOf(file));
    expect(volumeOf(managementServer?.dataDir)).toMatchObject({ persistentVolumeClaim: { claimName: 'hostward' } });
    for (const file of [managementServer?.tls?.certificate, managementServer?.tls?.key])
      expect(volumeOf(file)).toMatchObject({ secret: { secretName: 'hostward-tls' } });
    const kubeconfigs = [...(management?.clusters ?? []), ...(management?.projects[0]?.virtualClusters ?? [])];
    expect(kubeconfigs).toHaveLength(2);
    for (const { kubeconfig } of kubeconfigs)
      expect(volumeOf(kubeconfig)).toMatchObject({ secret: { secretName: 'hostward-upstreams' } });
    expect(ports?.map(({ containerPort }) => `0.0.0.0:${containerPort}`)).toEqual([
      managementServer?.listen,
      managementServer?.ingressListen,
      loaded.kind === 'ok' && loaded.settings.listen,
    ]);
    const service = one('Service') as unknown as { spec: { ports: { targetPort: string }[] } };
    expect(service.spec.ports.map(({ targetPort }) => targetPort)).toEqual(ports?.map(({ name }) => name));
    const probes = [livenessProbe?.httpGet, readinessProbe?.httpGet];
    expect(probes.map((probe) => [probe?.scheme, probe?.port])).toEqual(Array(2).fill(['HTTPS', ports?.[0]?.name]));
    const parsed = parseCommandLine(container?.args ?? []);
    expect(parsed.kind === 'command' && parsed.command.name).toBe('run');
  });

  it('serve a direct endpoint from a pod that has its key, its authority and its certificate from Secrets', () => {
    const all = manifests('direct.yaml');
    for (const { metadata } of all) expect(metadata).toMatchObject({ name: 'hostward-direct', namespace: 'hostward' });
    const text = all.find(({ kind }) => kind === 'ConfigMap')?.data?.['direct.yaml'] ?? '';
    const loaded = loadConfiguration({ files: [{ name: 'direct.yaml', text }] });
    expect(report(loaded)).toBe('ok\n');
    const direct = loaded.kind === 'ok' ? loaded.settings.direct : undefined;
    const { spec } = all.find(({ kind }) => kind === 'Deployment') as unknown as Deployment;
    const [container] = spec.template.spec.containers;
    const { volumeMounts = [], ports, livenessProbe, readinessProbe } = container ?? {};
    const mountOf = (file = '') => volumeMounts.find(({ mountPath }) => file.startsWith(`${mountPath}/`))?.name;
    const volumeOf = (file?: string) => spec.template.spec.volumes.find(({ name }) => name === mountOf(file));
    for (const file of [direct?.keyFile, direct?.certificateAuthority])
      expect(volumeOf(file)).toMatchObject({ secret: { secretName: 'hostward-direct-platform' } });
    for (const file of [direct?.tls?.certificate, direct?.tls?.key])
      expect(volumeOf(file)).toMatchObject({ secret: { secretName: 'hostward-direct-tls' } });
    const listens = loaded.kind === 'ok' ? [direct?.listen, loaded.settings.listen] : [];
    expect(ports?.map(({ containerPort }) => `0.0.0.0:${containerPort}`)).toEqual(listens);
    expect([livenessProbe?.httpGet.path, readinessProbe?.httpGet.path]).toEqual(['/healthz', '/readyz']);
    const parsed = parseCommandLine(container?.args ?? []);
    expect(parsed.kind === 'command' && parsed.command.name).toBe('direct');
  });

  it('name commands for the rights in the clusters behind that the program has', () => {
    for (const file of ['management.yaml', 'direct.yaml']) {
      const found = [...read(file).text.matchAll(/hostward (upstream-rbac [^>\n]*)/g)].map(([, words = '']) =>
        words.trim(),
      );
      expect(found).not.toEqual([]);
      for (const words of found) expect(parseCommandLine(words.split(' ')), words).toMatchObject({ kind: 'command' });
    }
  });

  it('name a command for the first key that the program has, with the file that the pod has', () => {
    const [, words = ''] = /hostward\.mjs (keys create .*) >/.exec(read('management.yaml').text) ?? [];
    const parsed = parseCommandLine(words.split(' '));
    if (parsed.kind !== 'command') throw new Error(`no command: ${words}`);
    expect(parsed.command.name).toBe('keys create');
    const { spec } = manifests('management.yaml').find(({ kind }) => kind === 'Deployment') as unknown as Deployment;
    expect(spec.template.spec.containers[0]?.args).toContain(parsed.options.text('config'));
  });

  it('are all tested here', () => {
    expect(readdirSync(folder).sort()).toEqual([
      // By test/kube/install/chart.test.ts.
      'chart',
      'cluster-role.yaml',
      'deny-list.yaml',
      'deployment.yaml',
      'direct.yaml',
      'hostward.yaml',
      'image',
      'kustomization.yaml',
      'management.yaml',
      'patches.yaml',
      'role.yaml',
      'sidecar-values.yaml',
      'vcluster.yaml',
    ]);
  });
});
