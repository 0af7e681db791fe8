// Rules 4.1 and 4.5 between live API servers: what cannot be reversed holds up nothing else, after a restart neither.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { pairs, patchesOf, shapes } from '../../sync/patch/back/two-way-pairs.ts';
import { stageForEach } from '../stage-for-each.ts';
import { type SyncBackend, until } from '../sync-stage/backend.ts';
import type { LiveDaemon } from '../sync-stage/daemon.ts';
import { ipsOf, type SyncStage, subsetsOf } from '../sync-stage/stage.ts';

type Side = 'virtual' | 'host';
type Texts = Record<string, string | null>;
const path = 'metadata.annotations["example.com/k"]';
const keyPatched = 'example.com/k';
const base64 = { expression: 'btoa(value)', reverseExpression: 'atob(value)' };

/** Live runs are slow; the paper property plays many more. */
const liveRuns = 4;

const configOf = (patches: readonly object[]) => ({ sync: { toHost: { endpoints: { patches } } } });
const annotationOf = (object: KubeObject | undefined, key: string) => object?.metadata.annotations?.[key];

export function twoWaySuite(backend: () => SyncBackend): void {
  describe('patches in both directions', () => {
    let stage: SyncStage;
    stageForEach(backend, (made) => {
      stage = made;
    });

    const start = async (patches: readonly object[], annotations: Record<string, string>): Promise<LiveDaemon> => {
      await stage.pair({ name: 'web', metadata: { annotations } });
      return stage.daemon({ config: configOf(patches) });
    };
    const annotate = (side: Side, annotations: Texts) =>
      stage[side === 'host' ? 'editCopy' : 'editTenants']('web', { metadata: { annotations } });
    const address = (ip: string) => stage.editTenants('web', { subsets: subsetsOf(ip) });
    const onBoth = async (key: string) => [
      annotationOf(await stage.tenants('web'), key),
      annotationOf(await stage.copy('web'), key),
    ];
    const restart = async (daemon: LiveDaemon, patches: readonly object[]): Promise<LiveDaemon> => {
      await daemon.stop();
      return stage.daemon({ config: configOf(patches) });
    };
    const expectNoWrites = async (daemon: LiveDaemon): Promise<void> => {
      await daemon.settled();
      await stage.forgetWrites();
      await daemon.clock.jump(120_000);
      await daemon.settled();
      expect(await stage.writes()).toEqual([]);
    };

    it.each([
      ['in one entry', [{ path, ...base64 }]],
      [
        'in two entries',
        [
          { path, expression: base64.expression },
          { path, reverseExpression: base64.reverseExpression },
        ],
      ],
    ])('a pair %s that cannot read the tenant’s own text: an unrelated label holds nothing up', async (_, patches) => {
      let daemon = await start(patches, { [keyPatched]: 'no base64' });
      await stage.editCopy('web', { metadata: { labels: { unrelated: 'yes' } } });
      await daemon.settled();
      expect((await stage.tenants('web'))?.metadata.labels).toMatchObject({ unrelated: 'yes' });
      await address('10.0.0.2');
      await daemon.settled();
      expect(ipsOf(await stage.copy('web'))).toEqual(['10.0.0.2']);
      daemon = await restart(daemon, patches);
      await address('10.0.0.3');
      await daemon.settled();
      expect(ipsOf(await stage.copy('web'))).toEqual(['10.0.0.3']);
      await expectNoWrites(daemon);
    });

    it('a host value that cannot be reversed stays on both sides, is told, and addresses arrive', async () => {
      const patches = [{ path, ...base64 }];
      let daemon = await start(patches, { [keyPatched]: 'v' });
      await annotate('host', { [keyPatched]: '%', other: 'good' });
      await daemon.settled();
      expect([await onBoth(keyPatched), await onBoth('other')]).toEqual([
        ['v', '%'],
        ['good', 'good'],
      ]);
      const told = () => until('the event', async () => (await stage.events('web')).find((one) => one.reason));
      expect(await told()).toMatchObject({ reason: 'BackflowFailed', type: 'Warning' });
      expect(daemon.status.trouble).toMatchObject([{ state: 'inSync/BackflowFailed' }]);
      await address('10.0.0.2');
      await daemon.settled();
      daemon = await restart(daemon, patches);
      await address('10.0.0.3');
      await daemon.settled();
      expect([ipsOf(await stage.copy('web')), await onBoth(keyPatched)]).toEqual([['10.0.0.3'], ['v', '%']]);
      await expectNoWrites(daemon);
      await annotate('host', { [keyPatched]: btoa('new') });
      await daemon.settled();
      expect([await onBoth(keyPatched), daemon.status.trouble]).toEqual([['new', btoa('new')], []]);
    });

    it('a key that a forward-only patch hides by name is not on the host', async () => {
      const daemon = await start([{ path, expression: 'null' }], {});
      await annotate('host', { [keyPatched]: 'stands here', own: 'stays' });
      await daemon.settled();
      expect([await onBoth(keyPatched), await onBoth('own')]).toEqual([
        [undefined, undefined],
        ['stays', 'stays'],
      ]);
      await expectNoWrites(daemon);
    });

    it('settle after any edits and restarts, with all agreed that can be reversed', async () => {
      const annotationPairs = pairs.filter(({ map }) => map === 'annotations');
      const edits = fc.array(
        fc.record({
          side: fc.constantFrom<Side>('virtual', 'host'),
          key: fc.constantFrom('one', 'two'),
          value: fc.constantFrom('a', 'b', '%', 'YQ==', '"c"', 'P-d', null),
          isRestart: fc.boolean(),
        }),
        { minLength: 2, maxLength: 5 },
      );
      let round = 0;
      const play = async (
        pair: (typeof pairs)[number],
        shape: (typeof shapes)[number],
        {
          isSplit,
          all,
        }: { isSplit: boolean; all: { side: Side; key: string; value: string | null; isRestart: boolean }[] },
      ): Promise<void> => {
        const patches = patchesOf(pair, shape, isSplit);
        const name = `any-${++round}`;
        await stage.pair({ name, metadata: { annotations: { one: 'a' } } });
        let daemon = await stage.daemon({ config: configOf(patches) });
        for (const [at, { side, key, value, isRestart }] of all.entries()) {
          const change = { metadata: { annotations: { [key]: value } } };
          await (side === 'host' ? stage.editCopy(name, change) : stage.editTenants(name, change));
          if (isRestart) daemon = await restart(daemon, patches);
          await stage.editTenants(name, { subsets: subsetsOf(`10.0.1.${at + 1}`) });
          await daemon.settled();
          // Quicker edits on both sides would be held back for a while, as a contest.
          await daemon.clock.jump(11_000);
          await daemon.settled();
          expect(ipsOf(await stage.copy(name))).toEqual([`10.0.1.${at + 1}`]);
        }
        for (const key of ['one', 'two']) {
          const texts = [annotationOf(await stage.tenants(name), key), annotationOf(await stage.copy(name), key)];
          const [tenants, host] = texts;
          const isPatched = shape.reaches(key);
          const wanted = tenants === undefined || !isPatched ? tenants : pair.to(tenants);
          const isHeld = host !== undefined && isPatched && pair.from(host) === undefined;
          expect({ key, tenants, host }).toEqual({ key, tenants, host: isHeld ? host : wanted });
        }
        await expectNoWrites(daemon);
        await daemon.stop();
      };
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...annotationPairs),
          fc.constantFrom(...shapes),
          fc.record({ isSplit: fc.boolean(), all: edits }),
          play,
        ),
        { numRuns: liveRuns },
      );
    }, 120_000);
  });
}
