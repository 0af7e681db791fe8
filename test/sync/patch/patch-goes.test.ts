import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { edit, type FakeOptions, FakeWorld, putPair } from '../fake-sync.ts';
import { entry } from './fake-patch.ts';

let world: FakeWorld;
afterEach(() => world.stop());

const keysOf = (object: KubeObject | undefined) =>
  Object.fromEntries(
    Object.entries(object?.metadata.annotations ?? {}).filter(([key]) => !/vcluster.loft.sh|hostward.dev/.test(key)),
  );
const virtual = () => world.virtual.get('endpoints', 'default', 'web');

const entries = [
  entry({ path: 'metadata.annotations["made"]', expression: '"by us"', onMissing: 'create' }),
  entry({ path: 'metadata.annotations', expression: '({...value, made: "by us"})' }),
  entry({
    path: '',
    expression: '(value.metadata.annotations["made"] = "by us", value)',
  }),
];

/** The daemon stops, somebody on the host does something, and it starts again without patches. */
async function playWithoutPatches(patch: FakeOptions, meanwhile: () => void): Promise<void> {
  world = new FakeWorld(patch);
  putPair(world, 'web', '10.0.0.1', { annotations: { k: 'v' } });
  await world.run();
  expect(keysOf(world.copy('web'))).toEqual({ k: 'v', made: 'by us' });
  await world.stop();
  meanwhile();
  world.options = {};
  await world.run();
}

describe.each(entries)('a key that a patch of "$path" made', (one) => {
  it('goes from the host when the patch goes', async () => {
    await playWithoutPatches({ patches: [one] }, () => {});
    expect(keysOf(world.copy('web'))).toEqual({ k: 'v' });
    expect(world.virtual.writes).toEqual([]);
  });

  it('goes and never reaches the tenant, also when it was edited on the host in the meantime', async () => {
    await playWithoutPatches({ patches: [one] }, () =>
      edit(world.host, world.copy('web'), (draft) => {
        draft.metadata.annotations = { ...draft.metadata.annotations, made: 'edited', theirs: 'x' };
      }),
    );
    expect(keysOf(world.copy('web'))).toEqual({ k: 'v', theirs: 'x' });
    expect(virtual()?.metadata.annotations).toEqual({ k: 'v', theirs: 'x' });
  });

  it('is made once, and goes, also where nothing flows back', async () => {
    const settings = { backSync: 'none' } as const;
    world = new FakeWorld({ settings, patches: [one] });
    putPair(world, 'web', '10.0.0.1', { annotations: { k: 'v' } });
    await world.run();
    await world.clock.advance(1000);
    await world.restart();
    expect(world.host.writes).toHaveLength(1);
    await world.stop();
    world.options = { settings };
    await world.run();
    expect(keysOf(world.copy('web'))).toEqual({ k: 'v' });
  });
});

it('a key goes when its patch no longer makes it', async () => {
  const expression =
    '({...value.metadata.labels}).tier === "a" ? (value.metadata.annotations["made"] = "x", value) : value';
  world = new FakeWorld({ patches: [entry({ path: '', expression })] });
  putPair(world, 'web', '10.0.0.1', { labels: { tier: 'a' }, annotations: { k: 'v' } });
  await world.run();
  expect(keysOf(world.copy('web'))).toEqual({ k: 'v', made: 'x' });
  await world.change(() =>
    edit(world.virtual, virtual(), (draft) => {
      draft.metadata.labels = { tier: 'b' };
    }),
  );
  expect(keysOf(world.copy('web'))).toEqual({ k: 'v' });
});

it('a host value for a reverse expression stays on the host, and does not reach the tenant after the patch has gone', async () => {
  const patches = [entry({ path: 'metadata.annotations["made"]', reverseExpression: 'value === "" ? "x" : null' })];
  world = new FakeWorld({ patches });
  putPair(world, 'web', '10.0.0.1', { annotations: { k: 'v' } });
  await world.run();
  const put = (value: string) =>
    edit(world.host, world.copy('web'), (draft) => {
      draft.metadata.annotations = { ...draft.metadata.annotations, made: value };
    });
  await world.change(() => put('host-1'));
  await world.stop();
  put('host-2');
  world.options = {};
  await world.run();
  await world.change(() => putPair(world, 'web', '10.0.0.2', { annotations: { k: 'w' } }));
  expect(keysOf(world.copy('web'))).toEqual({ k: 'w', made: 'host-2' });
  expect(virtual()?.metadata.annotations).toEqual({ k: 'w' });
});

