import { afterEach, describe, expect, it } from 'vitest';
import type { PatchReference } from '../../../../src/config/settings/settings.ts';
import { referenceKinds } from '../../../../src/config/settings/table/patch-rules.ts';
import { generatedName } from '../../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { endpointsKind } from '../../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { referencesForward } from '../../../../src/sync/patch/entry/reference-patch.ts';
import { compilePatchSet } from '../../../../src/sync/patch/set/patch-set.ts';
import { createPlacement } from '../../../../src/sync/plan/placement.ts';
import { ReferenceNames } from '../../../../src/sync/references/reference-names.ts';
import { edit, type FakeOptions, FakeWorld, putPair } from '../../fake-sync.ts';
import { entry } from '../fake-patch.ts';

let world: FakeWorld | undefined;
async function start(options: FakeOptions, prepare: (world: FakeWorld) => void): Promise<FakeWorld> {
  world = new FakeWorld(options);
  prepare(world);
  return world.run();
}
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

const refer = (path: string, reference: Partial<PatchReference> = {}) =>
  entry({ path, reference: { apiVersion: 'v1', kind: 'Service', ...reference } });
const inK = refer('metadata.annotations["k"]');
const nameOf = (name: string, namespace = 'default') => generatedName({ name, namespace }, 'vc');
const own = (object: KubeObject | undefined) =>
  Object.fromEntries(
    Object.entries(object?.metadata.annotations ?? {}).filter(([key]) => !/vcluster.loft.sh|hostward.dev/.test(key)),
  );
const virtual = (w: FakeWorld, name = 'web') => own(w.virtual.get('endpoints', 'default', name));
const editHost = (w: FakeWorld, values: Record<string, string>) =>
  w.change(() =>
    edit(w.host, w.copy('web'), (draft) => {
      draft.metadata.annotations = { ...draft.metadata.annotations, ...values };
    }),
  );

const single = createPlacement({ virtualCluster: 'my-vcluster', hostNamespace: 'hns' });
const mapped = (mappingsOnly: boolean) =>
  createPlacement({
    virtualCluster: 'my-vcluster',
    hostNamespace: 'hns',
    mapping: { hostNamespaceOf: (one) => (one === 'default' ? 'team' : undefined), mappingsOnly },
  });

it('an entry may choose its own naming, except for kinds whose content is copied', () => {
  const long = 'db-x-default-x-my-vcluster';
  expect(refers('db', { naming: 'vcluster' })).toBe(long);
  expect(refers('db', { naming: 'generated' }, { naming: 'vcluster' })).toBe(refers('db'));
  expect(refers({ n: 'db', k: 'Secret' }, { naming: 'vcluster', namePath: 'n', kindPath: 'k' })).toEqual({
    n: (refers({ n: 'db', k: 'Secret' }, { namePath: 'n', kindPath: 'k' }) as { n: string }).n,
    k: 'Secret',
  });
});

/** One reference patch over one value, without a cluster. */
function refers(
  value: unknown,
  reference: Partial<PatchReference> = {},
  options: { placement?: typeof single; naming?: 'generated' | 'vcluster' } = {},
): unknown {
  const compiled = compilePatchSet([{ index: 0, entry: refer('subsets[0]', reference) }], endpointsKind);
  if (compiled.kind === 'faults') throw new Error(JSON.stringify(compiled.faults));
  const [patch] = compiled.set.patches;
  const root = { subsets: [structuredClone(value)] };
  const matches = patch?.path.match(root);
  if (patch?.reference === undefined || matches === undefined) throw new Error('no reference');
  const result = referencesForward(patch.reference, matches, {
    namespace: 'default',
    placement: options.placement ?? single,
    resolver: new ReferenceNames({ naming: () => options.naming ?? 'generated' }),
  });
  return result.kind === 'wrong' ? result.message : root.subsets[0];
}

