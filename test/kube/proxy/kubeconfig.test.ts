// Client certificates of the management API on a real control plane: signed by kube-controller-manager through the CSR API, and by a CA at
// hand. kubectl works with them, and stops within two seconds when the access key behind them dies.
import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ManagementSettings, ManagementVirtualCluster } from '../../../src/config/settings/management-settings.ts';
import { subjectNamed, upstreamObjects } from '../../../src/management/proxy/upstream-roles.ts';
import { type Bench, keysPath, openBench, people, until } from '../../management/server/bench.ts';
import { kubeAssets } from '../start/assets.ts';
import { type KubeCluster, startKube } from '../start/start.ts';

const assets = kubeAssets();
const reason = assets.found === undefined ? ` (skipped: ${assets.reason})` : '';
const root = '/kubernetes/management/apis/management.platform/v1/namespaces/p-shop/virtualclusterinstances';

let cluster: KubeCluster;
let bench: Bench;

interface Certified {
  file: string;
  certificate: X509Certificate;
}

async function certified(instance: string, key: string, spec: object = {}): Promise<Certified> {
  const made = await bench.ask('POST', `${root}/${instance}/kubeconfig`, {
    key,
    body: { spec: { clientCert: true, ...spec } },
  });
  expect(made, made.text).toMatchObject({ code: 201 });
  const text = String(made.body['status']?.['kubeConfig']);
  const file = join(cluster.folder, `${instance}-${performance.now()}.kubeconfig`);
  writeFileSync(file, text, { mode: 0o600 });
  const { users } = load(text) as { users: { user: Record<string, string> }[] };
  const pem = Buffer.from(users[0]?.user['client-certificate-data'] ?? '', 'base64').toString('utf8');
  return { file, certificate: new X509Certificate(pem) };
}

const namespaces = ({ file }: Certified) => cluster.kubectl('--kubeconfig', file, 'get', 'ns', '-o', 'name');
const bindings = async () =>
  (await cluster.kubectl('get', 'clusterrolebindings', '-l', 'hostward.dev/issue', '-o', 'name')).stdout;
const lifeSeconds = ({ certificate }: Certified) => (certificate.validToDate.getTime() - Date.now()) / 1000;

async function works(certified: Certified): Promise<void> {
  const endMs = performance.now() + 2_000;
  for (;;) {
    const { code, stdout, stderr } = await namespaces(certified);
    if (code === 0) return expect(stdout).toContain('namespace/default');
    if (performance.now() > endMs) throw new Error(stderr);
  }
}

async function stopsWithin(certified: Certified, limitMs: number): Promise<void> {
  const begunMs = performance.now();
  for (;;) {
    const askedMs = performance.now();
    const { code, stderr } = await namespaces(certified);
    if (code !== 0) {
      expect(stderr).toContain('Forbidden');
      return;
    }
    expect(askedMs - begunMs).toBeLessThan(limitMs);
  }
}

