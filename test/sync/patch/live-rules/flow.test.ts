import { describe, expect, it } from 'vitest';
import { edit, ipOf, putPair } from '../../fake-sync.ts';
import { entry } from '../fake-patch.ts';
import { annotations, setUp, start, virtual, world } from './stage.ts';

setUp();

const tenantOnly = (all: Record<string, string>) =>
  Object.fromEntries(Object.entries(all).filter(([key]) => !/vcluster.loft.sh|hostward.dev/.test(key)));

const editHost = (key: string, value: string | undefined) =>
  world.change(() =>
    edit(world.host, world.copy('web'), (draft) => {
      const all = { ...draft.metadata.annotations } as Record<string, string>;
      if (value === undefined) delete all[key];
      else all[key] = value;
      draft.metadata.annotations = all;
    }),
  );

const twoWay = entry({
  path: 'metadata.annotations["k"]',
  expression: '"p-" + value',
  reverseExpression: 'value.slice(2)',
});

describe('patches forward', () => {
  it('rewrites every matched address, on create and on update alike', async () => {
    await start(
      { patches: [entry({ path: 'subsets[*].addresses[*].ip', expression: 'value.replace("10.0.", "10.9.")' })] },
      (w) => putPair(w, 'web', '10.0.0.1'),
    );
    expect(ipOf(world.copy('web'))).toBe('10.9.0.1');
    await world.change(() => putPair(world, 'web', '10.0.0.2'));
    expect(ipOf(world.copy('web'))).toBe('10.9.0.2');
    expect(ipOf(virtual())).toBe('10.0.0.2');
  });

  it('a path that is not found is not applied, in dot and bracket form, unless onMissing says create', async () => {
    const at = (path: string, onMissing: 'skip' | 'create' = 'skip') =>
      entry({ path, expression: '"made"', onMissing });
    await start(
      {
        patches: [
          at('metadata.annotations.a'),
          at('metadata.annotations["b"]'),
          at('metadata.annotations["c"]', 'create'),
        ],
      },
      (w) => putPair(w, 'web'),
    );
    expect(tenantOnly(annotations(world.copy('web')))).toEqual({ c: 'made' });
  });

  it('null deletes, also at a key with dots', async () => {
    await start({ patches: [entry({ path: 'metadata.annotations["example.com/secret"]', expression: 'null' })] }, (w) =>
      putPair(w, 'web', '10.0.0.1', { annotations: { 'example.com/secret': 's', keep: '1' } }),
    );
    expect(tenantOnly(annotations(world.copy('web')))).toEqual({ keep: '1' });
    expect(virtual()?.metadata.annotations).toEqual({ 'example.com/secret': 's', keep: '1' });
  });

  it('the empty path sees the whole object and cannot change protected fields', async () => {
    const expression =
      '(value.metadata.annotations["by"] = value.metadata.name, value.metadata.name = "other", value.metadata.labels["vcluster.loft.sh/managed-by"] = "evil", value)';
    await start({ patches: [entry({ path: '', expression })] }, (w) => putPair(w, 'web'));
    expect(annotations(world.copy('web'))['by']).toBe('web-x-default-x-vc');
    expect(world.copy('web')?.metadata.labels?.['vcluster.loft.sh/managed-by']).toBe('vc');
  });

  it('the address policy judges the addresses after the patches', async () => {
    await start(
      {
        settings: { addressPolicy: { allow: [], deny: ['10.9.0.0/16'] } },
        patches: [entry({ path: 'subsets[*].addresses[*].ip', expression: 'value.replace("10.0.", "10.9.")' })],
      },
      (w) => putPair(w, 'web', '10.0.0.1'),
    );
    expect(world.copy('web')).toBeUndefined();
    expect(world.eventReasons()).toEqual(['AddressRefused']);
  });

  it('knows virtualToHostDNS, atob and btoa', async () => {
    const at = (key: string, expression: string) => entry({ path: `metadata.annotations.${key}`, expression });
    await start(
      { patches: [at('dns', 'virtualToHostDNS(value)'), at('up', 'btoa(value)'), at('down', 'atob(value)')] },
      (w) =>
        putPair(w, 'web', '10.0.0.1', {
          annotations: { dns: 'nginx.default.svc.cluster.local', up: 'my-value', down: 'bXktdmFsdWU=' },
        }),
    );
    expect(annotations(world.copy('web'))).toMatchObject({
      dns: 'nginx-x-default-x-vc.vcluster-vc.svc.cluster.local',
      up: 'bXktdmFsdWU=',
      down: 'my-value',
    });
  });
});

