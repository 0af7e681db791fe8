// Hostward beside a real vCluster of its own chart, in the order of the page that moves people from one to the other: both programs get the
// same objects, and what each writes is compared with what the other wrote.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { until } from '../../../contract/sync-stage/backend.ts';
import { root } from '../../install/helm.ts';
import { type KubeCluster, startKube } from '../../start/start.ts';
import { RunningHostward } from './running-hostward.ts';
import { RealVCluster, vclusterSkipReason } from './start-vcluster.ts';

const name = 'my-vcluster';
const namespace = 'vcluster-my-vcluster';
const objects = join(root, 'fixtures', 'sync', 'beside-vcluster.yaml');

interface Stored {
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    resourceVersion: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    ownerReferences?: object[];
  };
  subsets?: object[];
  addressType?: string;
  endpoints?: object[];
  ports?: object[];
}

const ours = 'hostward.dev/';
/** What a reader of the host sees of a copy; the identity that each new object gets is left out. */
function seen({ metadata, subsets }: Stored): object {
  const { labels, annotations = {}, ownerReferences } = metadata;
  const others = Object.entries(annotations).filter(
    ([key]) => !key.startsWith(ours) && !/^endpoints\.kubernetes\.io\//.test(key),
  );
  return { name: metadata.name, labels, annotations: Object.fromEntries(others), ownerReferences, subsets };
}
/** Keys of this tenant that only vCluster carries over: they look like vCluster's own, so for Hostward they are reserved. */
const reserved = new Set(['vcluster.loft.sh/secret', 'vcluster.loft.sh/fake']);
const managed = 'vcluster.loft.sh/managed-annotations';
const withoutReserved = ({ metadata, ...rest }: Stored): Stored => {
  const kept = (keys: Record<string, string> = {}) =>
    Object.fromEntries(Object.entries(keys).filter(([key]) => !reserved.has(key)));
  const { labels, annotations = {} } = metadata;
  const listed = annotations[managed]?.split('\n').filter((key) => !reserved.has(key));
  const changed = { ...kept(annotations), ...(listed && { [managed]: listed.join('\n') }) };
  return { ...rest, metadata: { ...metadata, labels: kept(labels), annotations: changed } };
};
const byName = (all: readonly Stored[]) => Object.fromEntries(all.map((one) => [one.metadata.name, seen(one)]));
const versions = (all: readonly Stored[]) =>
  Object.fromEntries(all.map(({ metadata: { name: of, uid, resourceVersion } }) => [of, [uid, resourceVersion]]));

/** What a slice of the host says, without whose it is. */
const routed = ({ metadata, addressType, endpoints, ports }: Stored) => ({
  uid: metadata.uid,
  service: metadata.labels?.['kubernetes.io/service-name'],
  addressType,
  endpoints,
  ports,
});
const isSliced = ({ metadata }: Stored) => metadata.name.startsWith('sliced-');
const byRoute = (all: readonly Stored[]) => Object.fromEntries(all.map((one) => [one.metadata.name, routed(one)]));