describe('names of a reference', () => {
  it.each(referenceKinds)('a %s gets v and thirteen digits in single-namespace mode', (kind) => {
    expect(refers('my-secret', { kind })).toBe('v5ri45ovgqam9c');
  });

  it('naming: vcluster writes the name that vCluster gives to its own copy', () => {
    expect(refers('my-secret', {}, { naming: 'vcluster' })).toBe('my-secret-x-default-x-my-vcluster');
    expect(refers('kubernetes', {}, { naming: 'vcluster' })).toBe('my-vcluster');
  });

  it('a mapped namespace keeps names; an unmapped one has generated names or no place', () => {
    const paths = { namePath: 'name', namespacePath: 'namespace' };
    const options = { placement: mapped(false) };
    expect(refers('db', {}, options)).toBe('db');
    expect(refers({ name: 'db', namespace: 'default' }, paths, options)).toEqual({ name: 'db', namespace: 'team' });
    const other = generatedName({ name: 'db', namespace: 'other' }, 'my-vcluster');
    expect(refers({ name: 'db', namespace: 'other' }, paths, options)).toEqual({ name: other, namespace: 'hns' });
    expect(refers({ name: 'db', namespace: 'other' }, paths, { placement: mapped(true) })).toBe(
      'namespace "other" is not synced to the host',
    );
  });

  it('all paths fall back: namespace to that of the object, kind and apiVersion to those of the entry', () => {
    const paths = { namePath: 'n', namespacePath: 'ns', kindPath: 'kind', apiVersionPath: 'api' };
    const at = (namespace: string) => generatedName({ name: 'a', namespace }, 'my-vcluster');
    expect(refers({ n: 'a' }, paths)).toEqual({ n: at('default') });
    expect(refers({ n: 'a', ns: '' }, paths)).toEqual({ n: at('default'), ns: '' });
    expect(refers({ n: 'a', ns: 'other', kind: 'Pod', api: 'v1' }, paths)).toEqual({
      n: at('other'),
      ns: 'hns',
      kind: 'Pod',
      api: 'v1',
    });
    expect(refers({ list: [{ n: 'a' }, { n: '' }, {}] }, { namePath: 'list[*].n' })).toEqual({
      list: [{ n: at('default') }, { n: '' }, {}],
    });
  });

  it.each([
    ['an empty name', '', {}, ''],
    ['null', null, {}, null],
    ['an object without the name', { other: 1 }, { namePath: 'name' }, { other: 1 }],
    ['a text where an object was expected', 'text', { namePath: 'name' }, 'text'],
  ])('leaves %s alone', (_, value, reference, expected) => {
    expect(refers(value, reference)).toEqual(expected);
  });

  it('another kind, another group and a name that is no text fail the patch with a sentence', () => {
    const paths = { namePath: 'n', kindPath: 'kind', apiVersionPath: 'api' };
    expect(refers({ n: 'a', kind: 'Node' }, paths)).toMatch(
      /wanted a reference to one of Service.*, found kind "Node"/,
    );
    expect(refers({ n: 'a', api: 'apps/v1' }, paths)).toBe('wanted apiVersion v1 for kind Service, found "apps/v1"');
    expect(refers(5)).toMatch(/wanted a name at the path.*found a number/);
    expect(refers({ n: 5 }, paths)).toMatch(/wanted a text at "n"/);
  });
});

describe('a reference to a Pod behind an address, which is there under its host name already', () => {
  const pods = [
    { ip: '10.0.0.1', targetRef: { kind: 'Pod', name: 'p', namespace: 'default' } },
    { ip: '10.0.0.2', targetRef: { kind: 'Pod', name: 'q', namespace: 'other' } },
    { ip: '10.0.0.3', targetRef: { kind: 'Pod', name: 'r' } },
  ];
  const refsOf = (object: KubeObject | undefined) => {
    const [subset] = (object?.['subsets'] ?? []) as { addresses: { targetRef?: object }[] }[];
    return subset?.addresses.map(({ targetRef }) => targetRef);
  };
  const refs = (w: FakeWorld) => refsOf(w.copy('web'));
  const run = (patch: ReturnType<typeof refer>, options: Partial<FakeOptions> = {}) =>
    start({ ...options, patches: [patch] }, (one) => {
      putPair(one, 'web');
      const web = one.virtual.get('endpoints', 'default', 'web') as KubeObject;
      one.virtual.put('endpoints', { ...web, subsets: [{ addresses: pods, ports: [{ port: 80 }] }] });
    });

  it('is translated from the name that the tenant knows, not once more', async () => {
    const path = 'subsets[*].addresses[*].targetRef';
    const w = await run(refer(path, { kind: 'Pod', namePath: 'name', namespacePath: 'namespace' }));
    expect(refs(w)).toEqual([
      { kind: 'Pod', name: nameOf('p'), namespace: 'vcluster-vc' },
      { kind: 'Pod', name: nameOf('q', 'other'), namespace: 'vcluster-vc' },
      { kind: 'Pod', name: nameOf('r') },
    ]);
  });

  it('keeps its name in a mapped namespace', async () => {
    const path = 'subsets[*].addresses[*].targetRef';
    const reference = refer(path, { kind: 'Pod', namePath: 'name', namespacePath: 'namespace' });
    const hostNamespaceOf = (namespace: string) => (namespace === '' ? undefined : `host-${namespace}`);
    const w = await run(reference, { mapping: { hostNamespaceOf, mappingsOnly: true } });
    expect(refsOf(w.host.get('endpoints', 'host-default', 'web'))?.slice(0, 2)).toEqual([
      { kind: 'Pod', name: 'p', namespace: 'host-default' },
      { kind: 'Pod', name: 'q', namespace: 'host-other' },
    ]);
  });

  it('also where the path is that of the name, and through a wildcard', async () => {
    for (const path of ['subsets[*].addresses[*].targetRef.name', '[*][*].addresses[*].targetRef.name']) {
      const w = await run(refer(path, { kind: 'Pod' }));
      expect(refs(w)).toEqual([
        { kind: 'Pod', name: nameOf('p'), namespace: 'vcluster-vc' },
        { kind: 'Pod', name: nameOf('q', 'other'), namespace: 'vcluster-vc' },
        { kind: 'Pod', name: nameOf('r') },
      ]);
      await w.stop();
    }
  });
});