it('a key that appeared on the host while its patches changed does not reach the tenant, now or after a restart', async () => {
  const pair = (prefix: string) =>
    entry({
      path: 'metadata.annotations.*',
      expression: `"${prefix}" + value`,
      reverseExpression: `value.startsWith("${prefix}") ? value.slice(2) : value`,
    });
  world = new FakeWorld({ patches: [pair('p-')] });
  putPair(world, 'web', '10.0.0.1', { annotations: { k: 'v' } });
  await world.run();
  await world.stop();
  edit(world.host, world.copy('web'), (draft) => {
    draft.metadata.annotations = { ...draft.metadata.annotations, made: 'p-x' };
  });
  world.options = { patches: [pair('q-')] };
  await world.run();
  await world.restart();
  expect(world.virtual.writes).toEqual([]);
  expect(keysOf(world.copy('web'))).toEqual({ k: 'q-v', made: 'p-x' });
});

it('a pair on a wider path does not reverse a forward-only entry', async () => {
  const hidden = entry({ path: 'metadata.annotations["made"]', expression: '"secret-" + value' });
  const pair = entry({
    path: 'metadata.annotations.*',
    expression: '"p-" + value',
    reverseExpression: 'value.slice(2)',
  });
  world = new FakeWorld({ patches: [hidden, pair] });
  putPair(world, 'web', '10.0.0.1', { annotations: { k: 'v', made: 'x' } });
  await world.run();
  await world.change(() =>
    edit(world.host, world.copy('web'), (draft) => {
      draft.metadata.annotations = { ...draft.metadata.annotations, made: 'p-secret-y', k: 'p-w' };
    }),
  );
  expect(virtual()?.metadata.annotations).toEqual({ k: 'w', made: 'x' });
  expect(keysOf(world.copy('web'))).toEqual({ k: 'p-w', made: 'p-secret-x' });
});

describe.each([
  ['annotations', 'internal-x'],
  ['labels', 'release'],
] as const)('a key of %s that does not cross, "%s", made by a patch', (map, key) => {
  const settings = { exclude: { labels: [], annotations: ['internal-*'] } };
  const made = entry({ path: `metadata.${map}["${key}"]`, onMissing: 'create', expression: '"made"' });
  const onHost = () => world.copy('web')?.metadata[map]?.[key];
  const put = (value: string | undefined) =>
    edit(world.host, world.copy('web'), (draft) => {
      const { [key]: _old, ...rest } = draft.metadata[map] ?? {};
      draft.metadata[map] = value === undefined ? rest : { ...rest, [key]: value };
    });

  it('is as the patch says on create and on update alike, and goes with the patch', async () => {
    world = new FakeWorld({ settings });
    putPair(world, 'web', '10.0.0.1', { [map]: { [key]: 'theirs' } });
    await world.run();
    await world.stop();
    world.options = { settings, patches: [made] };
    await world.run();
    expect(onHost()).toBe('made');
    await world.change(() => put('edited'));
    expect(onHost()).toBe('made');
    await world.change(() => put(undefined));
    expect(onHost()).toBe('made');
    await world.change(() => world.host.remove('endpoints', 'vcluster-vc', 'web-x-default-x-vc'));
    expect(onHost()).toBe('made');
    const writes = world.host.writes.length;
    await world.restart();
    expect(world.host.writes).toHaveLength(writes);
    await world.stop();
    world.options = { settings };
    await world.run();
    expect(onHost()).toBeUndefined();
    expect(virtual()?.metadata[map]).toEqual({ [key]: 'theirs' });
    expect(world.virtual.writes).toEqual([]);
  });
});

describe('a pair that reads the configuration', () => {
  const prefix = 'context.vcluster.config.prefix';
  const pair = entry({
    path: 'metadata.annotations["k"]',
    expression: `${prefix} + value`,
    reverseExpression: `value.startsWith(${prefix}) ? value.slice(${prefix}.length) : value`,
  });

  it('keeps the old value from the tenant when the configuration changes while the host is edited', async () => {
    world = new FakeWorld({ patches: [pair], vcluster: { prefix: 'a-' } });
    putPair(world, 'web', '10.0.0.1', { annotations: { k: 'v' } });
    await world.run();
    expect(keysOf(world.copy('web'))).toEqual({ k: 'a-v' });
    await world.stop();
    edit(world.host, world.copy('web'), (draft) => {
      draft.metadata.annotations = { ...draft.metadata.annotations, k: 'a-edited' };
    });
    world.options = { ...world.options, vcluster: { prefix: 'b-' } };
    await world.run();
    expect(keysOf(world.copy('web'))).toEqual({ k: 'b-v' });
    expect(virtual()?.metadata.annotations).toEqual({ k: 'v' });
  });

  it('is unaffected when a value changes that it does not read', async () => {
    world = new FakeWorld({ patches: [pair], vcluster: { prefix: 'a-', other: 1 } });
    putPair(world, 'web', '10.0.0.1', { annotations: { k: 'v' } });
    await world.run();
    await world.stop();
    world.options = { ...world.options, vcluster: { prefix: 'a-', other: 2 } };
    await world.run();
    expect(world.host.writes).toHaveLength(1);
  });
});
