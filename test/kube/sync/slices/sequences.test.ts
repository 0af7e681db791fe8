// Plays the sequences that were recorded from a running vCluster with kube-controller-manager on both sides. After each step a
// consumer on the host sees for the Service what it saw beside vCluster, or what a named rule decides; the tenant loses nothing.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { hostNamespace, until } from '../../../contract/sync-stage/backend.ts';
import type { LiveDaemon } from '../../../contract/sync-stage/daemon.ts';
import { copyPlace, ipsOf, SyncStage, subsetsOf } from '../../../contract/sync-stage/stage.ts';
import { managerLabel, type SliceGolden, serviceLabel } from '../../../sync/kinds/endpointslices/golden-slices.ts';
import { kubeAssets } from '../../start/assets.ts';
import { type RealBackend, startRealBackend } from '../sync-backend.ts';
import { Observer, publishedBy, publishedIn } from './observed.ts';

const assets = kubeAssets();
const file = new URL('../../../../fixtures/sync/golden-slices.json', import.meta.url);
const golden: SliceGolden = JSON.parse(readFileSync(file, 'utf8'));
const slices = 'endpointslices';
const namespace = 'default';

interface RecordedSide {
  service: KubeObject;
  endpoints: KubeObject | null;
  endpointSlices: KubeObject[];
}

interface RecordedStep {
  step: string;
  virtual: RecordedSide;
  host: RecordedSide;
}

const sequences = golden.sequences
  .filter(({ kubeControllerManager }) => kubeControllerManager === 'both sides')
  .map(({ name, steps }) => ({ name, steps: steps as unknown as (RecordedStep & { unchanged?: boolean })[] }));

const detached = '3.18: the Service label is mended at a start, where vCluster detaches its slices';

/** Steps after which a consumer sees other addresses than under vCluster, namely all of the tenant's, with the rule that wants it. */
const otherwise: Record<string, string> = {
  'kcm-restart-slice-by-hand/vCluster restarted, nothing edited': detached,
  'kcm-restart-slice-by-hand/slice address changed': detached,
  'kcm-restart-slice-beside-endpoints/vCluster restarted, nothing edited': detached,
  'kcm-restart-slice-beside-endpoints/slice address changed': detached,
};

/** The recording shows this slice only after vCluster has deleted it. */
const claimsToBeMirrored = 'kcm-slice-alone-managed-by-mirroring';

