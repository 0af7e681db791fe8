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
  ofSlices: account('endpointslice-controller', 'kube-system'),
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
      // Without the flag its controllers have the name of an administrator here.
      const controllers = '--controllers=endpoints-controller,endpointslice-controller';
      const controllerManagerFlags = ['--use-service-account-credentials=true', controllers];
      cluster = await startKube({ name: 'admission', users: all, controllerManager: true, controllerManagerFlags });
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
        ['the list of copied annotations', { annotations: { 'vcluster.loft.sh/managed-annotations': 'other' } }],
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

      it('judges what a controller writes as a copy, and not what it makes for a Service with a selector', async () => {
        for (const user of ['ofSlices', 'named'] as const) {
          expect(await write(kind, user, ['10.66.0.1'])).toMatchObject({ status: 422 });
          const made = await write(kind, user, ['10.66.0.1'], { annotations: {} });
          expect(made).toMatchObject({ status: 201 });
          const annotations = { 'hostward.dev/base': '{}' };
          expect(await patch(kind, user, made.name, { metadata: { annotations } })).toMatchObject({ status: 422 });
        }
        for (const user of ['hostward', 'mirroring', 'somebody'] as const)
          expect(await write(kind, user, ['10.66.0.1'], { annotations: {} })).toMatchObject({ status: 422 });
      });

      it('takes an object without addresses, from everybody who may write the marks', async () => {
        const body = { metadata: { name: `o-${++names}`, labels: marker }, addressType: 'IPv6', endpoints: null };
        const { addressType: _, endpoints: __, ...bare } = body;
        const answer = await clients
          .get('hostward')!
          .request('POST', paths[kind].replace('NS', namespace), { body: kind === 'slices' ? body : bare });
        expect(answer).toMatchObject({ status: 201 });
      });

      it('refuses a denied address behind the prefix of NAT64, and takes others there', async () => {
        const inV6 = async (ip: string) => {
          const made = object(kind, [ip], { name: `o-${++names}`, labels: marker });
          const body = kind === 'slices' ? { ...made, addressType: 'IPv6' } : made;
          return clients.get('hostward')!.request('POST', paths[kind].replace('NS', namespace), { body });
        };
        for (const ip of ['64:ff9b::a42:1', '64:ff9b::f000:1', '64:ff9b::7f00:1'])
          expect(await inV6(ip)).toMatchObject({ status: 422, text: expect.stringContaining('denied by the values') });
        for (const ip of ['64:ff9b::a43:1', 'fd01::a42:1']) expect(await inV6(ip)).toMatchObject({ status: 201 });
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

    it('judges in every namespace, with namespace mapping, what bears the instance of this virtual cluster alone', async () => {
      const mapped = [
        ...['admissionPolicy.enabled=true', `sync.hostward.addressPolicy.deny={${deny.join(',')}}`],
        ...['sync.toHost.namespaces.enabled=true', 'sync.toHost.namespaces.mappings.byName.shop=elsewhere'],
      ];
      const words = ['template', 'mapped', chart, '-n', namespace, '-s', 'templates/admission.yaml', ...set(mapped)];
      const { stdout } = await run({ kubeconfig: cluster.kubeconfigPath, folder }, helm, ...words);
      expect(await cluster.kubectlWith(stdout, 'apply', '-f', '-')).toMatchObject({ code: 0 });
      const of = (instance: string) => ({ annotations: { ...six, 'hostward.dev/instance': instance } });
      const own = of(`${namespace}/my-vcluster`);
      for (const kind of ['endpoints', 'slices'] as const) {
        await until(
          'the policy in force',
          async () => (await write(kind, 'vcluster', ['10.66.0.1'], own, 'elsewhere')).status === 422 || undefined,
        );
        expect(await write(kind, 'vcluster', ['10.0.0.1'], own, 'elsewhere')).toMatchObject({ status: 201 });
        expect(await write(kind, 'somebody', ['10.0.0.1'], own, 'elsewhere')).toMatchObject({ status: 403 });
        const others = of('elsewhere/my-vcluster');
        expect(await write(kind, 'somebody', ['10.66.0.1'], others, 'elsewhere')).toMatchObject({ status: 201 });
      }
      expect(await cluster.kubectlWith(stdout, 'delete', '-f', '-')).toMatchObject({ code: 0 });
    });

    it('hinders no Service with a selector that vCluster has synced: with pods, without, and in a denied network', async () => {
      const name = 'shop-x-default-x-my-vcluster';
      const service = { kind: 'Service', apiVersion: 'v1', metadata: { name, labels: marker } };
      const spec = { selector: { app: 'web' }, ports: [{ port: 80 }] };
      const pod = {
        ...{ kind: 'Pod', apiVersion: 'v1', metadata: { name: 'web', labels: { app: 'web' } } },
        spec: { containers: [{ name: 'web', image: 'web' }], automountServiceAccountToken: false, nodeName: 'none' },
      };
      const apply = async (object: object) => {
        const made = await cluster.kubectlWith(JSON.stringify(object), '-n', namespace, 'apply', '-f', '-');
        expect(made).toMatchObject({ code: 0 });
      };
      const addresses = async () => {
        const selector = `kubernetes.io/service-name=${name}`;
        const { stdout: slices } = await cluster.kubectl(
          '-n',
          namespace,
          'get',
          'endpointslices',
          '-l',
          selector,
          '-o',
          'json',
        );
        const { items } = JSON.parse(slices) as { items: { endpoints: { addresses: string[] }[] | null }[] };
        const { stdout: endpoints } = await cluster.kubectl(
          '-n',
          namespace,
          'get',
          'endpoints',
          name,
          '-o',
          'json',
          '--ignore-not-found',
        );
        const { subsets } = JSON.parse(endpoints || '{}') as { subsets?: { addresses?: { ip: string }[] }[] };
        if (items.length === 0 || endpoints === '') return `${items.length} slices, Endpoints ${endpoints}`;
        const ofSlices = items.flatMap(({ endpoints: all }) => (all ?? []).flatMap((one) => one.addresses));
        const ofEndpoints = (subsets ?? []).flatMap(({ addresses: all }) => (all ?? []).map(({ ip }) => ip));
        return `${ofSlices} ${ofEndpoints}`;
      };
      const become = (wanted: string) =>
        until(`addresses ${wanted}`, async () => ((await addresses()) === wanted ? true : undefined));
      await apply({ ...service, spec });
      await become(' ');
      await apply({ kind: 'Node', apiVersion: 'v1', metadata: { name: 'none' } });
      await apply(pod);
      const status = {
        phase: 'Running',
        podIP: '10.66.0.9',
        podIPs: [{ ip: '10.66.0.9' }],
        conditions: [{ type: 'Ready', status: 'True' }],
      };
      const patched = ['patch', 'pod', 'web', '--subresource=status', '--type=merge', '-p', JSON.stringify({ status })];
      expect(await cluster.kubectl('-n', namespace, ...patched)).toMatchObject({ code: 0 });
      await become('10.66.0.9 10.66.0.9');
      await cluster.kubectl('-n', namespace, 'delete', 'pod', 'web', '--force');
      await become(' ');
    });
  },
);
