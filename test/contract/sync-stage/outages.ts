// What happens around a daemon in production: API servers that are away for ten minutes, credentials that are exchanged under it,
// and restarts amid pods that turn ready. Nothing of the tenant is lost, no copy is deleted, and the daemon is ready again.
import { renameSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Interferer } from '../interferer.ts';
import { interferedStageForEach } from '../stage-for-each.ts';
import { patienceFor, type Side, type SyncBackend, sides, until } from './backend.ts';
import type { LiveDaemon, LiveOptions } from './daemon.ts';
import { ipsOf, type SyncStage, subsetsOf } from './stage.ts';

const outageMs = 10 * 60_000;
/** 1,000 in the proof. */
const objects = Number(process.env['HOSTWARD_OUTAGE_OBJECTS'] ?? 20);
const patienceMs = patienceFor(objects);
/** In the proof too: ten minutes by the clock on the wall, so that the API servers live through them as well. */
const isByTheWall = process.env['HOSTWARD_OUTAGE_BY_THE_WALL'] === '1';
/** Five waits of a test that has many objects. */
const timeoutMs = 60_000 + 5 * patienceMs + (isByTheWall ? outageMs : 0);
const names = Array.from({ length: objects }, (_, at) => `web-${at}`);
const ip = (at: number, version: number) => `10.${version}.${at >> 8}.${at & 255}`;

export function outagesSuite(backend: () => SyncBackend): void {
  describe('around the daemon', { timeout: timeoutMs }, () => {
    let stage: SyncStage;
    const use = (made: SyncStage) => {
      stage = made;
    };
    const interferers = interferedStageForEach(backend, use, { timeoutMs: 60_000 + 8 * patienceMs });

    const behind = async (side: Side) => interferers.before(backend()[side]);
    const begin = (side: Side, { at }: Interferer, options: LiveOptions = {}) =>
      stage.daemon({ via: { [side]: at }, logLevel: 'info', patienceMs, ...options });
    const forEach = async (act: (name: string, at: number) => Promise<unknown>) => {
      const waiting = names.entries();
      const work = async () => {
        for (const [at, name] of waiting) await act(name, at);
      };
      await Promise.all(Array.from({ length: 16 }, work));
    };
    const pairs = () => forEach((name, at) => stage.pair({ name, ips: [ip(at, 1)] }));
    const edit = (version: number) =>
      forEach((name, at) => stage.editTenants(name, { subsets: subsetsOf(ip(at, version)) }));
    const converged = (daemon: LiveDaemon, version: number) => {
      const look = async () => {
        await daemon.clock.jump(1_000);
        const copies = await stage.list('host', 'endpoints');
        const found = new Map(copies.map((copy) => [copy.metadata.name, ipsOf(copy)[0]]));
        const isNew = names.every((name, at) => found.get(stage.at(name).name) === ip(at, version));
        return isNew && daemon.isReady ? true : undefined;
      };
      return until('the newest addresses of all objects', look, patienceMs);
    };
    const tenMinutes = ({ clock }: LiveDaemon) =>
      isByTheWall ? new Promise((resolve) => setTimeout(resolve, outageMs)) : clock.jump(outageMs);
    const deletes = async () => (await stage.writes()).filter((one) => one.includes(' delete '));
    const goAway = (interferer: Interferer) => {
      interferer.rule = () => 'drop';
      interferer.cut();
    };

    it.each(sides)(
      'ten minutes without the API server of the %s: changes made in the meantime arrive',
      async (side) => {
        const interferer = await behind(side);
        await pairs();
        const daemon = await begin(side, interferer);
        goAway(interferer);
        await edit(2);
        await tenMinutes(daemon);
        interferer.rule = () => 'pass';
        await converged(daemon, 2);
        expect(await deletes()).toEqual([]);
      },
    );

    it.each(sides)('ten minutes without the API server of the %s at the start', async (side) => {
      const interferer = await behind(side);
      await pairs();
      await (await begin(side, interferer)).stop();
      await edit(2);
      goAway(interferer);
      const daemon = stage.assemble({ via: { [side]: interferer.at }, logLevel: 'info', waitMs: 2 * outageMs });
      const started = daemon.start();
      await tenMinutes(daemon);
      expect(daemon.isReady).toBe(false);
      interferer.rule = () => 'pass';
      await converged(daemon, 2);
      expect((await started).kind).toBe('started');
      expect(await deletes()).toEqual([]);
    });

    it('a rolling restart of the host: no change is lost between the short outages', async () => {
      const interferer = await behind('host');
      await pairs();
      const daemon = await begin('host', interferer);
      for (const version of [2, 3, 4]) {
        goAway(interferer);
        await edit(version);
        await daemon.clock.jump(5_000);
        interferer.rule = () => 'pass';
        await daemon.clock.jump(5_000);
      }
      await converged(daemon, 4);
      expect(await deletes()).toEqual([]);
    });

    it('a restart amid pods that turn ready leaves no address in notReadyAddresses', async () => {
      const waiting = (at: number) => [{ notReadyAddresses: [{ ip: ip(at, 1) }], ports: [{ port: 80 }] }];
      await pairs();
      await forEach((name, at) => stage.editTenants(name, { subsets: waiting(at) }));
      const first = await stage.daemon({ patienceMs });
      await first.stop();
      const turnReady = async (rest: number) => {
        for (const [at, name] of names.entries())
          if (at % 2 === rest) await stage.editTenants(name, { subsets: subsetsOf(ip(at, 1)) });
      };
      await turnReady(0);
      const daemon = stage.assemble({ logLevel: 'info', patienceMs });
      await Promise.all([daemon.begin(), turnReady(1)]);
      await converged(daemon, 1);
      const copies = await stage.list('host', 'endpoints');
      expect(JSON.stringify(copies)).not.toContain('notReadyAddresses');
    });

    const exchanges: Readonly<
      Record<string, (file: string, text: string, wait: () => Promise<void>) => Promise<void>>
    > = {
      'in place': async (file, text) => writeFileSync(file, text),
      'by a rename': async (file, text) => {
        writeFileSync(`${file}.new`, text, { mode: 0o600 });
        renameSync(`${file}.new`, file);
      },
      'half-written for a while': async (file, text, wait) => {
        writeFileSync(file, text.slice(0, text.length / 2));
        await wait();
        writeFileSync(file, text);
      },
    };
    describe.each(sides)('credentials of the %s', (side) => {
      it.each(Object.keys(exchanges))('that are exchanged %s are taken, and nothing is lost', async (how) => {
        const interferer = await behind(side);
        const text = backend()[side].kubeconfig(interferer.at);
        const known: string = parse(text).users[0].user.token;
        const named = (token: string) => text.replace(known, token);
        await pairs();
        interferer.tokens = { first: known };
        const daemon = await begin(side, interferer, { kubeconfig: { [side]: named('first') } });
        interferer.tokens = { second: known };
        interferer.cut();
        await edit(2);
        await daemon.clock.jump(5_000);
        // The change must not have arrived: with old credentials that still work, the exchange would prove nothing.
        expect(ipsOf(await stage.copy('web-0'))).toEqual([ip(0, 1)]);
        await exchanges[how]?.(daemon.kubeconfigFile(side), named('second'), () => daemon.clock.jump(30_000));
        const sinceMs = daemon.clock.now();
        await converged(daemon, 2);
        expect(daemon.clock.now() - sinceMs).toBeLessThan(120_000);
        expect(await deletes()).toEqual([]);
      });
    });
  });
}