describe.skipIf(assets.found === undefined)(
  `recorded sequences with controllers${assets.found === undefined ? ` (skipped: ${assets.reason})` : ''}`,
  () => {
    let backend: RealBackend;
    let stage: SyncStage;
    let observer: Observer;
    let daemon: LiveDaemon;
    const config = { hostward: { endpointSlices: { enabled: true } } };
    beforeAll(async () => {
      backend = await startRealBackend();
      stage = new SyncStage(backend);
      await stage.set();
      observer = new Observer(backend.virtual.admin);
      await observer.start();
      daemon = await stage.daemon({ config });
    }, 180_000);
    afterAll(async () => {
      observer?.close();
      await daemon?.stop();
      stage?.close();
      await backend?.stop();
    }, 60_000);

    it('all eleven are played', () => expect(sequences.length).toBe(11));

    it.each(sequences)(
      '$name',
      async ({ name, steps }) => {
        for (const recorded of steps) {
          if (recorded.unchanged === true) continue;
          await act(name, recorded);
          await daemon.settled();
          await expectPublished(name, recorded);
        }
        // The tenant's own controller deletes a slice that claims to be its mirror; beside vCluster, vCluster deleted it.
        const gone = observer.events.filter((event) => event.type === 'DELETED' && event.name === `${name}-1`);
        if (name !== claimsToBeMirrored) expect(gone).toEqual([]);
        const deletes = (await backend.virtual.requests()).filter(({ verb }) => verb.startsWith('delete'));
        expect(deletes).toEqual([]);
      },
      90_000,
    );

    /** Brings the tenant's objects into the recorded state. Objects of the tenant's controllers follow by themselves. */
    const act = async (name: string, { step, virtual }: RecordedStep): Promise<void> => {
      if (/restarted/.test(step)) {
        await daemon.stop();
        daemon = await stage.daemon({ config });
        return;
      }
      if (/host slices.* deleted/.test(step)) return removeHostSlices(name);
      await putService(name, virtual.service);
      const slice = name === claimsToBeMirrored ? claimant(name) : byHand(name, virtual);
      await put(slices, slice, ['endpoints', 'ports']);
      if (ipsOf(virtual.endpoints ?? undefined).length > 0)
        await put('endpoints', virtual.endpoints as KubeObject, ['subsets']);
    };

    const put = async (resource: string, wanted: KubeObject | undefined, fields: string[]): Promise<void> => {
      if (wanted === undefined) return;
      const { name = '', labels, annotations } = wanted.metadata;
      const metadata = { namespace, name, ...(labels && { labels }), ...(annotations && { annotations }) };
      const known = await stage.get('virtual', resource, { namespace, name });
      const mergePatch = Object.fromEntries(fields.map((field) => [field, wanted[field]]));
      if (known === undefined) await stage.create('virtual', resource, { ...wanted, metadata });
      else await stage.patch('virtual', resource, { namespace, name, mergePatch });
    };

    /** The Service on both sides, as vCluster copies it. */
    const putService = async (name: string, service: KubeObject): Promise<void> => {
      const { selector } = service['spec'] as { selector?: object };
      if ((await stage.get('virtual', 'services', { namespace, name })) === undefined)
        return stage.service({ namespace, name, spec: selector === undefined ? {} : { selector } });
      const mergePatch = { spec: { selector: selector ?? null } };
      await stage.patch('virtual', 'services', { namespace, name, mergePatch });
      await stage.patch('host', 'services', { ...copyPlace(namespace, name), mergePatch });
    };

    const removeHostSlices = async (name: string): Promise<void> => {
      const service = copyPlace(namespace, name).name;
      const found = (await stage.list('host', slices)).filter(
        ({ metadata }) => metadata.labels?.[serviceLabel] === service,
      );
      expect(found.length).toBeGreaterThan(0);
      for (const { metadata } of found)
        await stage.remove('host', slices, { namespace: hostNamespace, name: metadata.name ?? '' });
    };

    const expectPublished = async (name: string, recorded: RecordedStep): Promise<void> => {
      const service = copyPlace(namespace, name).name;
      const title = `${name}/${recorded.step}`;
      const wanted = otherwise[title] === undefined ? ofRecording(recorded.host, service) : ofTenant(recorded.virtual);
      let seen: string[] = [];
      await until(title, async () => {
        seen = [...((await publishedIn(backend.host.admin, hostNamespace)).get(service) ?? [])].sort();
        return JSON.stringify(seen) === JSON.stringify(wanted) || undefined;
      }).catch(() => {});
      expect(seen, otherwise[title] ?? title).toEqual(wanted);
    };
  },
);

function byHand(name: string, { endpointSlices }: RecordedSide): KubeObject | undefined {
  return endpointSlices.find(({ metadata }) => metadata.name === `${name}-1`);
}

function claimant(name: string): KubeObject {
  const labels = { [serviceLabel]: name, [managerLabel]: 'endpointslicemirroring-controller.k8s.io' };
  return {
    metadata: { namespace, name: `${name}-1`, labels },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.0.0.50'] }],
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  } as never;
}

function ofRecording({ endpointSlices }: RecordedSide, service: string): string[] {
  const own = endpointSlices.filter(({ metadata }) => metadata.labels?.[serviceLabel] === service);
  return [...new Set(own.flatMap((slice) => publishedBy(slice as never)))].sort();
}

/** The slices of the tenant's mirroring controller were lost in one recording, so its Endpoints counts instead. */
function ofTenant({ endpoints, endpointSlices }: RecordedSide): string[] {
  const mirrored = { endpoints: ipsOf(endpoints ?? undefined).map((ip) => ({ addresses: [ip] })), ports: portsOf() };
  return [...new Set([mirrored, ...endpointSlices].flatMap((slice) => publishedBy(slice as never)))].sort();
}

function portsOf(): object[] {
  return (subsetsOf('10.0.0.1')[0] as { ports: object[] }).ports;
}