describe('references in both directions', () => {
  it('a name goes out generated and comes back as the tenant knows it', async () => {
    const w = await start({ patches: [inK] }, (one) => {
      putPair(one, 'web', '10.0.0.1', { annotations: { k: 'db' } });
      putPair(one, 'other', '10.0.0.1', { annotations: { k: 'cache' } });
    });
    expect(own(w.copy('web'))).toEqual({ k: nameOf('db') });
    await editHost(w, { k: nameOf('cache') });
    expect(virtual(w)).toEqual({ k: 'cache' });
    expect(own(w.copy('web'))).toEqual({ k: nameOf('cache') });
    expect(w.virtual.writes).toHaveLength(1);
  });

  it('a host name that was never given stays on the host, and the tenant keeps its own', async () => {
    const w = await start({ patches: [inK] }, (one) => putPair(one, 'web', '10.0.0.1', { annotations: { k: 'db' } }));
    await editHost(w, { k: 'plain' });
    expect([virtual(w), own(w.copy('web')), w.eventReasons()]).toEqual([
      { k: 'db' },
      { k: 'plain' },
      ['BackflowFailed'],
    ]);
  });

  it('a name with its namespace beside it: both go out, and both come back', async () => {
    const whole = refer('metadata.annotations', { namePath: 'name', namespacePath: 'space' });
    const w = await start({ patches: [whole] }, (one) => {
      putPair(one, 'web', '10.0.0.1', { annotations: { name: 'db', space: 'data' } });
      putPair(one, 'far', '10.0.0.1', { annotations: { name: 'queue', space: 'data' } });
      putPair(one, 'near', '10.0.0.1', { annotations: { name: 'cache' } });
    });
    expect(own(w.copy('web'))).toEqual({ name: nameOf('db', 'data'), space: 'vcluster-vc' });
    expect(own(w.copy('near'))).toEqual({ name: nameOf('cache') });
    await editHost(w, { name: nameOf('queue', 'data') });
    expect(virtual(w)).toEqual({ name: 'queue', space: 'data' });
    await w.stop();
    await w.run();
    const writes = [w.virtual.writes.length, w.host.writes.length];
    await w.restart();
    expect([w.virtual.writes.length, w.host.writes.length]).toEqual(writes);
  });

  it('a name and its namespace that were never given come back from a mapped namespace', async () => {
    const mapping = {
      hostNamespaceOf: (namespace: string) => (namespace === '' ? undefined : `host-${namespace}`),
      virtualNamespaceOf: (namespace: string) => /^host-(.+)/.exec(namespace)?.[1],
      mappingsOnly: true,
    };
    const whole = refer('metadata.annotations', { namePath: 'name', namespacePath: 'space' });
    const w = await start({ patches: [whole], mapping }, (one) => {
      putPair(one, 'web', '10.0.0.1', { annotations: { name: 'db', space: 'data' } });
    });
    await w.change(() =>
      edit(w.host, w.host.get('endpoints', 'host-default', 'web'), (draft) => {
        draft.metadata.annotations = { ...draft.metadata.annotations, name: 'queue', space: 'host-other' };
      }),
    );
    expect(virtual(w)).toEqual({ name: 'queue', space: 'other' });
    expect(own(w.host.get('endpoints', 'host-default', 'web'))).toEqual({ name: 'queue', space: 'host-other' });
  });

  it('a name of another namespace does not come back where only a name can be written', async () => {
    const w = await start({ patches: [inK] }, (one) => {
      putPair(one, 'web', '10.0.0.1', { annotations: { k: 'db' } });
      putPair(one, 'web', '10.0.0.1', { namespace: 'other', annotations: { k: 'db' } });
    });
    await editHost(w, { k: nameOf('db', 'other') });
    expect([virtual(w), own(w.copy('web')), w.eventReasons()]).toEqual([
      { k: 'db' },
      { k: nameOf('db', 'other') },
      ['BackflowFailed'],
    ]);
  });

  it('runs in list order with expressions', async () => {
    const before = entry({ path: 'metadata.annotations', expression: '({ ...value, k: "my-" + value.k })' });
    const after = entry({ path: 'metadata.annotations["k"]', expression: 'value + "!"' });
    const w = await start({ patches: [before, inK, after] }, (one) =>
      putPair(one, 'web', '10.0.0.1', { annotations: { k: 'db' } }),
    );
    expect(own(w.copy('web'))).toEqual({ k: `${nameOf('my-db')}!` });
  });

  it.each(['fail', 'skip'] as const)('a wrong kind under onError: %s', async (onError) => {
    const reference = { apiVersion: 'v1', kind: 'Secret', namePath: 'name', kindPath: 'kind' };
    const w = await start({ patches: [{ ...entry({ path: 'metadata.annotations', reference }), onError }] }, (one) =>
      putPair(one, 'web', '10.0.0.1', { annotations: { name: 'db', kind: 'Node' } }),
    );
    if (onError === 'skip') expect(own(w.copy('web'))).toEqual({ name: 'db', kind: 'Node' });
    else expect([w.copy('web'), w.eventReasons()]).toEqual([undefined, ['PatchFailed']]);
  });
});
