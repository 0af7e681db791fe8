// Rule 15: a list that lacks many objects needs a second list before a delete. An interferer invents such lists.
import { describe, expect, it } from 'vitest';
import type { Interferer, ProxiedRequest } from '../interferer.ts';
import { interferedStageForEach } from '../stage-for-each.ts';
import { type SyncBackend, until } from '../sync-stage/backend.ts';
import type { SyncStage } from '../sync-stage/stage.ts';

/** A real server needs 20 ms of a processor for what each of them costs, in each of fourteen tests. */
const count = 12;
const names = Array.from({ length: count }, (_, at) => `web-${at}`);

/** After a cut the window lists a single object, to check that the server's version has not gone back. */
const isVersionCheck = ({ url }: ProxiedRequest): boolean => /[?&]limit=1(&|$)/.test(url);

export function massDeleteSuite(backend: () => SyncBackend): void {
  describe('mass deletes', () => {
    let stage: SyncStage;
    let interferer: Interferer;
    interferedStageForEach(backend, async (made, interferers) => {
      stage = made;
      interferer = await interferers.before(backend().virtual);
      await Promise.all(names.map((name) => stage.pair({ name, service: { onHost: false } })));
    });

    const start = () => stage.daemon({ via: { virtual: interferer.at } });
    const copies = async (): Promise<number> =>
      (await stage.list('host', 'endpoints')).filter(({ metadata }) => metadata.name?.startsWith('web-')).length;
    const deletes = async (): Promise<number> =>
      (await stage.writes()).filter((one) => one.startsWith('host delete')).length;

    /** Ends the watch of a resource with 410, and then drops the objects of `isLacking` from a number of lists. */
    const lie = (
      resource: string,
      lists: number,
      isLacking: (name: string) => boolean,
      dress: (list: object) => object = (list) => list,
    ): { sent: () => number; truths: () => number } => {
      let left = lists;
      let sent = 0;
      let truths = 0;
      let isGone = false;
      let version = '';
      interferer.rule = async (proxied: ProxiedRequest) => {
        if (proxied.resource !== resource) return 'pass';
        if (proxied.isWatch) {
          if (isGone || proxied.url.includes('sendInitialEvents')) return 'pass';
          isGone = true;
          return { status: 410, body: { kind: 'Status', status: 'Failure', reason: 'Expired', code: 410 } };
        }
        if (proxied.method !== 'GET' || proxied.name !== '' || isVersionCheck(proxied)) return 'pass';
        if (left === 0) {
          truths++;
          return 'pass';
        }
        left--;
        sent++;
        const answer = await backend().virtual.admin.request('GET', `/api/v1/${resource}`);
        const list = answer.json as { metadata: { resourceVersion: string }; items: { metadata: { name: string } }[] };
        version = list.metadata.resourceVersion;
        return {
          status: 200,
          body: dress({
            ...list,
            metadata: { resourceVersion: version },
            items: list.items.filter(({ metadata }) => !isLacking(metadata.name)),
          }),
        };
      };
      interferer.cut();
      return { sent: () => sent, truths: () => truths };
    };

    it.each(['endpoints', 'services'])(
      'one empty list of %s deletes nothing: a second list decides',
      async (resource) => {
        const daemon = await start();
        await stage.forgetWrites();
        const lies = lie(resource, 1, () => true);
        await until('the lie', async () => {
          await daemon.clock.jump(500);
          return lies.sent() === 1 || undefined;
        });
        // The doubt begins when the lie has arrived over a socket, so the clock goes on until the daemon asks again.
        await until('the second list', async () => {
          await daemon.clock.jump(500);
          return lies.truths() > 0 || undefined;
        });
        await until('the end of the doubt', () => (daemon.status.deletesWithheld === 0 ? true : undefined));
        await daemon.settled();
        expect(await copies()).toBe(count);
        expect(await stage.writes()).toEqual([]);
      },
    );

    it.each(['endpoints', 'services'])(
      'a lie about %s that goes on deletes nothing: objects are asked for by name',
      async (resource) => {
        const daemon = await start();
        await stage.forgetWrites();
        interferer.seen.length = 0;
        lie(resource, Number.POSITIVE_INFINITY, () => true);
        await until('the name of a lie', async () => {
          await daemon.clock.jump(500);
          return daemon.status.verdict.sentence.includes('is a lie') || undefined;
        });
        expect(daemon.status.listsInDoubt).toMatchObject([{ deletes: count, isLie: true }]);
        expect(daemon.logged.filter(({ msg }) => msg.includes('is a lie'))).toHaveLength(1);
        const byName = interferer.seen.filter(
          (one) => one.resource === resource && one.method === 'GET' && one.name !== '',
        );
        expect(byName.length).toBe(5);
        await daemon.clock.jump(90_000);
        expect(await copies()).toBe(count);
        expect(await deletes()).toBe(0);
        interferer.rule = () => 'pass';
        await daemon.clock.jump(70_000);
        await until('the truth', () => (daemon.status.deletesWithheld === 0 ? true : undefined));
        await until('the end of the doubt', () => (daemon.status.listsInDoubt === undefined ? true : undefined));
        expect(await copies()).toBe(count);
      },
    );

    const noLists: { name: string; dress: (list: object) => object }[] = [
      { name: 'an empty PodList', dress: (list) => ({ ...list, kind: 'PodList', items: [] }) },
      {
        name: 'a list of metadata alone',
        dress: (list) => ({ ...list, kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', items: [] }),
      },
      { name: 'a list whose items are null', dress: (list) => ({ ...list, items: null }) },
      {
        name: 'a list without items',
        dress: (list) => Object.fromEntries(Object.entries(list).filter(([name]) => name !== 'items')),
      },
    ];
    it.each(noLists)('$name is a fault of the server, however long it lasts', async ({ dress }) => {
      const daemon = await start();
      await stage.forgetWrites();
      const lies = lie('endpoints', Number.POSITIVE_INFINITY, () => true, dress);
      // Time is virtual, but the lies travel over sockets: on a busy machine a jump ends before they arrive.
      await until('two lies', async () => {
        await daemon.clock.jump(10_000);
        return (lies.sent() > 1 && !daemon.status.verdict.isWell) || undefined;
      });
      await daemon.clock.jump(60_000);
      expect([await copies(), daemon.status.deletesWithheld]).toEqual([count, 0]);
      expect(daemon.status.verdict).toMatchObject({
        isWell: false,
        sentence: expect.stringContaining('wanted EndpointsList'),
      });
      interferer.rule = () => 'pass';
      await daemon.clock.jump(40_000);
      await daemon.settled();
      expect([await deletes(), await copies()]).toEqual([0, count]);
    });

    it('two lists that lack different objects of a server that has them all delete nothing', async () => {
      const daemon = await start();
      await stage.forgetWrites();
      let nth = 0;
      const lies = lie('endpoints', 2, (name) => {
        const at = names.indexOf(name);
        if (at < 0) return false;
        if (at === 0) nth++;
        // The first list lacks 0 to 19, the second lacks 10 to 29.
        return nth === 1 ? at < 20 : at >= 10;
      });
      await until('both lies', async () => {
        await daemon.clock.jump(500);
        return lies.sent() === 2 || undefined;
      });
      await daemon.clock.jump(120_000);
      await until('the truth', () => (daemon.status.deletesWithheld === 0 ? true : undefined));
      expect([await deletes(), await copies()]).toEqual([0, count]);
    });

    it.each(['endpoints', 'services'])(
      'a first list after a start without any %s deletes nothing either',
      async (resource) => {
        const first = await start();
        await first.stop();
        await stage.forgetWrites();
        const lies = lie(resource, 1, () => true);
        const next = await start();
        expect(lies.sent()).toBe(1);
        await next.clock.jump(11_000);
        await until('the second list', () => (next.status.deletesWithheld === 0 ? true : undefined));
        await next.settled();
        expect(await copies()).toBe(count);
        expect(await deletes()).toBe(0);
      },
    );

    it('a real mass delete during a downtime is executed after the second list', async () => {
      const first = await start();
      await first.stop();
      for (const name of names) await stage.removeTenants(name);
      const next = await start();
      await next.clock.jump(11_000);
      await until('an empty host', async () => ((await copies()) === 0 ? true : undefined));
      await next.settled();
      expect(next.status.deletesWithheld).toBe(0);
    });

    it('a real mass delete seen by the watch is executed at once', async () => {
      const daemon = await start();
      interferer.seen.length = 0;
      for (const name of names) await stage.removeTenants(name);
      await until('an empty host', async () => ((await copies()) === 0 ? true : undefined));
      await daemon.settled();
      expect(
        interferer.seen.filter(
          ({ resource, method, isWatch }) => resource === 'endpoints' && method === 'GET' && !isWatch,
        ),
      ).toEqual([]);
    });

    it('a list that cannot be read deletes nothing', async () => {
      const daemon = await start();
      await stage.forgetWrites();
      interferer.rule = ({ resource }) =>
        resource === 'endpoints'
          ? { status: 500, body: { kind: 'Status', status: 'Failure', code: 500, message: 'no' } }
          : 'pass';
      interferer.cut();
      await daemon.clock.jump(60_000);
      expect(await copies()).toBe(count);
      expect(await deletes()).toBe(0);
      interferer.rule = () => 'pass';
      await daemon.clock.jump(60_000);
      await daemon.settled();
      expect(await stage.writes()).toEqual([]);
    });
  });
}
