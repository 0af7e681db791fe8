// Single watch events that are lost on their way, on both sides and for every kind that sync watches: the wrong state must not
// outlive the interval of proofs and five seconds, and it must be told.
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Interferer, Interferers } from '../interferer.ts';
import {
  type Loss,
  lossesOfCopies,
  lossesOfHostServices,
  lossesOfServices,
  lossesOfTheTenant,
  makePairAndSlice,
  mappedNamespace,
} from '../losses.ts';
import { type Side, type SyncBackend, sides, until } from '../sync-stage/backend.ts';
import type { LiveDaemon } from '../sync-stage/daemon.ts';
import { ipsOf, SyncStage, subsetsOf } from '../sync-stage/stage.ts';
import { clusterRoleRights } from './mapping.ts';

/** The default of hostward.proofInterval, and the time for which a difference must last. */
const withinMs = 65_000;
/** The clock jumps while requests take their real time, on a busy machine many jumps each. The next interval ends later. */
const slackMs = 40_000;
const jumpMs = 500;

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

    async function begin(config: object = {}): Promise<void> {
      daemon = await stage.daemon({
        config: { hostward: { endpointSlices: { enabled: true } }, ...config },
        via: { virtual: proxies.virtual.at, host: proxies.host.at },
      });
    }

    /** Loses one event of each change, and every repetition of it; all of them in the same interval. */
    async function loseAndMend(losses: readonly Loss[], config: object = {}): Promise<void> {
      const named = losses.map((loss, index) => ({ ...loss, name: `lost-${index}` }));
      for (const { prepare, name } of named) await prepare(name);
      await begin(config);
      const lost = new Map<string, string>();
      for (const side of sides) {
        proxies[side].swallows = ({ type, object }, { resource }) => {
          const { name = '', resourceVersion } = object.metadata;
          const loss = named.find(
            (one) => one.side === side && one.resource === resource && one.type === type && isOf(name, one.name),
          );
          const id = loss && `${side} ${resource} ${name}`;
          if (id !== undefined && !lost.has(id)) lost.set(id, resourceVersion ?? '');
          return id !== undefined && lost.get(id) === resourceVersion;
        };
      }
      for (const { lose, name } of named) await lose(name);
      await until('the losses', () => (lost.size === losses.length ? true : undefined));
      const { clock } = daemon;
      const startMs = clock.now();
      for (const { what, isMended, name } of named) expect(await isMended(name), `unmended: ${what}`).toBe(false);
      for (const { side, resource, what, isMended, name } of named) {
        while (!(await isMended(name))) {
          expect(clock.now() - startMs, `${side} ${resource}: ${what}`).toBeLessThan(withinMs + slackMs);
          await clock.jump(jumpMs);
        }
      }
      await daemon.settled();
      const told = daemon.logged.filter(({ msg }) => msg === 'the watch has missed a change, mended');
      const saying = (one: { [field: string]: unknown }): string =>
        [one['level'], one['cluster'], one['resource'], one['missed']].join(' ');
      const wanted = losses.map(({ side, resource, type }) => `error ${side} ${resource} ${type}`);
      expect(told.map(saying).sort()).toEqual(wanted.sort());
      const counts = daemon.windows.flatMap((one) => ('missedChanges' in one ? [Number(one.missedChanges)] : []));
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(losses.length);
    }

    it('of either kind and of its Service, on either side, is mended within the interval and reported as a defect', () =>
      loseAndMend([...lossesOfTheTenant(stage), ...lossesOfServices(stage), ...lossesOfCopies(stage)]));

    it('of a host Service in a mapped namespace is mended for both kinds', async () => {
      await backend().host.grant(clusterRoleRights());
      await stage.namespace('host', mappedNamespace);
      const mappings = { byName: { [stage.tenant]: mappedNamespace } };
      const namespaces = { enabled: true, mappingsOnly: true, mappings };
      await loseAndMend(lossesOfHostServices(stage), { sync: { toHost: { namespaces } } });
    });

    it('is found by nobody when the proofs are switched off', async () => {
      await stage.pair({ name: 'web', ips: ['10.0.0.1'] });
      daemon = await stage.daemon({
        config: { hostward: { proofInterval: '0' } },
        via: { virtual: proxies.virtual.at },
      });
      proxies.virtual.swallows = (event, { resource }) => resource === 'endpoints' && event.type === 'MODIFIED';
      await stage.editTenants('web', { subsets: subsetsOf('10.0.0.2') });
      await daemon.clock.jump(withinMs);
      expect(ipsOf(await stage.copy('web'))).toEqual(['10.0.0.1']);
    });

    it('leaves every other object proven, and status tells when', async () => {
      await makePairAndSlice(stage, 'web');
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

/** A slice is named after its Service, and Kubernetes' own controllers give other slices longer names. */
function isOf(object: string, name: string): boolean {
  return (
    object === name || [name, `${name}-own`].some((one) => object.startsWith(`${one}-x-`)) || object === `${name}-own`
  );
}
