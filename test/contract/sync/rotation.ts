// Kubeconfigs that name another CA and another server while the daemon runs. Each interferer has a certificate and a port of its own,
// so one more in front of the same cluster is another address of it.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Interferer } from '../interferer.ts';
import { stageForEach } from '../stage-for-each.ts';
import { type Side, type SyncBackend, sides, until } from '../sync-stage/backend.ts';
import type { LiveDaemon } from '../sync-stage/daemon.ts';
import { ipsOf, type SyncStage, subsetsOf } from '../sync-stage/stage.ts';

/** From the end of the old address until a change arrives: a cut watch, a look at the file, a proof, and requests. */
const takenWithinMs = 10_000;
const otherSide: Record<Side, Side> = { virtual: 'host', host: 'virtual' };

export function rotationSuite(backend: () => SyncBackend): void {
  describe('a kubeconfig that names another address', () => {
    let stage: SyncStage;
    stageForEach(backend, (made) => {
      stage = made;
    });
    let first: Interferer;
    let next: Interferer;
    let daemon: LiveDaemon;

    /** The daemon reaches one side through `first`; `next` is in front of the cluster of `nextSide`. */
    async function begin(side: Side, nextSide: Side): Promise<void> {
      first = await new Interferer(backend()[side]).start();
      next = await new Interferer(backend()[nextSide]).start();
      for (const name of ['web', 'api']) await stage.pair({ name });
      daemon = await stage.daemon({ via: { [side]: first.at } });
      await stage.forgetWrites();
    }
    beforeEach(() => stage.grantAll());
    afterEach(async () => {
      await daemon.stop();
      await Promise.all([first.stop(), next.stop()]);
    });

    const arrived = () =>
      until('the change', async () => {
        await daemon.clock.jump(500);
        return ipsOf(await stage.copy('web')).includes('10.0.9.9') || undefined;
      });
    const rewrite = (side: Side, { at }: Interferer) => daemon.rewrite(side, backend()[side].kubeconfig(at));
    const hostWrites = async () => (await stage.writes()).filter((one) => one.startsWith('host'));

    const deaths: Record<string, () => unknown> = {
      'refuses connections': () => first.stop(),
      'takes connections and cuts them': () => {
        first.rule = () => 'drop';
        first.cut();
      },
      'is a proxy without servers': () => {
        first.rule = () => ({ status: 503, body: 'no server' });
        first.cut();
      },
    };
    const ways = sides.flatMap((side) => Object.keys(deaths).map((death) => ({ side, death })));
    it.each(ways)('$side: the same cluster at another address is taken when the old one $death', async (way) => {
      const { side, death } = way;
      await begin(side, side);
      rewrite(side, next);
      await deaths[death]?.();
      const sinceMs = daemon.clock.now();
      await stage.editTenants('web', { subsets: subsetsOf('10.0.9.9') });
      await arrived();
      expect(daemon.clock.now() - sinceMs).toBeLessThan(takenWithinMs);
      expect(daemon.status.addresses).toMatchObject([{ cluster: side, server: next.at.url }]);
      expect(daemon.logged.some(({ msg }) => msg.endsWith(': taken'))).toBe(true);
    });

    it.each(sides)('%s: another cluster is not taken, and nothing is written until the file is right', async (side) => {
      await begin(side, otherSide[side]);
      rewrite(side, next);
      daemon.reread();
      const doubt = 'nothing is written until the file names the same cluster';
      await until('the doubt', () => daemon.status.verdict.sentence.includes(doubt) || undefined);
      expect(daemon.isReady).toBe(false);
      expect(daemon.readiness.join('\n')).toContain(doubt);
      await stage.editTenants('web', { subsets: subsetsOf('10.0.9.9') });
      await daemon.clock.jump(60_000);
      expect(await hostWrites()).toEqual([]);
      rewrite(side, first);
      await arrived();
      expect(daemon.isReady).toBe(true);
      expect((await hostWrites()).filter((one) => one.startsWith('host delete'))).toEqual([]);
    });
  });
}
