// The sound combinations of writers of Endpoints and EndpointSlices between real clusters with kube-controller-manager on both
// sides: Hostward, vCluster (emulated) or nobody writes each kind. All combinations follow one tenant, each into its own host
// namespace, so that the quiet time passes once for all. HOSTWARD_QUIET_SECONDS sets that time.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostName } from '../../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { objectKeys } from '../../../../src/sync/plan/keys/reserved-keys.ts';
import { type Side, sides, until } from '../../../contract/sync-stage/backend.ts';
import type { LiveDaemon } from '../../../contract/sync-stage/daemon.ts';
import { roleRights, virtualRights } from '../../../contract/sync-stage/rights.ts';
import { SyncStage, subsetsOf } from '../../../contract/sync-stage/stage.ts';
import { VClusterEmulation } from '../../../sync/live/vcluster-emulation.ts';
import { kubeAssets } from '../../start/assets.ts';
import { type RealBackend, startRealBackend } from '../sync-backend.ts';
import { Observer, publishedBy, publishedIn } from './observed.ts';

const assets = kubeAssets();
const quietSeconds = Number(process.env['HOSTWARD_QUIET_SECONDS'] ?? 10);
const betweenLooksMs = 100;
const slices = 'endpointslices';
const serviceLabel = 'kubernetes.io/service-name';
const managerLabel = 'endpointslice.kubernetes.io/managed-by';
const mirroring = 'endpointslicemirroring-controller.k8s.io';

type Writer = 'H' | 'V' | 'off';

interface Combination {
  endpoints: Writer;
  slices: Writer;
  vc: string;
  hns: string;
}

const combinations: Combination[] = (
  [
    ['H', 'H'],
    ['H', 'off'],
    ['off', 'H'],
    ['off', 'off'],
    ['V', 'off'],
  ] as [Writer, Writer][]
).map(([endpoints, of], at) => ({ endpoints, slices: of, vc: `vc${at}`, hns: `vcluster-vc${at}` }));

const long = `hashed-${'x'.repeat(50)}`;
const names = ['by-hand', 'alone', 'both', 'dual', 'unmirrored', 'selected', long];

