// Single watch events that are lost on their way, on both sides and for every kind that sync watches: the wrong state must not
// outlive the interval of proofs and five seconds, and it must be told.
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/object/meta/object.ts';
import { type Interferer, Interferers } from './interferer.ts';
import { type Side, type SyncBackend, until } from './sync-backend.ts';
import type { LiveDaemon } from './sync-daemon.ts';
import { copyPlace, SyncStage, subsetsOf } from './sync-stage.ts';

/** The default of hostward.proofInterval, and the time for which a difference must stand. */
const withinMs = 65_000;
/** The clock jumps while requests take their real time, a few jumps each. */
const slackMs = 10_000;
const jumpMs = 500;

interface Loss {
  side: Side;
  resource: string;
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  what: string;
  lose: () => Promise<unknown>;
  isMended: () => Promise<boolean>;
}

export function missedSuite(backend: () => SyncBackend): void {
  describe('a lost watch event', () => {
    const interferers = new Interferers();
    let stage: SyncStage;
    let proxies: Record<Side, Interferer>;
    let daemon: LiveDaemon;

    beforeEach(async () => {
      stage = new SyncStage(backend());
      await stage.set();
      proxies = {
        virtual: await interferers.before(backend().virtual),
        host: await interferers.before(backend().host),
      };
    });
    afterEach(async () => {
      await stage.clear();
      stage.close();
      interferers.release();
    });
    afterAll(() => interferers.stop());

    const sliceOf = (name: string, address: string): KubeObject => ({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name, namespace: stage.tenant, labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [address] }],
      ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
    });

    async function begin(): Promise<void> {
      await stage.pair({ name: 'web', ips: ['10.0.0.1'] });
      await stage.create('virtual', 'endpointslices', sliceOf('web-own', '10.0.0.1'));
      daemon = await stage.daemon({
        config: { hostward: { endpointSlices: { enabled: true } } },
        via: { virtual: proxies.virtual.at, host: proxies.host.at },
      });
    }

    /** Loses the one event of this change, and every repetition of it. */
    async function loseAndMend({ side, resource, type, lose, isMended }: Loss): Promise<void> {
      const lost = new Set<string>();
      let isArmed = true;
      proxies[side].swallows = (event, proxied) => {
        if (proxied.resource !== resource || event.type === 'BOOKMARK') return false;
        const version = `${event.object.metadata.name} ${event.object.metadata.resourceVersion}`;
        if (isArmed && event.type === type) {
          isArmed = false;
          lost.add(version);
        }
        return lost.has(version);
      };
      await lose();
      await until(`the loss of one ${type} of ${resource}`, () => (lost.size === 1 ? true : undefined));
      expect(await isMended()).toBe(false);
      const { clock } = daemon;
      const startMs = clock.now();
      while (!(await isMended())) {
        expect(clock.now() - startMs, `${side} ${resource} ${type}`).toBeLessThan(withinMs + slackMs);
        await clock.jump(jumpMs);
      }
      await daemon.settled();
      const told = daemon.logged.filter(({ msg }) => msg === 'the watch has missed a change, mended');
      expect(told).toEqual([expect.objectContaining({ level: 'error', cluster: side, resource, missed: type })]);
      expect(daemon.windows.filter((one) => 'missedChanges' in one)).toEqual([
        expect.objectContaining({ window: expect.stringContaining(`${side} ${resource}`), missedChanges: 1 }),
      ]);
    }

    const addressOf = (object: KubeObject | undefined): string | undefined => {
      const [subset] = (object?.['subsets'] ?? []) as { addresses?: { ip: string }[] }[];
      const [endpoint] = (object?.['endpoints'] ?? []) as { addresses: string[] }[];
      return subset?.addresses?.[0]?.ip ?? endpoint?.addresses[0];
    };
    const endpointsAre = (ip: string | undefined) => async () => addressOf(await stage.copy('web')) === ip;
    const sliceCopy = () => stage.get('host', 'endpointslices', copyPlace(stage.tenant, 'web-own'));
    const sliceIs = (ip: string | undefined) => async () => addressOf(await sliceCopy()) === ip;
    const tenants = (name: string) => ({ namespace: stage.tenant, name });

    const losses: (() => Loss)[] = [
      () => ({
        side: 'virtual',
        resource: 'endpoints',
        type: 'MODIFIED',
        what: 'the tenant changes an address',
        lose: () => stage.editTenants('web', { subsets: subsetsOf('10.0.0.2') }),
        isMended: endpointsAre('10.0.0.2'),
      }),
      () => ({
        side: 'virtual',
        resource: 'endpoints',
        type: 'DELETED',
        what: 'the tenant deletes an Endpoints',
        lose: () => stage.removeTenants('web'),
        isMended: endpointsAre(undefined),
      }),
      () => ({
        side: 'virtual',
        resource: 'endpointslices',
        type: 'MODIFIED',
        what: 'the tenant changes a slice',
        lose: () =>
          stage.patch('virtual', 'endpointslices', {
            ...tenants('web-own'),
            mergePatch: { endpoints: [{ addresses: ['10.0.0.2'] }] },
          }),
        isMended: sliceIs('10.0.0.2'),
      }),
      () => ({
        side: 'virtual',
        resource: 'services',
        type: 'MODIFIED',
        what: 'the Service gains a selector',
        lose: () =>
          stage.patch('virtual', 'services', { ...tenants('web'), mergePatch: { spec: { selector: { app: 'web' } } } }),
        isMended: sliceIs(undefined),
      }),
      () => ({
        side: 'virtual',
        resource: 'services',
        type: 'DELETED',
        what: 'the Service is deleted',
        lose: () => stage.remove('virtual', 'services', tenants('web')),
        isMended: sliceIs(undefined),
      }),
      () => ({
        side: 'host',
        resource: 'endpoints',
        type: 'MODIFIED',
        what: 'somebody edits the copy',
        lose: () => stage.editCopy('web', { subsets: subsetsOf('10.6.6.6') }),
        isMended: endpointsAre('10.0.0.1'),
      }),
      () => ({
        side: 'host',
        resource: 'endpoints',
        type: 'DELETED',
        what: 'somebody deletes the copy',
        lose: () => stage.removeCopy('web'),
        isMended: endpointsAre('10.0.0.1'),
      }),
      () => ({
        side: 'host',
        resource: 'endpointslices',
        type: 'MODIFIED',
        what: 'somebody edits the copy of a slice',
        lose: () =>
          stage.patch('host', 'endpointslices', {
            ...copyPlace(stage.tenant, 'web-own'),
            mergePatch: { endpoints: [{ addresses: ['10.6.6.6'] }] },
          }),
        isMended: sliceIs('10.0.0.1'),
      }),
      () => ({
        side: 'host',
        resource: 'endpointslices',
        type: 'DELETED',
        what: 'somebody deletes the copy of a slice',
        lose: () => stage.remove('host', 'endpointslices', copyPlace(stage.tenant, 'web-own')),
        isMended: sliceIs('10.0.0.1'),
      }),
    ];

    it.each(losses.map((loss) => [`${loss().side} ${loss().resource}: ${loss().what}`, loss] as const))(
      '%s',
      async (_, loss) => {
        await begin();
        await loseAndMend(loss());
      },
    );

    it('is found by nobody when the proofs are switched off', async () => {
      await stage.pair({ name: 'web', ips: ['10.0.0.1'] });
      daemon = await stage.daemon({
        config: { hostward: { proofInterval: '0' } },
        via: { virtual: proxies.virtual.at },
      });
      proxies.virtual.swallows = (event, { resource }) => resource === 'endpoints' && event.type === 'MODIFIED';
      await stage.editTenants('web', { subsets: subsetsOf('10.0.0.2') });
      await daemon.clock.jump(withinMs);
      expect(await endpointsAre('10.0.0.1')()).toBe(true);
    });

    it('leaves every other object proven, and status tells when', async () => {
      await begin();
      const { clock } = daemon;
      const startMs = clock.now();
      const unproven = (): string[] =>
        daemon.windows.filter((one) => !('provenSecondsAgo' in one)).map(({ window }) => window);
      const isProven = (): boolean =>
        daemon.status.proven?.objects === 1 && daemon.status.endpointSlices?.proven?.objects === 1;
      while (!isProven() || unproven().length > 0) {
        expect(clock.now() - startMs, `not proven: ${unproven().join()}`).toBeLessThan(2 * withinMs);
        await clock.jump(jumpMs);
      }
      expect(daemon.of('web')).toMatchObject({ provenAt: expect.any(String), provenSecondsAgo: expect.any(Number) });
    });
  });
}
