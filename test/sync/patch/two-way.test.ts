import { afterEach, describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/cluster/answer.ts';
import type { Writer } from '../../../src/cluster/write/writer.ts';
import type { PatchEntry } from '../../../src/config/settings/settings.ts';
import { setGauges } from '../../../src/daemon/gauges.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { listObjects } from '../../../src/sync/report/object-list.ts';
import { objectStatus } from '../../../src/sync/report/object-status.ts';
import { syncStatus, verdictFacts } from '../../../src/sync/report/status.ts';
import { edit, endpoints, type FakeOptions, FakeWorld, ipOf, putPair } from '../fake-sync.ts';
import { entry } from './fake-patch.ts';

type MapName = 'labels' | 'annotations';
type Texts = Record<string, string | undefined>;

let world: FakeWorld;
afterEach(() => world.stop());

async function start(
  patches: readonly PatchEntry[],
  metadata: Partial<KubeObject['metadata']> = {},
  options: FakeOptions = {},
): Promise<void> {
  world = new FakeWorld({ ...options, patches });
  putPair(world, 'web', '10.0.0.1', metadata);
  await world.run();
}

const virtual = () => world.virtual.get('endpoints', 'default', 'web') as KubeObject;
const host = () => world.copy('web') as KubeObject;

function set(side: 'virtual' | 'host', map: MapName, changes: Texts): Promise<void> {
  return world.change(() =>
    edit(world[side], side === 'virtual' ? virtual() : host(), (draft) => {
      const all: Texts = { ...draft.metadata[map], ...changes };
      draft.metadata[map] = Object.fromEntries(
        Object.entries(all).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
      );
    }),
  );
}

function setAddress(ip: string): Promise<void> {
  return world.change(() =>
    edit(world.virtual, virtual(), (draft) => {
      draft['subsets'] = endpoints('web', ip)['subsets'];
    }),
  );
}

const of = (object: KubeObject, map: MapName, key: string): string | undefined => object.metadata[map]?.[key];
const both = (map: MapName, key: string) => [of(virtual(), map, key), of(host(), map, key)];
const endpointsWrites = () =>
  [...world.virtual.writes, ...world.host.writes].filter((one) => one.includes('endpoints')).length;
const backflow = () => {
  const failures = world.sync.ledger.backflowFailures.get('default/web');
  return [...(failures?.labels.keys() ?? []), ...(failures?.annotations.keys() ?? [])];
};

async function expectQuiet(): Promise<void> {
  const before = endpointsWrites();
  await world.clock.advance(120_000);
  await world.quiet();
  expect(endpointsWrites()).toBe(before);
}

const base64 = { expression: 'btoa(value)', reverseExpression: 'atob(value)' };
const json = { expression: 'JSON.stringify(value)', reverseExpression: 'JSON.parse(value)' };
const inOne = (path: string, pair: { expression: string; reverseExpression: string }) => [entry({ path, ...pair })];
const inTwo = (path: string, { expression, reverseExpression }: { expression: string; reverseExpression: string }) => [
  entry({ path, expression }),
  entry({ path, reverseExpression }),
];

describe.each([
  ['in one entry', inOne],
  ['in two entries', inTwo],
])('a pair that cannot reverse what the tenant wrote, %s', (_name, of2) => {
  it.each([
    ['metadata.annotations.k', base64],
    ['metadata.annotations.k', json],
    ['metadata.annotations[*]', base64],
    ['metadata.*.k', json],
  ])('"%s": an unrelated change of the host holds nothing up, after a restart neither', async (path, pair) => {
    await start(of2(path, pair), { annotations: { k: 'no base64, no JSON' } });
    await set('host', 'labels', { unrelated: 'yes' });
    expect(both('labels', 'unrelated')).toEqual(['yes', 'yes']);
    await setAddress('10.0.0.2');
    expect(ipOf(host())).toBe('10.0.0.2');
    await set('host', 'labels', { another: 'too' });
    await world.restart();
    await setAddress('10.0.0.3');
    expect(ipOf(host())).toBe('10.0.0.3');
    expect([backflow(), world.eventReasons()]).toEqual([[], []]);
    await expectQuiet();
  });
});

describe('a host value that cannot be reversed', () => {
  const path = 'metadata.annotations.k';

  it.each(['fail', 'skip', 'keepLast'] as const)(
    'with onError: %s stays where it is on both sides, and addresses arrive all the same',
    async (onError) => {
      await start([entry({ path, ...base64, onError })], { annotations: { k: 'v' } });
      await set('host', 'annotations', { k: '%' });
      expect(both('annotations', 'k')).toEqual(['v', '%']);
      await setAddress('10.0.0.2');
      expect([ipOf(host()), ...both('annotations', 'k')]).toEqual(['10.0.0.2', 'v', '%']);
      await world.restart();
      await setAddress('10.0.0.3');
      expect([ipOf(host()), ...both('annotations', 'k')]).toEqual(['10.0.0.3', 'v', '%']);
      await expectQuiet();
    },
  );

  it('is reported: an event, a metric, and status', async () => {
    await start(inOne(path, base64), { annotations: { k: 'v' } });
    await set('host', 'annotations', { k: '%' });
    expect(world.eventReasons()).toEqual(['BackflowFailed']);
    const [event] = world.virtual.list('events');
    expect(event).toMatchObject({
      type: 'Warning',
      message: expect.stringMatching(/^The host's change of annotation "k"/),
    });
    expect(syncStatus(world.sync).trouble).toEqual([
      {
        object: 'default/web',
        hostObject: 'vcluster-vc/web-x-default-x-vc',
        state: 'inSync/BackflowFailed',
        message: expect.stringContaining('patch 0 failed'),
      },
    ]);
    expect([...verdictFacts(world.sync).gaps]).toEqual([['BackflowFailed', 1]]);
    expect([...listObjects(world.sync, { state: 'inSync/BackflowFailed' })]).toMatchObject([
      { object: 'default/web', message: expect.stringContaining('patch 0 failed') },
    ]);
    expect(objectStatus(world.sync, 'default/web')).toMatchObject({
      state: 'inSync/BackflowFailed',
      backflowFailures: [{ map: 'annotation', key: 'k', message: expect.stringContaining('patch 0 failed') }],
    });
    setGauges(world.sync, { isLeader: true });
    const gauge = world.sync.options.metrics.getSingleMetric('hostward_sync_backflow_failed_objects');
    expect((await gauge?.get())?.values[0]?.value).toBe(1);
    await setAddress('10.0.0.2');
    expect(world.virtual.list('events').map(({ count }) => count)).toEqual([1]);
  });

  it('is asked again when the host changes it', async () => {
    await start(inOne(path, base64), { annotations: { k: 'v' } });
    await set('host', 'annotations', { k: '%' });
    await set('host', 'annotations', { k: btoa('new') });
    expect(both('annotations', 'k')).toEqual(['new', btoa('new')]);
    expect([backflow(), syncStatus(world.sync).trouble]).toEqual([[], []]);
  });

  it('gives way to what the tenant writes', async () => {
    await start(inOne(path, base64), { annotations: { k: 'v' } });
    await set('host', 'annotations', { k: '%' });
    await set('virtual', 'annotations', { k: 'mine' });
    expect(both('annotations', 'k')).toEqual(['mine', btoa('mine')]);
    expect(backflow()).toEqual([]);
  });

  it.each([['metadata.annotations[*]'], ['metadata.annotations']])('holds back no other key: "%s"', async (where) => {
    const each = (made: string) => `Object.fromEntries(Object.entries(value).map(([k, v]) => [k, ${made}]))`;
    const pair = where.endsWith(']')
      ? base64
      : { expression: each('"p-" + v'), reverseExpression: each('v === "p-bad" ? v.no.way : v.replace(/^p-/, "")') };
    const to = (value: string) => (where.endsWith(']') ? btoa(value) : `p-${value}`);
    const bad = where.endsWith(']') ? '%' : 'p-bad';
    await start(inOne(where, pair), { annotations: { a: '1', b: '2', c: '3' } });
    await set('host', 'annotations', { a: to('one'), b: bad, c: undefined, d: to('four') });
    const { a, b, c, d } = virtual().metadata.annotations ?? {};
    expect({ a, b, c, d }).toEqual({ a: 'one', b: '2', c: undefined, d: 'four' });
    expect(of(host(), 'annotations', 'b')).toBe(bad);
    expect(backflow()).toEqual(['b']);
    await expectQuiet();
  });

  it('that the host added stays on the host alone', async () => {
    await start(inOne('metadata.annotations[*]', json));
    await set('host', 'annotations', { fresh: 'no JSON' });
    expect(both('annotations', 'fresh')).toEqual([undefined, 'no JSON']);
    await set('host', 'annotations', { fresh: undefined });
    expect([both('annotations', 'fresh'), backflow()]).toEqual([[undefined, undefined], []]);
  });
});

it('one entry forward and one back over a whole map are a pair', async () => {
  const each = (made: string) => `Object.fromEntries(Object.entries(value).map(([k, v]) => [k, ${made}]))`;
  const pair = { expression: each('"p-" + v'), reverseExpression: each('v.replace(/^p-/, "")') };
  await start(inTwo('metadata.annotations', pair), { annotations: { k: 'v' } });
  await set('host', 'annotations', { k: 'p-new', other: 'p-too' });
  expect([both('annotations', 'k'), both('annotations', 'other')]).toEqual([
    ['new', 'p-new'],
    ['too', 'p-too'],
  ]);
});

describe('a value that would make the patches fail once the tenant has it', () => {
  const careful = (on: string) => `${on} === "bad" ? ${on}.no.way : ${on}`;

  it('is held back, and neither addresses nor other keys are', async () => {
    const patches = inOne('metadata.annotations.k', { expression: careful('value'), reverseExpression: 'value' });
    await start(patches, { annotations: { k: 'v' } });
    await set('host', 'annotations', { k: 'bad', other: 'good' });
    expect([both('annotations', 'k'), both('annotations', 'other')]).toEqual([
      ['v', 'bad'],
      ['good', 'good'],
    ]);
    expect(backflow()).toEqual(['k']);
    await setAddress('10.0.0.2');
    await world.restart();
    expect([ipOf(host()), world.sync.ledger.entry('default/web')]).toEqual(['10.0.0.2', undefined]);
    await expectQuiet();
  });

  it('and that no patch reverses is held back too', async () => {
    const each = `Object.fromEntries(Object.entries(value).map(([k, v]) => [k, ${careful('v')}]))`;
    await start([entry({ path: 'metadata.annotations', expression: each })], { annotations: { k: 'v' } });
    await set('host', 'annotations', { n: 'bad' });
    await setAddress('10.0.0.2');
    expect([both('annotations', 'n'), ipOf(host())]).toEqual([[undefined, 'bad'], '10.0.0.2']);
  });

  it('by being gone', async () => {
    await start([entry({ path: 'metadata.annotations', expression: '(value.k.length, value)' })], {
      annotations: { k: 'v' },
    });
    await set('host', 'annotations', { k: undefined });
    await setAddress('10.0.0.2');
    expect([both('annotations', 'k'), ipOf(host())]).toEqual([['v', undefined], '10.0.0.2']);
    expect(backflow()).toEqual(['k']);
  });
});

describe('a reverse expression', () => {
  it('runs for changed keys alone', async () => {
    const patches = inOne('metadata.*[*]', { expression: '"p-" + value', reverseExpression: 'value.slice(2)' });
    await start(patches, { labels: { a: '1', b: '2' }, annotations: { c: '3', d: '4' } });
    const before = world.patches?.counts.totals()[0]?.values ?? 0;
    await set('host', 'labels', { a: 'p-one' });
    // Forward, four keys are patched again each time that one of them changes.
    const backwards = ((world.patches?.counts.totals()[0]?.values ?? 0) - before) % 4;
    expect([both('labels', 'a'), backwards]).toEqual([['one', 'p-one'], 1]);
  });

  it('keeps its result beside those of other patches', async () => {
    const pair = { expression: '"p-" + value', reverseExpression: 'value.slice(2)' };
    const at = (key: string) => entry({ path: `metadata.annotations.${key}`, ...pair });
    await start([at('a'), at('b'), at('c')]);
    await set('host', 'annotations', { a: 'p-1', b: 'p-2', c: 'p-3' });
    expect(['a', 'b', 'c'].map((key) => of(virtual(), 'annotations', key))).toEqual(['1', '2', '3']);
  });

  it('is not run for a key that the host removed', async () => {
    await start(inOne('metadata.annotations', { expression: 'value', reverseExpression: 'value.no.way' }), {
      annotations: { k: 'v' },
    });
    await set('host', 'annotations', { k: undefined });
    expect([both('annotations', 'k'), backflow()]).toEqual([[undefined, undefined], []]);
  });

  it('of a whole map sees the virtual object overlaid with the host’s changes, and counts for these', async () => {
    const reverseExpression = '({ ...value, seen: Object.entries(value).sort().join(), a: "overwritten" })';
    await start([entry({ path: 'metadata.labels', reverseExpression })], { labels: { a: '1' } });
    await set('host', 'labels', { seen: 'x' });
    await set('host', 'annotations', { other: 'y' });
    expect(backflow()).toEqual(['seen']);
    expect(world.sync.ledger.backflowFailures.get('default/web')?.labels.get('seen')?.message).toContain(
      'a good value',
    );
    expect([both('labels', 'a'), both('annotations', 'other')]).toEqual([
      ['1', '1'],
      ['y', 'y'],
    ]);
  });

  it('of two on one key that fails keeps the next one from it', async () => {
    const patches = [
      entry({ path: 'metadata.annotations.k', ...json }),
      entry({ path: 'metadata.annotations[*]', expression: 'value', reverseExpression: 'value.toUpperCase()' }),
    ];
    await start(patches, { annotations: { k: 'v', l: 'w' } });
    await set('host', 'annotations', { k: 'no JSON', l: 'new' });
    expect([both('annotations', 'k'), both('annotations', 'l')]).toEqual([
      ['v', 'no JSON'],
      ['NEW', 'NEW'],
    ]);
  });
});

describe('a virtual API server that does not take what flows back', () => {
  it.each(['refused', 'forbidden'] as const)('(%s) holds up nothing that flows forward', async (kind) => {
    const said = { status: kind === 'refused' ? 422 : 403, message: 'a webhook says no', namespaceTerminating: false };
    const answer = { kind, ...said } as unknown as Answer;
    await start([], { annotations: { k: 'v' } });
    await world.stop();
    const virtualWriter: Writer = { ...world.virtual.writer(), patch: async () => answer };
    await world.run({ virtualWriter });
    await set('host', 'annotations', { k: 'host' });
    await setAddress('10.0.0.2');
    expect([ipOf(host()), ...both('annotations', 'k')]).toEqual(['10.0.0.2', 'v', 'host']);
    expect(world.sync.ledger.entry('default/web')?.outcome).toMatchObject({ kind: 'refused' });
  });
});

describe('an expression without a reverse one that is written for a key by name', () => {
  const hidden = 'example.com/secret';

  it.each(['null', '"***"'])('%s: takes the key from the host when the virtual side lacks it', async (expression) => {
    await start([entry({ path: `metadata.annotations["${hidden}"]`, expression })]);
    await set('host', 'annotations', { [hidden]: 'stands here', free: 'stays' });
    expect([both('annotations', hidden), of(host(), 'annotations', 'free')]).toEqual([[undefined, undefined], 'stays']);
    await expectQuiet();
  });

  it('takes away what was there before there was such a patch, and with no base', async () => {
    await start([], {});
    await set('host', 'annotations', { [hidden]: 'stands here' });
    await set('virtual', 'annotations', { [hidden]: undefined });
    await world.stop();
    edit(world.host, host(), (draft) => {
      draft.metadata.annotations = { ...draft.metadata.annotations, [hidden]: 'adopted' };
      delete draft.metadata.annotations['hostward.dev/base'];
    });
    world.options = { patches: [entry({ path: `metadata.annotations["${hidden}"]`, expression: 'null' })] };
    await world.run();
    expect(of(host(), 'annotations', hidden)).toBeUndefined();
    await expectQuiet();
  });

  it('takes what kubectl apply has written off copies that have it, as the warning of `check` says', async () => {
    const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';
    await start([], { annotations: { [lastApplied]: '{"metadata":{"labels":{"team":"red"}}}' } });
    expect(of(host(), 'annotations', lastApplied)).toContain('red');
    await world.stop();
    world.options = { patches: [entry({ path: `metadata.annotations["${lastApplied}"]`, expression: 'null' })] };
    await world.run();
    expect(of(host(), 'annotations', lastApplied)).toBeUndefined();
    expect(of(virtual(), 'annotations', lastApplied)).toContain('red');
    await expectQuiet();
  });

  it.each(['metadata.annotations[*]', 'metadata.annotations', '', 'metadata.labels["example.com/secret"]'])(
    'and only there: with "%s" the key is the host’s own',
    async (path) => {
      const expression = path.endsWith('"]') || path.endsWith('[*]') ? 'null' : 'value';
      await start([entry({ path, expression })]);
      await set('host', 'annotations', { [hidden]: 'stays' });
      expect(of(host(), 'annotations', hidden)).toBe('stays');
      await expectQuiet();
    },
  );

  it.each(['one entry', 'two'])('and with a reverse expression, in %s, it is shared', async (entries) => {
    const pair = { expression: '"p-" + value', reverseExpression: 'value.slice(2)' };
    await start((entries === 'two' ? inTwo : inOne)('metadata.annotations.k', pair));
    await set('host', 'annotations', { k: 'p-v' });
    expect(both('annotations', 'k')).toEqual(['v', 'p-v']);
  });
});
