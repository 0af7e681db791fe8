// Copies that have lost the annotations that name their virtual object, in the report of a whole daemon over fake clusters.
import { describe, expect, it } from 'vitest';
import { statusOf } from '../../../src/daemon/report.ts';
import { attentionIn } from '../../../src/sync/report/attention/attention.ts';
import { objectStatus } from '../../../src/sync/report/object-status.ts';
import type { StatusJson } from '../../../src/sync/report/words.ts';
import { edit, putPair } from '../fake-sync.ts';
import { setUp, stage, world } from './report-stage.ts';

setUp();

const name = 'vcluster.loft.sh/object-name';

/** A copy whose virtual object goes while nobody watches, and which has lost the annotations. */
async function orphan(lost: readonly string[], change: Record<string, string> = {}) {
  const on = await stage();
  await world.change(() => putPair(world, 'web'));
  await world.sync.stop(1000);
  edit(world.host, world.copy('web'), ({ metadata }) => {
    const kept = Object.entries({ ...metadata.annotations, ...change }).filter(([key]) => !lost.includes(key));
    metadata.annotations = Object.fromEntries(kept);
  });
  world.virtual.remove('endpoints', 'default', 'web');
  await world.run();
  const status = statusOf({ ...on.view, sync: world.sync } as never) as StatusJson;
  return { status, groups: attentionIn(status).groups };
}

describe('a copy on which somebody has changed object-name', () => {
  it('is said to be one, and its annotation or the copy is what to mend', async () => {
    const on = await stage();
    await world.change(() => putPair(world, 'web'));
    await world.change(() =>
      edit(world.host, world.copy('web'), ({ metadata }) => {
        metadata.annotations = { ...metadata.annotations, [name]: 'wrong' };
      }),
    );
    expect(objectStatus(world.sync, 'default/web')).toMatchObject({
      state: 'refused/NotOwned',
      message:
        'its host name is taken by an object that bears our marks and names another virtual object: its annotations make it the copy of "default/wrong", which belongs elsewhere',
      ownership: 'oursForOther: default/wrong',
    });
    const { groups } = attentionIn(statusOf(on.view as never) as StatusJson);
    expect(groups.map(({ items }) => items[0]?.remedy)).toEqual([
      'correct object-name and object-namespace on the copy, or delete the copy, and it is made again; this shows it',
    ]);
  });
});

describe('a copy that nobody claims', () => {
  it.each([
    ['object-name', [name]],
    ['object-namespace', ['vcluster.loft.sh/object-namespace']],
    ['object-name and object-host-name', [name, 'vcluster.loft.sh/object-host-name']],
  ])('and that has lost %s is named, with the way out', async (_, lost) => {
    const { status, groups } = await orphan(lost);
    expect(status['unnamedCopies']).toMatchObject([{ hostObject: 'vcluster-vc/web-x-default-x-vc' }]);
    expect(groups.map(({ reason, count, items }) => [reason, count, items[0]?.about])).toEqual([
      ['NotOurs', 1, 'host copy vcluster-vc/web-x-default-x-vc'],
    ]);
    expect(groups[0]?.items[0]).toMatchObject({
      remedy: 'delete the copy on the host if nobody needs it, or give it its annotations back; this shows it',
      command: expect.stringMatching(/--namespace vcluster-vc get endpoints web-x-default-x-vc --output yaml$/),
    });
    expect(objectStatus(world.sync, 'default/web')).toMatchObject({
      state: 'left/NotOurs',
      message: 'the host copy has lost its object-name or object-namespace annotation, so it is not deleted',
    });
  });

  it('is not one that says it is of another kind, as the slices that the host mirrors from a copy', async () => {
    const { status, groups } = await orphan([name], { 'vcluster.loft.sh/object-kind': 'v1, Kind=Other' });
    expect([status['unnamedCopies'], groups]).toEqual([undefined, []]);
  });
});