describe('patches in both directions', () => {
  it('while a forward patch fails, host edits wait, and none is lost', async () => {
    const sometimes = entry({
      path: 'metadata.annotations["k"]',
      expression: 'value === "bad" ? value.no.way : value',
    });
    await start({ patches: [sometimes] }, (w) =>
      putPair(w, 'web', '10.0.0.1', { annotations: { k: 'good', note: 'a' }, labels: { tier: 'a' } }),
    );
    const tenant = (k: string) =>
      world.change(() =>
        edit(world.virtual, virtual(), (draft) => {
          draft.metadata.annotations = { ...draft.metadata.annotations, k };
        }),
      );
    const marker = 'vcluster.loft.sh/managed-by';
    const notes = () => [virtual(), world.copy('web')].map((of) => annotations(of)['note']);
    await tenant('bad');
    await editHost('note', 'b');
    await editHost('note', 'c');
    await editHost('extra', 'new');
    await world.change(() =>
      edit(world.host, world.copy('web'), (draft) => {
        draft.metadata.labels = { tier: 'a' };
      }),
    );
    expect(notes()).toEqual(['a', 'c']);
    expect(world.sync.ledger.entry('default/web')?.outcome).toMatchObject({
      reason: 'PatchFailed',
      message: expect.stringContaining('host edits of it wait'),
    });
    await tenant('good');
    expect(notes()).toEqual(['c', 'c']);
    expect(annotations(virtual())['extra']).toBe('new');
    expect(world.copy('web')?.metadata.labels?.[marker]).toBe('vc');
  });

  it('a pair of expressions: host edits come back reversed, with two writes', async () => {
    await start({ patches: [twoWay] }, (w) => putPair(w, 'web', '10.0.0.1', { annotations: { k: 'v' } }));
    expect(annotations(world.copy('web'))['k']).toBe('p-v');
    world.host.writes.length = 0;
    await editHost('k', 'p-new');
    expect(virtual()?.metadata.annotations).toEqual({ k: 'new' });
    expect([world.virtual.writes.length, world.host.writes.length]).toEqual([1, 1]);
    await editHost('k', undefined);
    expect(virtual()?.metadata.annotations ?? {}).toEqual({});
  });

  it('only an expression: a host edit is reverted and never reaches the tenant', async () => {
    await start({ patches: [entry({ path: 'metadata.annotations.k', expression: '"p-" + value' })] }, (w) =>
      putPair(w, 'web', '10.0.0.1', { annotations: { k: 'v' } }),
    );
    await editHost('k', 'changed');
    expect(annotations(world.copy('web'))['k']).toBe('p-v');
    expect(world.virtual.writes).toEqual([]);
  });

  const prefixed = 'Object.fromEntries(Object.entries(value).map(([k, v]) => [k, "t-" + v]))';
  const inWhole = (map: string) =>
    `({ metadata: { ...value.metadata, annotations: ${map.replaceAll('value', 'value.metadata.annotations')} } })`;

  it.each([
    ['metadata.annotations', prefixed],
    ['', inWhole(prefixed)],
    ['metadata.annotations', '({ a: value.a })'],
  ])(
    'only an expression, over "%s", %s: what it would change of the host’s own stays there',
    async (path, expression) => {
      await start({ patches: [entry({ path, expression })] }, (w) =>
        putPair(w, 'web', '10.0.0.1', { annotations: { a: '1' } }),
      );
      const settled = tenantOnly(annotations(world.copy('web')));
      const writes = world.host.writes.length;
      await editHost('n', 't-x');
      await world.restart();
      expect(tenantOnly(annotations(virtual()))).toEqual({ a: '1' });
      expect(tenantOnly(annotations(world.copy('web')))).toEqual({ ...settled, n: 't-x' });
      expect([world.virtual.writes.length, world.host.writes.length]).toEqual([0, writes]);
    },
  );

  it('only an expression, for a whole map: keys that it leaves alone flow both ways, and host edits of keys that it changes are reverted', async () => {
    const expression =
      'Object.fromEntries(Object.entries(value).map(([k, v]) => [k, v.startsWith("x") ? "y" + v : v]))';
    const patches = [entry({ path: 'metadata.annotations', expression })];
    await start({ patches }, (w) => putPair(w, 'web', '10.0.0.1', { annotations: { a: '1' } }));
    await editHost('n', 'plain');
    await editHost('a', 'x1');
    expect(tenantOnly(annotations(virtual()))).toEqual({ a: '1', n: 'plain' });
    expect(tenantOnly(annotations(world.copy('web')))).toEqual({ a: '1', n: 'plain' });
  });

  const all = 'Object.fromEntries(Object.entries(value).map(([k, v]) => [k, "from-" + v]))';
  it.each([
    ['metadata.annotations.k', '"from-" + value'],
    ['metadata.annotations[*]', '"from-" + value'],
    ['metadata.annotations', all],
    ['metadata', `({ ...value, annotations: (value => ${all})(value.annotations) })`],
    ['', `({ metadata: { ...value.metadata, annotations: (value => ${all})(value.metadata.annotations) } })`],
  ])('only a reverse expression at "%s": the host owns it, the tenant follows', async (path, reverseExpression) => {
    await start({ patches: [entry({ path, reverseExpression })] }, (w) =>
      putPair(w, 'web', '10.0.0.1', { annotations: { k: 'first' } }),
    );
    expect(annotations(world.copy('web'))['k']).toBe('first');
    await editHost('k', 'host');
    expect(virtual()?.metadata.annotations).toEqual({ k: 'from-host' });
    expect(annotations(world.copy('web'))['k']).toBe('host');
    await world.change(() =>
      edit(world.virtual, virtual(), (draft) => {
        draft.metadata.annotations = { k: 'tenant' };
      }),
    );
    expect(virtual()?.metadata.annotations).toEqual({ k: 'from-host' });
    const writes = world.virtual.writes.length;
    await world.restart();
    expect(world.virtual.writes.length).toBe(writes);
  });

  it.each([
    ['added', undefined, [twoWay]],
    ['removed', [twoWay], undefined],
    ['changed', [twoWay], [entry({ ...twoWay, expression: '"q-" + value' })]],
  ])('a patch set that was %s while we were down sends nothing transformed to the tenant', async (_, before, after) => {
    await start({ ...(before && { patches: before }) }, (w) =>
      putPair(w, 'web', '10.0.0.1', { annotations: { k: 'v' } }),
    );
    await world.stop();
    const { patches: _old, ...rest } = world.options;
    world.options = { ...rest, ...(after && { patches: after }) };
    await world.run();
    expect(world.virtual.writes).toEqual([]);
    expect(virtual()?.metadata.annotations).toEqual({ k: 'v' });
    const wanted = after === undefined ? 'v' : after[0] === twoWay ? 'p-v' : 'q-v';
    expect(annotations(world.copy('web'))['k']).toBe(wanted);
  });

  it('a pair that is not inverse settles all the same', async () => {
    await start(
      { patches: [entry({ path: 'metadata.annotations.k', expression: '"p-" + value', reverseExpression: 'value' })] },
      (w) => putPair(w, 'web', '10.0.0.1', { annotations: { k: 'v' } }),
    );
    await editHost('k', 'x');
    await world.clock.advance(30_000);
    const writes = [...world.virtual.writes, ...world.host.writes].length;
    await world.clock.advance(30_000);
    expect([...world.virtual.writes, ...world.host.writes].length).toBe(writes);
    expect(annotations(world.copy('web'))['k']).toBe(`p-${virtual()?.metadata.annotations?.['k']}`);
  });
});

