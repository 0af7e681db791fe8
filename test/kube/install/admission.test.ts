// The chart's ValidatingAdmissionPolicy on a real API server: what it refuses, whom it lets pass, and what it costs.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ApiClient } from '../../contract/client.ts';
import { until } from '../../contract/sync-stage/backend.ts';
import { type KubeCluster, startKube } from '../start/start.ts';
import { chart, chartSkipReason, helm, run, set } from './helm.ts';

const namespace = 'vcluster-my-vcluster';
const account = (name: string, place = namespace) => `system:serviceaccount:${place}:${name}`;
const users = {
  hostward: account('hw-hostward'),
  vcluster: account('vc-my-vcluster'),
  mirroring: account('endpointslicemirroring-controller', 'kube-system'),
  named: 'platform-admin',
  somebody: 'somebody',
} as const;
type User = keyof typeof users;

const marker = { 'vcluster.loft.sh/managed-by': 'my-vcluster' };
const six = { 'vcluster.loft.sh/object-name': 'web', 'vcluster.loft.sh/object-namespace': 'default' };
/** As many as a Service of a large tenant has. */
const many = 6_000;
const addresses = Array.from({ length: many }, (_, at) => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`);
/** The list in config/deny-list.yaml is as long. */
/** Hostward refuses the third one; the policy must not refuse everything because of it. */
const deny = [
  '10.66.0.0/16',
  'fd00:ec2::254/128',
  '::ffff:10.1.0.0/112',
  ...Array.from({ length: 10 }, (_, at) => `100.64.${at}.0/24`),
];

const reason = chartSkipReason();
describe.skipIf(reason !== undefined)(
  `the admission policy of the chart${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  { timeout: 60_000 },
  () => {
    let cluster: KubeCluster;
    let folder: string;
    const clients = new Map<User, ApiClient>();
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'hostward-admission-'));
      const all = Object.entries(users).map(([token, user]) => ({ token, user, groups: ['system:masters'] }));
      cluster = await startKube({ name: 'admission', users: all });
      const { url, caPem } = cluster;
      for (const user of Object.keys(users) as User[]) clients.set(user, new ApiClient({ url, caPem, token: user }));
      for (const name of [namespace, 'elsewhere']) await cluster.kubectl('create', 'namespace', name);
      const values = [
        'admissionPolicy.enabled=true',
        `admissionPolicy.writers={${users.named}}`,
        `sync.hostward.addressPolicy.deny={${deny.join(',')}}`,
      ];
      const words = ['template', 'hw', chart, '-n', namespace, '-s', 'templates/admission.yaml', ...set(values)];
      const { stdout } = await run({ kubeconfig: cluster.kubeconfigPath, folder }, helm, ...words);
      expect(await cluster.kubectlWith(stdout, 'apply', '-f', '-')).toMatchObject({ code: 0 });
      // The server learns of a policy through a watch.
      for (const kind of ['endpoints', 'slices'] as const)
        await until(
          'the policy in force',
          async () => (await write(kind, 'hostward', ['10.66.0.1'])).status === 422 || undefined,
        );
    }, 60_000);
    afterAll(async () => {
      for (const client of clients.values()) await client.close();
      await cluster?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    const paths = {
      endpoints: '/api/v1/namespaces/NS/endpoints',
      slices: '/apis/discovery.k8s.io/v1/namespaces/NS/endpointslices',
    };
    type Kind = keyof typeof paths;
    let names = 0;
    const object = (kind: Kind, ips: readonly string[], metadata: object) =>
      kind === 'endpoints'
        ? { metadata, subsets: [{ addresses: ips.map((ip) => ({ ip })), ports: [{ port: 80 }] }] }
        : { metadata, addressType: 'IPv4', ports: [{ port: 80 }], endpoints: inGroups(ips) };
    const inGroups = (ips: readonly string[]) =>
      Array.from({ length: Math.ceil(ips.length / 6) }, (_, at) => ({ addresses: ips.slice(at * 6, at * 6 + 6) }));
    const write = async (kind: Kind, user: User, ips: readonly string[], more: object = {}, place = namespace) => {
      const metadata = { name: `o-${++names}`, labels: { ...marker }, annotations: six, ...more };
      const answer = await clients
        .get(user)!
        .request('POST', paths[kind].replace('NS', place), { body: object(kind, ips, metadata) });
      return { status: answer.status, text: answer.text, name: metadata.name };
    };
    const patch = (kind: Kind, user: User, name: string, body: object) =>
      clients.get(user)!.request('PATCH', `${paths[kind].replace('NS', namespace)}/${name}`, {
        body,
        headers: { 'content-type': 'application/merge-patch+json' },
      });

    describe.each(['endpoints', 'slices'] as const)('of %s', (kind) => {
      let copy: string;
      beforeEach(async () => {
        const labels = { ...marker, 'kubernetes.io/service-name': 'web-x-default-x-my-vcluster', team: 'red' };
        const made = await write(kind, 'hostward', ['10.0.0.1'], { labels });
        expect(made).toMatchObject({ status: 201 });
        copy = made.name;
      });

      it('refuses a denied address from everybody, and names the release', async () => {
        for (const user of ['hostward', 'vcluster', 'named', 'somebody'] as const) {
          const refused = await write(kind, user, ['10.0.0.1', '10.66.7.7']);
          expect(refused).toMatchObject({ status: 422, text: expect.stringContaining('the values of the release hw') });
        }
      });

      it('refuses what Hostward always refuses', async () => {
        for (const ip of ['240.0.0.1', '255.255.255.255'])
          expect(await write(kind, 'hostward', [ip])).toMatchObject({ status: 422 });
      });

      it('judges no object without the marker, of another virtual cluster, or in another namespace', async () => {
        for (const labels of [{}, { 'vcluster.loft.sh/managed-by': 'other' }])
          expect(await write(kind, 'somebody', ['10.66.0.1'], { labels })).toMatchObject({ status: 201 });
        expect(await write(kind, 'somebody', ['10.66.0.1'], {}, 'elsewhere')).toMatchObject({ status: 201 });
      });

      const marks: [string, object][] = [
        ['the marker', { labels: { 'vcluster.loft.sh/managed-by': 'other' } }],
        ['the marker, away', { labels: { 'vcluster.loft.sh/managed-by': null } }],
        ['one of the six', { annotations: { 'vcluster.loft.sh/object-name': 'other' } }],
        ['an annotation of Hostward, new', { annotations: { 'hostward.dev/base': '{}' } }],
        ...(kind === 'slices'
          ? ([['the Service', { labels: { 'kubernetes.io/service-name': 'other' } }]] as [string, object][])
          : []),
      ];
      it.each(marks)('lets only the known writers change %s', async (_, metadata) => {
        expect(await patch(kind, 'somebody', copy, { metadata })).toMatchObject({ status: 403 });
        for (const user of ['hostward', 'vcluster', 'mirroring', 'named'] as const) {
          const { name } = await write(kind, 'hostward', ['10.0.0.1'], {
            labels: { ...marker, 'kubernetes.io/service-name': 'a' },
          });
          expect(await patch(kind, user, name, { metadata })).toMatchObject({ status: 200 });
        }
      });

      it('leaves other labels and annotations to everybody', async () => {
        const metadata = { labels: { team: 'blue' }, annotations: { note: 'x' } };
        expect(await patch(kind, 'somebody', copy, { metadata })).toMatchObject({ status: 200 });
      });

      it(`judges ${many} addresses within the cost limit, the last one too`, async () => {
        const started = performance.now();
        expect(await write(kind, 'hostward', addresses)).toMatchObject({ status: 201 });
        expect(performance.now() - started).toBeLessThan(20_000);
        const refused = await write(kind, 'hostward', [...addresses.slice(1), '10.66.0.1']);
        expect(refused).toMatchObject({ status: 422 });
        expect(refused.text).toContain('denied by the values');
      });
    });
  },
);