describe.skipIf(assets.found === undefined)(`client certificates on a real control plane${reason}`, () => {
  beforeAll(async () => {
    const users = [{ token: 'hostward-token', user: 'hostward' }];
    cluster = await startKube({ name: 'kubeconfig', controllerManager: true, users });
    const own = join(cluster.folder, 'hostward.kubeconfig');
    writeFileSync(own, cluster.kubeconfigFor({ token: 'hostward-token' }));
    const authority = join(cluster.folder, 'serving-ca.crt');
    writeFileSync(authority, cluster.caPem);
    const ingress = { server: cluster.url, servedBy: 'virtualCluster' as const, certificateAuthority: authority };
    const instance = (name: string, more: Partial<ManagementVirtualCluster> = {}): ManagementVirtualCluster => ({
      name,
      kubeconfig: own,
      ingress,
      clientCert: { clusterRole: 'cluster-admin', maxTTL: 0 },
      ...more,
    });
    const stranger = join(cluster.folder, 'stranger.kubeconfig');
    writeFileSync(stranger, cluster.kubeconfigFor({ token: cluster.strangerToken }));
    const signing = { certificate: join(cluster.folder, 'client-ca.crt'), key: join(cluster.folder, 'client-ca.key') };
    const settings: ManagementSettings = {
      ...people,
      projects: [
        {
          name: 'shop',
          members: [{ user: 'alice', role: 'admin' }],
          virtualClusters: [
            instance('csr'),
            instance('signed', { signing }),
            instance('viewer', { clientCert: { clusterRole: 'view', maxTTL: 3600 } }),
            instance('powerless', { kubeconfig: stranger }),
          ],
          spaces: [],
        },
      ],
    };
    // Exactly what `hostward upstream-rbac` prints for Hostward itself.
    const items = ['csr', 'signed', 'viewer']
      .flatMap(
        (name) => upstreamObjects(settings, { project: 'shop', virtualCluster: name }, subjectNamed('hostward')) ?? [],
      )
      .filter((object) => (object as { metadata: { name: string } }).metadata.name.startsWith('hostward:proxy:'));
    const rights = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    expect(await cluster.kubectlWith(rights, 'create', '-f', '-')).toMatchObject({ code: 0 });
    bench = await openBench({ settings });
  }, 120_000);
  afterAll(async () => {
    await bench?.stop();
    await cluster?.stop();
  });

  it.each(['csr', 'signed'])(
    '%s: works with kubectl, and stops within two seconds when the key dies',
    async (instance) => {
      const key = await bench.keyFor(`key-${instance}`, { user: 'alice' });
      const made = await certified(instance, key);
      await works(made);
      const subject = made.certificate.subject.split('\n');
      expect(subject).toHaveLength(2);
      expect(subject).toContain('CN=hostward:user:alice');
      expect(subject.find((part) => part.startsWith('O='))).toMatch(/^O=hostward:issue:[0-9a-f]{32}$/);
      expect(lifeSeconds(made)).toBeGreaterThan(80_000);
      expect(lifeSeconds(made)).toBeLessThanOrEqual(86_400);
      expect(made.certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
      expect(await bindings()).toContain('hostward-issue-');
      expect((await cluster.kubectl('get', 'csr', '-o', 'name')).stdout).not.toContain('hostward-issue-');
      await bench.ask('DELETE', `${keysPath}/key-${instance}`);
      await stopsWithin(made, 2_000);
      expect(await bindings()).toBe('');
    },
  );

  it('takes every life that the API names, and says the real end of long ones', async () => {
    const key = await bench.keyFor('lives', { user: 'alice' });
    const short = await certified('csr', key, { certificateTTL: 600 });
    expect(lifeSeconds(short)).toBeGreaterThan(500);
    expect(lifeSeconds(short)).toBeLessThanOrEqual(600);
    // The CA of this test ends within a day, so that the signer's own duration ends with it.
    for (const instance of ['csr', 'signed'])
      expect(lifeSeconds(await certified(instance, key, { certificateTTL: 0 }))).toBeGreaterThan(80_000);
    for (const certificateTTL of [1, 599])
      expect(
        await bench.ask('POST', `${root}/csr/kubeconfig`, {
          key,
          body: { spec: { clientCert: true, certificateTTL } },
        }),
      ).toMatchObject({ code: 422 });
    for (const certificateTTL of [0, 3601])
      expect(
        await bench.ask('POST', `${root}/viewer/kubeconfig`, {
          key,
          body: { spec: { clientCert: true, certificateTTL } },
        }),
      ).toMatchObject({ code: 422, body: { details: { causes: [{ field: 'spec.certificateTTL' }] } } });
    await bench.ask('DELETE', `${keysPath}/lives`);
    await until(() => bench.api.status().certificates.live === 0, 'the end of all certificates');
  });

  it('has the rights of the configured ClusterRole and no others, and loses them when the key is narrowed', async () => {
    const key = await bench.keyFor('narrowed', { user: 'alice' });
    const made = await certified('viewer', key);
    await works(made);
    const written = await cluster.kubectl('--kubeconfig', made.file, 'create', 'ns', 'not-by-a-viewer');
    expect(written).toMatchObject({ code: 1, stderr: expect.stringContaining('Forbidden') });
    await bench.ask('PATCH', `${keysPath}/narrowed`, {
      body: { spec: { scope: { projects: [{ project: 'shop' }] } } },
      type: 'application/merge-patch+json',
    });
    await stopsWithin(made, 2_000);
  });

  it('says who gives the right that Hostward lacks, and leaves nothing behind', async () => {
    const key = await bench.keyFor('powerless', { user: 'alice' });
    const refused = await bench.ask('POST', `${root}/powerless/kubeconfig`, {
      key,
      body: { spec: { clientCert: true } },
    });
    expect(refused).toMatchObject({
      code: 502,
      body: {
        kind: 'Status',
        message: expect.stringMatching(
          /no right to take a certificate signing request .*hostward upstream-rbac --instance shop\/powerless/,
        ),
      },
    });
    expect(refused.text).not.toContain(cluster.strangerToken);
    expect((await cluster.kubectl('get', 'csr', '-o', 'name')).stdout).toBe('');
  });

  it('removes what a crash left, at the next start', async () => {
    const key = await bench.keyFor('restarted', { user: 'alice' });
    const made = await certified('csr', key);
    await works(made);
    const binding = (await bindings()).trim();
    const lost = JSON.parse((await cluster.kubectl('get', binding, '-o', 'json')).stdout) as {
      metadata: { name: string; labels: Record<string, string>; uid?: string; resourceVersion?: string };
    };
    const { labels } = lost.metadata;
    lost.metadata = { name: 'hostward-issue-unknown', labels: { ...labels, 'hostward.dev/issue': 'unknown' } };
    await cluster.kubectlWith(JSON.stringify(lost), 'create', '-f', '-');
    expect(await bindings()).toContain('hostward-issue-unknown');
    await bench.restart();
    const endMs = performance.now() + 5_000;
    while ((await bindings()).includes('unknown') && performance.now() < endMs);
    expect(await bindings()).toBe(`${binding}\n`);
    await works(made);
    await bench.ask('DELETE', `${keysPath}/restarted`);
    await stopsWithin(made, 2_000);
  });

  it('never puts a certificate or a private key into the audit log', () => {
    const audit = readFileSync(join(bench.folder, 'audit.log'), 'utf8');
    expect(audit).toMatch(/issued the client certificate [0-9a-f]+ of hostward:issue:/);
    expect(audit).not.toMatch(/BEGIN|LS0tLS1/);
  });
});