const reason = vclusterSkipReason();
describe.skipIf(reason !== undefined)(
  `Hostward beside a vCluster${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  { timeout: 180_000 },
  () => {
    let folder: string;
    let host: KubeCluster;
    let vcluster: RealVCluster;
    let hostward: RunningHostward;
    /** The copies as vCluster made them. */
    let made: Stored[];
    let madeSlices: Stored[];
    const off = { sync: { toHost: { endpoints: { enabled: false }, endpointSlices: { enabled: false } } } };

    const virtually = async (...words: string[]) => {
      const { code, stderr } = await host.kubectl('--kubeconfig', vcluster.kubeconfigPath, ...words);
      if (code !== 0) throw new Error(stderr);
    };
    const list = async (...words: string[]): Promise<Stored[]> => {
      const { stdout, stderr } = await host.kubectl(...words, '-o', 'json');
      if (stdout === '') throw new Error(stderr);
      return (JSON.parse(stdout) as { items: Stored[] }).items;
    };
    const copies = async () =>
      (await list('get', 'endpoints', '-n', namespace)).filter(
        ({ metadata }) => metadata.labels?.['vcluster.loft.sh/managed-by'] === name,
      );
    const slices = async () => (await list('get', 'endpointslices', '-n', namespace)).filter(isSliced);
    const tenantSlices = async () =>
      (await list('--kubeconfig', vcluster.kubeconfigPath, 'get', 'endpointslices', '-n', 'shop')).filter(isSliced);
    const servicesOfSlices = async () => [...new Set((await slices()).map((one) => routed(one).service))];
    const tenants = () => list('--kubeconfig', vcluster.kubeconfigPath, 'get', 'endpoints', '-A');
    /** Until two looks a second apart see the same. */
    const atRest = async (): Promise<Stored[]> => {
      let last = '';
      return until(
        'copies at rest',
        async () => {
          const now = await copies();
          const text = JSON.stringify(versions(now));
          if (text === last) return now;
          last = text;
          await new Promise((resolve) => setTimeout(resolve, 1_000));
          return undefined;
        },
        60_000,
      );
    };
    const findings = async (of: RunningHostward, ...more: string[]) => {
      const { stdout } = await of.doctor(...more);
      return (JSON.parse(stdout) as { checks: { code: string; verdict: string; says: string }[] }).checks;
    };
    const file = (base: string, content: object) => {
      const path = join(folder, base);
      writeFileSync(path, stringify(content));
      return path;
    };
    const clusters = () => ({
      name,
      namespace,
      virtualKubeconfig: vcluster.sidecarKubeconfigPath,
      hostKubeconfig: host.kubeconfigPath,
    });
    const patches = [{ path: 'metadata.annotations["note"]', expression: 'value.toUpperCase()' }];
    const withPatches = () => file('patches.yaml', { sync: { toHost: { endpoints: { patches } } } });
    const on = () =>
      file('hostward.yaml', { hostward: { endpoints: { enabled: true }, endpointSlices: { enabled: true } } });

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'hostward-beside-vcluster-'));
      host = await startKube({ name: 'beside-vcluster', controllerManager: true });
      await host.kubectl('create', 'namespace', namespace);
      vcluster = new RealVCluster({ host, name, namespace });
      await vcluster.configure({});
      await vcluster.start();
      await virtually('apply', '-f', objects);
      await until('the copies of vCluster', async () => ((await copies()).length >= 13 ? true : undefined), 60_000);
      made = await atRest();
      madeSlices = await until('the slices of vCluster', async () => {
        const now = await slices();
        return now.length === 2 ? now : undefined;
      });
      hostward = await RunningHostward.with([on()], clusters());
    }, 300_000);
    afterAll(async () => {
      await hostward?.remove();
      await vcluster?.remove();
      await host?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    it('plans no write to any Endpoints while vCluster runs, as the page on moving says', async () => {
      await hostward.start('--dry-run');
      const { objects: told } = await hostward.passed();
      await hostward.stop();
      const planned = told.filter(({ state }) => state === 'left/DryRun');
      expect(planned.filter(({ kind }) => kind === 'Endpoints')).toEqual([]);
      expect(told.filter(({ kind, state }) => kind === 'Endpoints' && state === 'inSync')).toHaveLength(made.length);
      expect(versions(await copies())).toEqual(versions(made));
    });

    it('takes the copies over without a write, once vCluster lets go of them', async () => {
      await vcluster.stop();
      await vcluster.configure(off);
      await vcluster.start();
      await hostward.start();
      expect(await hostward.passed()).toMatchObject({ verdict: { isWell: true } });
      expect(versions(await copies())).toEqual(versions(made));
      const checks = await findings(hostward, '--active');
      expect(checks.filter(({ verdict }) => verdict === 'fault')).toEqual([]);
    });

    it('takes the slices over in place, says whose they are, and loses none of the tenant', async () => {
      const now = await slices();
      expect(byRoute(now)).toEqual(byRoute(madeSlices));
      expect(await tenantSlices()).toHaveLength(2);
      for (const { metadata } of now)
        expect(metadata.labels?.['endpointslice.kubernetes.io/managed-by']).toBe('hostward.dev');
    });

    it('makes copies that differ from those of vCluster in reserved keys of the tenant alone', async () => {
      await host.kubectl('delete', 'endpoints', '-n', namespace, '-l', `vcluster.loft.sh/managed-by=${name}`);
      await until('new copies', async () => ((await copies()).length === made.length ? true : undefined), 30_000);
      expect(byName(await copies())).toEqual(byName(made.map(withoutReserved)));
      expect((await tenants()).length).toBeGreaterThan(made.length);
    });

    it('hands the copies back, and vCluster writes nothing but those reserved keys', async () => {
      await hostward.stop();
      expect(await hostward.release()).toMatchObject({ code: 0 });
      const released = await copies();
      expect(JSON.stringify(released)).not.toContain(ours);
      await vcluster.stop();
      await vcluster.configure({});
      await vcluster.start();
      const [before, now] = [versions(released), versions(await atRest())];
      const written = Object.keys(now).filter((one) => `${now[one]}` !== `${before[one]}`);
      expect(written.filter((one) => !one.startsWith('labels-x-'))).toEqual([]);
      expect(Object.keys(now)).toEqual(Object.keys(before));
    });

    it('names vCluster as the second writer, when both write', async () => {
      // What both write has to differ, or they never meet.
      const moved = [{ path: 'subsets[*].ports[*].port', expression: 'value + 1' }];
      const second = file('second.yaml', {
        sync: { toHost: { endpoints: { patches: moved } } },
        // Of slices, a second writer costs the tenant its own: vCluster carries the host's name of the Service back.
        hostward: { endpointSlices: { enabled: false } },
      });
      const both = await RunningHostward.with([on(), second], clusters());
      try {
        await both.start();
        await until(
          'the second writer',
          async () => (await both.doctor()).stdout.includes('vcluster keeps changing its copy') || undefined,
          60_000,
        );
        const checks = await findings(both);
        expect(checks.find(({ code }) => code === 'HW-402')).toMatchObject({ verdict: 'fault' });
      } finally {
        await both.remove();
      }
    });

    it('applies the patches with which the open vCluster fails every object', async () => {
      await vcluster.stop();
      await vcluster.configure({ sync: { toHost: { endpoints: { enabled: true, patches } } } });
      await vcluster.start();
      const edit = ['annotate', 'endpoints', '-n', 'shop', 'labels', 'note=hello', '--overwrite'];
      await virtually(...edit);
      await until(
        'the failure of vCluster',
        () => (vcluster.log.includes("pro feature 'Translate Patches'") ? true : undefined),
        30_000,
      );
      const note = async () =>
        (await copies()).find(({ metadata }) => metadata.name === `labels-x-shop-x-${name}`)?.metadata.annotations?.[
          'note'
        ];
      expect(await note()).toBe('hi');
      await vcluster.stop();
      // A vCluster that starts anew leaves the bare name of the tenant's Service, which the host does not have.
      expect(await servicesOfSlices()).toEqual(['sliced']);
      await vcluster.configure(off);
      await vcluster.start();
      const patched = await RunningHostward.with([on(), withPatches()], clusters());
      try {
        await patched.start();
        await patched.passed();
        expect(await note()).toBe('HELLO');
        expect(await servicesOfSlices()).toEqual([`sliced-x-shop-x-${name}`]);
        expect(await tenantSlices()).toHaveLength(2);
      } finally {
        await patched.remove();
      }
    });
  },
);