describe.skipIf(assets.found === undefined)(
  `writers of slices between real clusters${assets.found === undefined ? ` (skipped: ${assets.reason})` : ''}`,
  () => {
    let backend: RealBackend;
    let stage: SyncStage;
    let observers: Record<'virtual' | 'host', Observer>;
    let emulation: VClusterEmulation | undefined;
    let emulating: Promise<void> | undefined;
    const daemons = new Map<Combination, LiveDaemon>();
    /** Objects that the test itself deleted, as `kind name`. */
    const removed = new Set<string>();

    beforeAll(async () => {
      backend = await startRealBackend();
      stage = new SyncStage(backend);
      await backend.virtual.grant(virtualRights);
      await backend.host.grant(combinations.flatMap(({ hns }) => roleRights(hns)));
      for (const { vc, hns } of combinations) {
        const spec = { ports: [{ name: 'https', port: 443, targetPort: 8443 }] };
        await stage.create('host', 'services', { metadata: { namespace: hns, name: vc }, spec } as never);
      }
      observers = { virtual: new Observer(backend.virtual.admin), host: new Observer(backend.host.admin) };
      await Promise.all(Object.values(observers).map((observer) => observer.start()));
    }, 180_000);

    afterAll(async () => {
      for (const daemon of daemons.values()) await daemon.stop();
      emulation = undefined;
      await emulating;
      for (const observer of Object.values(observers ?? {})) observer.close();
      stage?.close();
      await backend?.stop();
    }, 60_000);

    const slice = (name: string, service: string, over: object = {}) =>
      stage.create('virtual', slices, {
        metadata: { namespace: stage.tenant, name, labels: { [serviceLabel]: service, [managerLabel]: 'my-operator' } },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['10.0.1.1'] }],
        ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
        ...over,
      } as never);
    const editSlice = (name: string, mergePatch: object) =>
      stage.patch('virtual', slices, { namespace: stage.tenant, name, mergePatch });

    /** The Service as the tenant and every vCluster writes it. */
    const service = async (name: string, spec: object = {}): Promise<void> => {
      await stage.service({ name, spec, onHost: false });
      for (const { vc, hns } of combinations) {
        const at = { namespace: hns, name: hostName({ namespace: stage.tenant, name }, vc) };
        const annotations = { [objectKeys.name]: name, [objectKeys.namespace]: stage.tenant };
        const ports = [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 80 }];
        await stage.create('host', 'services', { metadata: { ...at, annotations }, spec: { ports, ...spec } } as never);
      }
    };
    const endpoints = (name: string, metadata: object = {}) =>
      stage.create('virtual', 'endpoints', {
        metadata: { namespace: stage.tenant, name, ...metadata },
        subsets: subsetsOf('10.0.0.1', '10.0.0.2'),
      } as never);

    const start = async (): Promise<void> => {
      for (const one of combinations) {
        if (one.endpoints === 'V') continue;
        if (one.endpoints === 'off' && one.slices === 'off') continue;
        const { vc: virtualClusterName, hns: hostNamespace } = one;
        const hostward = {
          endpoints: { enabled: one.endpoints === 'H' },
          endpointSlices: { enabled: one.slices === 'H' },
        };
        daemons.set(one, await stage.daemon({ virtualClusterName, hostNamespace, config: { hostward } }));
      }
    };
    const startEmulation = (): void => {
      const { vc: virtualCluster, hns: hostNamespace } = combinations.find(
        ({ endpoints: by }) => by === 'V',
      ) as Combination;
      const [virtual, host] = [backend.virtual.admin, backend.host.admin];
      const running = new VClusterEmulation({ virtual, host, virtualCluster, hostNamespace, syncs: ['endpoints'] });
      emulation = running;
      emulating = (async () => {
        while (emulation === running) {
          await running.look();
          await new Promise((resolve) => setTimeout(resolve, betweenLooksMs));
        }
      })();
    };

    /** What the tenant's objects and the writers of a combination make a consumer on the host see. */
    const wanted = async (one: Combination): Promise<Map<string, Set<string>>> => {
      const found = new Map<string, Set<string>>();
      const add = (name: string, more: readonly string[]): void => {
        const at = hostName({ namespace: stage.tenant, name }, one.vc);
        found.set(at, new Set([...(found.get(at) ?? []), ...more]));
      };
      for (const name of names) add(name, []);
      for (const object of await stage.list('virtual', 'endpoints')) {
        const isMirrored = object.metadata.labels?.['endpointslice.kubernetes.io/skip-mirror'] !== 'true';
        const isPublished = one.endpoints !== 'off' || one.slices !== 'off';
        if (object.metadata.namespace !== stage.tenant || !isMirrored || !isPublished) continue;
        add(object.metadata.name ?? '', addressesOf(object));
      }
      for (const object of await stage.list('virtual', slices)) {
        const { namespace, labels = {} } = object.metadata;
        const isByHand = labels[managerLabel] === 'my-operator';
        if (namespace === stage.tenant && isByHand && one.slices === 'H')
          add(labels[serviceLabel] ?? '', publishedBy(object as never));
      }
      return found;
    };

    const agree = async (): Promise<void> => {
      for (const one of combinations) {
        const title = `{${one.endpoints}, ${one.slices}}`;
        const asText = (map: ReadonlyMap<string, Set<string>>): string =>
          [...map]
            .filter(([, lines]) => lines.size > 0)
            .map(([name, lines]) => `${name}: ${[...lines].sort().join(', ')}`)
            .sort()
            .join('\n');
        const expected = asText(await wanted(one));
        let seen = '';
        await until(`the wanted addresses in ${title}`, async () => {
          seen = asText(await publishedIn(backend.host.admin, one.hns));
          return seen === expected || undefined;
        }).catch(() => {});
        expect(seen, title).toBe(expected);
      }
    };

    const lost = (): string[] =>
      observers.virtual.events.flatMap(({ type, kind, namespace, name, object }) => {
        const of =
          object.metadata.labels?.[managerLabel] === mirroring ? object.metadata.labels[serviceLabel] : undefined;
        const isOurs = removed.has(`${kind} ${name}`) || (of !== undefined && removed.has(`endpoints ${of}`));
        return type === 'DELETED' && namespace === stage.tenant && !isOurs ? [`${kind} ${name}`] : [];
      });

    it('publish exactly the wanted addresses once all are begun', async () => {
      for (const name of names) await service(name, name === 'selected' ? { selector: { app: 'none' } } : {});
      await endpoints('by-hand');
      await endpoints('both');
      await endpoints(long);
      await endpoints('unmirrored', { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } });
      await slice('alone-1', 'alone');
      await slice('both-1', 'both', { endpoints: [{ addresses: ['10.0.0.1'] }, { addresses: ['10.0.1.9'] }] });
      await slice('dual-4', 'dual');
      await slice('dual-6', 'dual', { addressType: 'IPv6', endpoints: [{ addresses: ['2001:db8::1'] }] });
      await slice('hashed-1', long, { endpoints: [{ addresses: ['10.0.1.7'], conditions: { ready: false } }] });
      startEmulation();
      await start();
      await agree();
    }, 120_000);

    it('follow changed addresses and ports, and objects that come and go', async () => {
      await stage.editTenants('by-hand', { subsets: subsetsOf('10.0.0.3') });
      const ports = [{ name: 'http', port: 9090, protocol: 'TCP' }];
      await stage.editTenants('both', { subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports }] });
      await editSlice('alone-1', { ports, endpoints: [{ addresses: ['10.0.1.2'] }] });
      await editSlice('both-1', { ports });
      await slice('alone-2', 'alone', { endpoints: [{ addresses: ['10.0.1.3'] }] });
      await agree();
      removed.add(`${slices} dual-4`).add(`endpoints ${long}`);
      await stage.remove('virtual', slices, { namespace: stage.tenant, name: 'dual-4' });
      await slice('dual-4', 'dual', { addressType: 'IPv6', endpoints: [{ addresses: ['2001:db8::4'] }] });
      await stage.removeTenants(long);
      await agree();
      await endpoints(long);
      await agree();
    }, 120_000);

    it('come back after host slices were deleted and after a restart', async () => {
      for (const { hns } of combinations) {
        const found = (await stage.list('host', slices)).filter(({ metadata }) => metadata.namespace === hns);
        for (const { metadata } of found)
          await backend.host.admin.request(
            'DELETE',
            `/apis/discovery.k8s.io/v1/namespaces/${hns}/${slices}/${metadata.name}`,
          );
      }
      await agree();
      for (const daemon of daemons.values()) await daemon.stop();
      emulation = undefined;
      await emulating;
      startEmulation();
      await start();
      await agree();
    }, 120_000);

    it(`write nothing for ${quietSeconds} s afterwards, and no object of the tenant was ever lost`, async () => {
      const count = (): number => observers.virtual.events.length + observers.host.events.length;
      const latest = (from: Record<Side, number>): string[] =>
        sides.flatMap((side) =>
          observers[side].events
            .slice(from[side])
            .map(
              ({ type, kind, namespace, name, object }) =>
                `${side} ${type} ${kind} ${namespace}/${name} by ${managersOf(object)}`,
            ),
        );
      const here = (): Record<Side, number> => ({
        virtual: observers.virtual.events.length,
        host: observers.host.events.length,
      });
      let from = here();
      // Controllers may finish a write that changes no address.
      await until('quiet clusters', async () => {
        const before = count();
        from = here();
        await new Promise((resolve) => setTimeout(resolve, 2_000));
        return count() === before || undefined;
      }).catch((error: unknown) => {
        throw new Error(`${error}: ${latest(from).join('; ')}`);
      });
      await new Promise((resolve) => setTimeout(resolve, quietSeconds * 1000));
      expect(latest(from)).toEqual([]);
      expect(lost()).toEqual([]);
      await agree();
      const deletes = (await backend.virtual.requests()).filter(({ verb }) => verb.startsWith('delete'));
      expect(deletes).toEqual([]);
    }, 240_000);
  },
);

function managersOf({ metadata }: KubeObject): string {
  const managers = (metadata.managedFields ?? []) as { manager?: string; time?: string }[];
  return managers.map(({ manager, time }) => `${manager} at ${time}`).join(' and ');
}

/** As the mirroring controller publishes them. */
function addressesOf(object: KubeObject): string[] {
  const subsets = (object['subsets'] ?? []) as { addresses?: { ip: string }[]; ports?: object[] }[];
  return subsets.flatMap(({ addresses = [], ports = [] }) =>
    publishedBy({ endpoints: addresses.map(({ ip }) => ({ addresses: [ip] })), ports }),
  );
}
