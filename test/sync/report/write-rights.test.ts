// One verb that the host refuses while it takes other writes, in the reports of a whole daemon over fake clusters.
import { describe, expect, it } from 'vitest';
import { statusOf } from '../../../src/daemon/report.ts';
import { attentionOf } from '../../../src/sync/report/attention/attention.ts';
import type { StatusJson } from '../../../src/sync/report/words.ts';
import { edit, putPair } from '../fake-sync.ts';
import { setUp, stage, world } from './report-stage.ts';

setUp();

const outage = 'an api server has an outage';
const copyOf = (name: string) => world.copy(name);
const relabel = (name: string, value: string) =>
  world.change(() => {
    const object = world.virtual.get('endpoints', 'default', name);
    edit(world.virtual, object, ({ metadata }) => Object.assign(metadata, { labels: { n: value } }));
  });

/** The copy of "old" is there and can be changed; that of "web" cannot be made. */
async function withoutCreate() {
  const on = await stage();
  await world.change(() => putPair(world, 'old'));
  on.host.refusedVerbs.add('create');
  await world.change(() => putPair(world, 'web'));
  await relabel('old', 'first');
  return on;
}

describe('a verb that is refused while other writes pass', () => {
  it('is a missing right with one time, and no outage', async () => {
    const on = await withoutCreate();
    expect(copyOf('old')?.metadata.labels).toMatchObject({ n: 'first' });
    for (let round = 0; round < 12; round++) {
      await on.pass(7_000);
      await relabel('old', String(round));
      expect(on.verdict()).toMatchObject({
        state: 'blocked',
        since: '2026-01-01T00:00:00Z',
        sentence:
          'a right is missing in the host cluster since 2026-01-01T00:00:00Z: not allowed to create endpoints in namespace "h"; blocked: 1 of 2 objects cannot reach the host (1 Forbidden)',
      });
      expect([await on.outageSeconds(), (await on.missingRights())[1]]).toEqual(['0', 'host 1']);
      // Nobody writes for a while.
      if (round === 5) await on.pass(200_000);
    }
    expect(on.readiness().isReady).toBe(true);
    expect(on.logged(outage)).toEqual([]);
    const [item] = attentionOf(statusOf(on.view) as StatusJson);
    expect(item).toMatchObject({ about: 'host endpoints', reason: 'Forbidden' });
    expect(item?.remedy).toMatch(/^grant "create" of endpoints in the namespace h/);
  });

  it.each([['create'], ['delete']])('lets all that waited for "%s" go within seconds of its return', async (verb) => {
    const on = await stage();
    const names = Array.from({ length: 20 }, (_one, n) => `web${n}`);
    await world.change(() => ['old', ...(verb === 'delete' ? names : [])].forEach((name) => void putPair(world, name)));
    on.host.refusedVerbs.add(verb);
    await world.change(() => {
      for (const name of names)
        if (verb === 'delete') world.virtual.remove('endpoints', 'default', name);
        else putPair(world, name);
    });
    await relabel('old', 'first');
    await on.pass(300_000);
    const wrong = () => names.filter((name) => (copyOf(name) === undefined) !== (verb === 'delete')).length;
    expect(wrong()).toBe(20);
    on.host.refusedVerbs.clear();
    await on.pass(7_000);
    expect(wrong()).toBe(0);
    expect(on.verdict()).toMatchObject({ state: 'inStep', isWell: true });
  });

  it('to delete keeps copies, and no objects from the host', async () => {
    const on = await stage();
    await world.change(() => ['old', 'web'].forEach((name) => void putPair(world, name)));
    on.host.refusedVerbs.add('delete');
    await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
    await relabel('old', 'first');
    await on.pass(10_000);
    expect(on.verdict().sentence).toMatch(
      /not allowed to delete endpoints .*; blocked: 1 copy cannot be removed from the host \(DeleteRefused\)$/,
    );
    expect(on.verdict().sentence).not.toMatch(/cannot reach/);
  });

  it('is forgotten with the last object that needs it', async () => {
    const on = await withoutCreate();
    await on.pass(10_000);
    await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
    await on.pass(2_000);
    expect(on.verdict()).toMatchObject({ state: 'inStep', isWell: true });
  });

  it('is forgotten when nothing has asked for it for minutes, although others wait', async () => {
    const on = await stage();
    await world.change(() => ['old', 'gone'].forEach((name) => void putPair(world, name)));
    on.host.refusedVerbs.add('create').add('delete');
    await world.change(() => {
      putPair(world, 'web');
      world.virtual.remove('endpoints', 'default', 'gone');
    });
    await relabel('old', 'first');
    await on.pass(60_000);
    expect(on.verdict().sentence).toMatch(/not allowed to create .*not allowed to delete /);
    await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
    await on.pass(240_000);
    expect(on.verdict().sentence).not.toMatch(/not allowed to create /);
    expect(on.verdict().sentence).toMatch(/not allowed to delete /);
  });

  it('does not hide that the host takes no write at all', async () => {
    const on = await withoutCreate();
    await on.pass(10_000);
    on.host.refusedVerbs.add('patch').add('delete');
    await relabel('old', 'second');
    await on.pass(10_000);
    expect(on.verdict()).toMatchObject({ state: 'unwritable' });
    expect(on.verdict().sentence).toMatch(/^cannot write to the host cluster since /);
  });
});
