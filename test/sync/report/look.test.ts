import { afterEach, describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/cluster/answer.ts';
import type { SandboxSetup } from '../../../src/expression/realm/harness.ts';
import type { Sandbox, SandboxOutcome } from '../../../src/expression/sandbox/sandbox.ts';
import { objectMain } from '../../../src/pages/status/object-page.ts';
import { createPageFacts, type PageFacts } from '../../../src/sync/report/look/page-facts.ts';
import { patchedObjectStatus } from '../../../src/sync/report/object-status.ts';
import { InProcessSandbox } from '../../expression/in-process-sandbox.ts';
import { edit, FakeWorld, putPair } from '../fake-sync.ts';
import { entry } from '../patch/fake-patch.ts';

let world: FakeWorld;
afterEach(() => world.stop());

async function facts(names: readonly string[], options: ConstructorParameters<typeof FakeWorld>[0] = {}) {
  world = new FakeWorld(options);
  for (const name of names) putPair(world, name);
  await world.run();
  return createPageFacts({ clock: world.clock, syncs: () => [world.sync], contents: () => [], referrersOf: () => [] });
}

const letters = 'abcdefghijklmnopqrstuvwxyz'.split('');

async function walk(on: PageFacts, limit: number, direction: 'after' | 'before'): Promise<string[][]> {
  const pages: string[][] = [];
  for (let place: string | undefined = direction === 'after' ? '' : '~'; place !== undefined; ) {
    const page = await on.page({ [direction]: place, limit });
    pages.push(page.rows.map(({ object }) => object));
    const hasMore: boolean = direction === 'after' ? page.hasAfter : page.hasBefore;
    place = hasMore ? (direction === 'after' ? page.last : page.first) : undefined;
  }
  return pages;
}

describe('a page of objects', () => {
  it('goes through all names in order, forwards and backwards, whatever the order in which they came', async () => {
    const on = await facts([...letters].sort(() => -1).toReversed());
    const all = letters.map((name) => `default/${name}`);
    expect((await walk(on, 7, 'after')).flat()).toEqual(all);
    expect((await walk(on, 7, 'before')).toReversed().flat()).toEqual(all);
    expect((await walk(on, 7, 'after')).map(({ length }) => length)).toEqual([7, 7, 7, 5]);
  });

  it('counts and lists only what matches', async () => {
    const on = await facts(['api', 'api-two', 'web']);
    expect(await on.page({ text: 'api', limit: 1 })).toMatchObject({
      matching: 2,
      rows: [{ object: 'default/api', state: 'inSync' }],
      hasBefore: false,
      hasAfter: true,
    });
    expect(await on.page({ namespace: 'shop', limit: 9 })).toMatchObject({ matching: 0, rows: [] });
    expect(await on.page({ state: 'refused', limit: 9 })).toMatchObject({ matching: 0 });
    expect(await on.page({ kind: 'Pod', limit: 9 })).toMatchObject({ matching: 0 });
  });

  it('goes on where it was when the object at the end of the page is gone', async () => {
    const on = await facts(['a', 'b', 'c', 'd']);
    const { last } = await on.page({ limit: 2 });
    await world.change(() => world.virtual.remove('endpoints', 'default', 'b'));
    expect((await on.page({ after: last, limit: 2 })).rows.map(({ object }) => object)).toEqual([
      'default/c',
      'default/d',
    ]);
  });

  it('has another version after a change of an object', async () => {
    const on = await facts(['a']);
    const before = on.changes();
    expect(on.changes()).toBe(before);
    await world.change(() => putPair(world, 'b'));
    expect(on.changes()).not.toBe(before);
  });
});

describe('everything about one name', () => {
  it('has both sides, the last write and what the next pass would do', async () => {
    const on = await facts(['web']);
    const { objects } = await on.details('default/web');
    expect(objects).toHaveLength(1);
    const [web] = objects;
    expect(web).toMatchObject({
      status: { object: 'default/web', state: 'inSync' },
      plan: 'nothing is to be written',
      lastWrite: { request: 'host create', secondsAgo: 0 },
      patches: [],
    });
    expect(web?.virtual).toContain('name: web');
    expect(web?.host).toContain('name: web-x-default-x-vc');
    expect(web?.lastWrite?.diff).toContain('\n+    vcluster.loft.sh/managed-by: vc\n');
    expect(web?.lastWrite?.diff).not.toMatch(/^-/m);
    expect(web?.diff).toBe(undefined);
    expect(await on.details('default/none')).toMatchObject({ objects: [], contents: [], lookedAt: ['Endpoints'] });
  });

  it('shows the last write as a difference, with what was there before', async () => {
    const on = await facts(['web']);
    await world.change(() =>
      edit(world.virtual, world.virtual.get('endpoints', 'default', 'web'), (object) => {
        object['subsets'] = [{ addresses: [{ ip: '10.9.9.9' }], ports: [{ port: 80 }] }];
        object.metadata.labels = { team: 'new' };
      }),
    );
    const last = async () => (await on.details('default/web')).objects[0]?.lastWrite;
    expect(await last()).toMatchObject({ request: 'host patch' });
    const lines = (await last())?.diff?.split('\n') ?? [];
    expect(lines).toContain('-  - ip: 10.0.0.1');
    expect(lines).toContain('+  - ip: 10.9.9.9');
    expect(lines).toContain('+    team: new');
    expect(lines.join('\n')).not.toMatch(/resourceVersion|metadata: \{\}/);
    await world.change(() =>
      edit(world.virtual, world.virtual.get('endpoints', 'default', 'web'), (object) => {
        object['subsets'] = [{ addresses: [{ ip: '10.9.9.8' }], ports: [{ port: 80 }] }];
      }),
    );
    expect((await last())?.diff).not.toContain('metadata');
  });

  it('says of the holder of a name that others want too, whose passes ask the host, what its last pass decided', async () => {
    world = new FakeWorld();
    for (const [name, namespace] of [
      ['col', 'default-x-default'],
      ['col-x-default', 'default'],
    ] as const)
      putPair(world, name, '10.0.0.1', { namespace });
    await world.run();
    const on = createPageFacts({
      clock: world.clock,
      syncs: () => [world.sync],
      contents: () => [],
      referrersOf: () => [],
    });
    const plans = await Promise.all(
      ['default-x-default/col', 'default/col-x-default'].map(async (key) => (await on.details(key)).objects[0]),
    );
    const byState = Object.fromEntries(plans.map((one) => [one?.status.state, one?.plan]));
    expect(byState).toEqual({
      inSync: 'nothing is to be written',
      'refused/NameCollision': expect.stringMatching(/^nothing: its host name belongs to /),
    });
  });

  it('says that the next pass reads the Service first when the last one got no answer', async () => {
    world = new FakeWorld();
    for (const [name, namespace] of [
      ['col', 'default-x-default'],
      ['col-x-default', 'default'],
    ] as const)
      putPair(world, name, '10.0.0.1', { namespace });
    const get = async (): Promise<Answer> => ({
      kind: 'throttled',
      retryAfterMs: undefined,
      message: 'too many requests',
    });
    await world.run({ hostWriter: { ...world.host.writer(), get } });
    const on = createPageFacts({
      ...{ clock: world.clock, contents: () => [], referrersOf: () => [] },
      syncs: () => [world.sync],
    });
    const plans = await Promise.all(
      ['default-x-default/col', 'default/col-x-default'].map(async (key) => (await on.details(key)).objects[0]?.plan),
    );
    expect(plans).toContain('the next pass reads the service on the host first');
  });

  it('says of a standby that it sends nothing, and who leads', async () => {
    world = new FakeWorld();
    world.isLeader = false;
    putPair(world, 'web');
    await world.run({ standbyBehind: () => 'hostward-1' });
    const sources = { clock: world.clock, contents: () => [], referrersOf: () => [] };
    const on = createPageFacts({ ...sources, syncs: () => [world.sync] });
    const details = await on.details('default/web');
    expect(details.objects[0]).toMatchObject({
      status: { state: 'left/Standby', message: 'this replica is a standby and sends nothing: hostward-1 leads' },
      plan: 'this replica is a standby and sends nothing: hostward-1 leads; if it led, it would send host create',
    });
    const { text } = objectMain('default/web', details, { kind: undefined, command: 'status' });
    expect(text).toContain('class="verdict left"><strong>left/Standby</strong>');
    expect(text).not.toContain('the next pass sends');
    expect((await on.page({ limit: 9 })).rows).toMatchObject([{ state: 'left/Standby' }]);
  });

  it('says what the value of a patch without an expression means', async () => {
    const reference = { apiVersion: 'v1', kind: 'Secret', namePath: 'name' };
    const on = await facts(['web'], { patches: [entry({ path: 'metadata.annotations', reference })] });
    const [web] = (await on.details('default/web')).objects;
    expect(web?.patches).toMatchObject([{ meaning: 'names of Secret (v1), name path name' }]);
    const { text } = objectMain('default/web', await on.details('default/web'), { kind: undefined, command: 'status' });
    expect(text).toContain('<p class="quiet">names of Secret (v1), name path name</p>');
  });

  it('shows a write that is not allowed now as a difference', async () => {
    const on = await facts(['web'], { isDryRun: true });
    const [web] = (await on.details('default/web')).objects;
    expect(web?.plan).toMatch(/^nothing is sent in a dry run; without it the next pass would send host create/);
    expect(web?.diff).toContain('\n+  name: web-x-default-x-vc\n');
    const { text } = objectMain('default/web', await on.details('default/web'), { kind: undefined, command: 'status' });
    expect(text).toContain('class="verdict left"><strong>left/DryRun</strong>');
  });
});

describe('a contested object', () => {
  it('shows with the client that keeps changing it, in the list and by its name', async () => {
    const on = await facts(['calm', 'web']);
    for (let times = 0; times < 6; times++) {
      await world.change(() =>
        edit(world.host, world.copy('web'), (copy) => {
          copy['subsets'] = [];
          copy.metadata.managedFields = [{ manager: 'evil-ctl', time: `2026-01-01T00:00:0${times}Z` }];
        }),
      );
      await world.clock.advance(1_000);
      await world.quiet();
    }
    const { rows } = await on.page({ limit: 9 });
    expect(rows.map(({ object, state, contestedBy }) => [object, state, contestedBy])).toEqual([
      ['default/calm', 'inSync', undefined],
      ['default/web', 'inSync/Contested', 'evil-ctl'],
    ]);
    expect(await on.page({ state: 'inSync/Contested', limit: 9 })).toMatchObject({ matching: 1 });
    const { objects } = await on.details('default/web');
    expect(objects[0]?.status).toMatchObject({ state: 'inSync/Contested', contestedBy: 'evil-ctl' });
    const main = objectMain(
      'default/web',
      { objects, contents: [], lookedAt: [], unread: [] },
      { kind: undefined, command: 'status' },
    );
    expect(main.text).toContain('class="verdict bad"><strong>inSync/Contested</strong>');
    expect(main.text).toContain('contested by evil-ctl');
  });
});

describe('a look at an object', () => {
  const look = async (on: PageFacts) => {
    const { objects } = await on.details('default/web');
    const status = await patchedObjectStatus(world.sync, 'default/web');
    expect(objects[0]?.status.patchFailure).toEqual(status?.patchFailure);
    return status;
  };
  const known = () => ({
    patches: world.patches?.counts.totals(),
    setAside: world.patches?.quarantined(),
    changes: world.sync.ledger.changes,
  });

  it('changes no count of a patch that works or fails, and not its last failure', async () => {
    const patches = [
      entry({ path: 'metadata.annotations.fine', expression: '"fine"', onMissing: 'create' }),
      entry({ path: 'metadata.annotations.boom', expression: 'value.nope.deep', onMissing: 'create' }),
    ];
    const on = await facts(['web'], { patches });
    const before = structuredClone(known());
    expect(before.patches).toMatchObject([{ values: 1 }, { failures: 1 }]);
    expect(await look(on)).toMatchObject({ patchFailure: { patch: 1, class: 'threw' } });
    expect(known()).toEqual(before);
  });

  it('says which patches were not tried, because an earlier one failed', async () => {
    const patches = [
      entry({ path: 'metadata.annotations.fine', expression: '"fine"', onMissing: 'create' }),
      entry({ path: 'metadata.annotations.boom', expression: 'value.nope.deep', onMissing: 'create' }),
      entry({ path: 'metadata.labels.z', expression: '"z"', onMissing: 'create' }),
    ];
    const on = await facts(['web'], { patches });
    const [web] = (await on.details('default/web')).objects;
    const said = web?.patches.map(({ patch, notTried }) => [patch, notTried]);
    expect(said).toEqual([
      [0, undefined],
      [1, undefined],
      [2, 'not tried, because patch 1 failed'],
    ]);
    const { text } = objectMain('default/web', await on.details('default/web'), { kind: undefined, command: 'status' });
    expect(text).toContain('<p>patch 2: <code>metadata.labels.z</code>, not tried, because patch 1 failed</p>');
  });

  it('neither sets aside what runs out of time, nor runs it again, nor tells of it as the last failure', async () => {
    let runs = 0;
    const openSandbox = (setup: SandboxSetup): Sandbox => {
      const inner = new InProcessSandbox(setup);
      const run = async (): Promise<SandboxOutcome> => {
        runs++;
        return { kind: 'timeout' };
      };
      return { start: () => inner.start(), stop: () => inner.stop(), run };
    };
    const patches = [entry({ path: 'metadata.annotations.k', expression: '"slow"', onMissing: 'create' })];
    const on = await facts(['web'], { patches, openSandbox });
    const before = structuredClone(known());
    expect(before).toMatchObject({ patches: [{ failures: 1 }], setAside: { values: 1 } });
    expect(await look(on)).toMatchObject({ patchFailure: { class: 'timeout' } });
    world.isLeader = false;
    await world.clock.advance(20_000);
    const after = structuredClone(known());
    const ran = runs;
    expect(await look(on)).toMatchObject({ patchFailure: { class: 'timeout' } });
    expect([known(), runs]).toEqual([after, ran]);
  });
});

describe('the last hour', () => {
  it('has the delays and writes of each ten seconds, with wall times, for an hour and no longer', async () => {
    const on = await facts(['web']);
    const [point] = on.lastHour();
    expect(point).toMatchObject({ writesPerSecond: 1, p50Ms: expect.any(Number) });
    expect(point?.at.toISOString()).toBe('2026-01-01T00:00:00.000Z');
    await world.clock.advance(3_590_000);
    expect(on.lastHour()).toHaveLength(1);
    await world.clock.advance(10_000);
    expect(on.lastHour()).toEqual([]);
  });
});