describe('an expression that reads the host object', () => {
  it('is not asked again because of our own write, whose result it would read', async () => {
    const expression = 'context.hostObject?.metadata?.annotations?.n === "a" ? "b" : "a"';
    await start({ patches: [entry({ path: 'metadata.annotations.n', expression })] }, (w) =>
      putPair(w, 'web', '10.0.0.1', { annotations: { n: '1' } }),
    );
    expect(annotations(world.copy('web'))['n']).toBe('a');
    await editHost('other', '1');
    await world.clock.advance(30_000);
    const writes = [...world.virtual.writes, ...world.host.writes].length;
    await world.clock.advance(30_000);
    expect([...world.virtual.writes, ...world.host.writes].length).toBe(writes);
    expect(world.eventReasons()).toEqual([]);
    expect(tenantOnly(annotations(virtual()))).toEqual({ n: '1', other: '1' });
  });
});

describe('the loop guard', () => {
  it('a tenant who keeps overwriting a field that the host owns is corrected once a second, and warned by an event', async () => {
    await start({ patches: [entry({ path: 'metadata.annotations.k', reverseExpression: 'value' })] }, (w) =>
      putPair(w, 'web', '10.0.0.1', { annotations: { k: 'host' } }),
    );
    for (let round = 0; round < 8; round++) {
      await world.change(() =>
        edit(world.virtual, virtual(), (draft) => {
          draft.metadata.annotations = { k: `tenant-${round}` };
        }),
      );
    }
    expect(world.virtual.writes.filter((write) => write.includes('endpoints'))).toHaveLength(4);
    await world.clock.advance(1000);
    await world.quiet();
    expect(world.virtual.writes.filter((write) => write.includes('endpoints'))).toHaveLength(5);
    expect(world.eventReasons()).toEqual(['Contested']);
    expect(virtual()?.metadata.annotations).toEqual({ k: 'host' });
  });
});
