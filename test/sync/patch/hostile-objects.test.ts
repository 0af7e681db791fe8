import { afterEach, describe, expect, it } from 'vitest';
import { managedAnnotationsKey } from '../../../src/sync/plan/keys/reserved-keys.ts';
import { edit, type FakeOptions, FakeWorld, putPair } from '../fake-sync.ts';
import { entry } from './fake-patch.ts';

let world: FakeWorld;
async function start(options: FakeOptions, prepare: (world: FakeWorld) => void): Promise<FakeWorld> {
  world = new FakeWorld(options);
  prepare(world);
  return world.run();
}
afterEach(() => world.stop());

const own = (all: Record<string, string> | undefined) =>
  Object.fromEntries(Object.entries(all ?? {}).filter(([key]) => !/vcluster.loft.sh|hostward.dev/.test(key)));
const hostTexts = () => own(world.copy('web')?.metadata.annotations);
const virtualTexts = () => own(world.virtual.get('endpoints', 'default', 'web')?.metadata.annotations);
const outcome = () => world.sync.ledger.entry('default/web')?.outcome;

/** Names of members that every object inherits, all of them good label keys. */
const inherited = ['constructor', 'toString', 'hasOwnProperty', 'valueOf'];
const texts = (value: string) => Object.fromEntries(inherited.map((key) => [key, value]));

describe('keys that every object inherits', () => {
  it('are copied, flow back and are removed like other keys', async () => {
    const patches = [
      entry({ path: 'metadata.annotations.*', expression: '"p-" + value', reverseExpression: 'value.slice(2)' }),
    ];
    await start({ patches }, (w) => putPair(w, 'web', '10.0.0.1', { annotations: texts('v') }));
    expect(hostTexts()).toEqual(texts('p-v'));
    await world.change(() =>
      edit(world.host, world.copy('web'), (draft) => {
        Object.assign(draft.metadata.annotations as object, texts('p-new'));
      }),
    );
    expect([outcome(), virtualTexts()]).toEqual([undefined, texts('new')]);
    await world.change(() =>
      edit(world.virtual, world.virtual.get('endpoints', 'default', 'web'), (draft) => {
        draft.metadata.annotations = {};
      }),
    );
    expect(hostTexts()).toEqual({});
  });

  it('are removed from the virtual object when the host removes them', async () => {
    await start({}, (w) => putPair(w, 'web', '10.0.0.1', { annotations: { ...texts('v'), k: 'v' } }));
    await world.change(() =>
      edit(world.host, world.copy('web'), (draft) => {
        for (const key of inherited) delete draft.metadata.annotations?.[key];
      }),
    );
    expect([outcome(), virtualTexts(), hostTexts()]).toEqual([undefined, { k: 'v' }, { k: 'v' }]);
  });

  it('are not noted as the tenant’s when a patch makes them', async () => {
    const patches = [entry({ path: 'metadata.annotations', expression: `({ ...value, toString: 'made' })` })];
    await start({ patches }, (w) => putPair(w, 'web', '10.0.0.1', { annotations: { k: 'v' } }));
    expect(hostTexts()).toEqual({ k: 'v', toString: 'made' });
    expect(world.copy('web')?.metadata.annotations?.[managedAnnotationsKey]).toBe('k');
  });

  it.each(inherited)('are kept as the host has them, present or absent: %s', async (key) => {
    const patches = [
      entry({ path: 'metadata.annotations.*', expression: 'value === "bad" ? value.x.y : value', onError: 'keepLast' }),
    ];
    await start({ patches }, (w) => putPair(w, 'web', '10.0.0.1', { annotations: { k: 'good' } }));
    await world.change(() => putPair(world, 'web', '10.0.0.1', { annotations: { k: 'good', [key]: 'bad' } }));
    expect([outcome(), hostTexts()]).toEqual([undefined, { k: 'good' }]);
  });

  it.each(inherited)('stay on the host when their reverse expression fails: %s', async (key) => {
    const patches = [
      entry({ path: 'metadata.annotations.*', expression: 'value', reverseExpression: 'value.x.y', onError: 'skip' }),
    ];
    await start({ patches }, (w) => putPair(w, 'web', '10.0.0.1', { annotations: { k: 'v' } }));
    await world.change(() =>
      edit(world.host, world.copy('web'), (draft) => {
        Object.assign(draft.metadata.annotations as object, { [key]: 'host' });
      }),
    );
    expect(virtualTexts()).toEqual({ k: 'v' });
  });

  it.each(inherited)('are created where they are missing: %s', async (key) => {
    const patches = [
      entry({ path: `metadata.annotations["${key}"]`, expression: 'valueExists ? 1 : "made"', onMissing: 'create' }),
    ];
    await start({ patches }, (w) => putPair(w, 'web'));
    expect(hostTexts()).toEqual({ [key]: 'made' });
  });

  it('refer to objects by names that every object inherits', async () => {
    const reference = { apiVersion: 'v1', kind: 'Service' };
    const patches = [entry({ path: 'metadata.annotations.*', reference })];
    await start({ patches }, (w) => putPair(w, 'web', '10.0.0.1', { annotations: texts('constructor') }));
    expect(new Set(Object.values(hostTexts())).size).toBe(1);
    expect(Object.values(hostTexts())[0]).toMatch(/^v[0-9a-z]{13}$/);
  });
});

describe('fields that Endpoints do not have', () => {
  it.each([
    ['of an address', 'subsets[*].addresses[*]', '({ ...value, extra: 1 })'],
    ['of a port', 'subsets[*].ports[*]', '({ ...value, extra: 1 })'],
    ['of a subset', 'subsets[*]', '({ ...value, extra: 1 })'],
    ['of a reference', 'subsets[*].addresses[*]', '({ ...value, targetRef: { kind: "Pod", name: "p", extra: "1" } })'],
  ])(
    'fail the patch that makes them, as the API server would drop them again and again: %s',
    async (_, path, expression) => {
      await start({ patches: [entry({ path, expression })] }, (w) => putPair(w, 'web'));
      expect(outcome()).toMatchObject({ reason: 'PatchFailed', failure: { patch: 0 } });
      expect((outcome() as { message: string }).message).toContain('has a field "extra", which Endpoints do not have');
    },
  );
});
