// The patches of a configuration change while both sides live on: only the keys whose own patches changed miss one back-flow.
import { afterEach, describe, expect, it } from 'vitest';
import type { PatchEntry } from '../../../../src/config/settings/settings.ts';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { edit, type FakeOptions, FakeWorld, putPair } from '../../fake-sync.ts';
import { entry } from '../fake-patch.ts';

let world: FakeWorld;
afterEach(() => world.stop());

const twoWay = (path: string, mark = 't-'): PatchEntry =>
  entry({ path, expression: `"${mark}" + value`, reverseExpression: `value.slice(${mark.length})` });
const ofTeam = twoWay('metadata.annotations["team"]');
const ofZone = twoWay('metadata.annotations["zone"]');
const hostsOwn = entry({ path: 'metadata.annotations["team"]', reverseExpression: 'value.slice(2)' });
const ofOther = entry({ path: 'metadata.annotations["other"]', expression: 'value + "!"' });
const ofMap = entry({
  path: 'metadata.annotations',
  expression: '("far" in value && (value["far"] = "seen"), value)',
});

const own = (object: KubeObject | undefined) =>
  Object.fromEntries(
    Object.entries(object?.metadata.annotations ?? {}).filter(([key]) => !/vcluster.loft.sh|hostward.dev/.test(key)),
  );
const virtual = () => own(world.virtual.get('endpoints', 'default', 'web'));
const editHost = (values: Record<string, string>) =>
  edit(world.host, world.copy('web'), (draft) => {
    draft.metadata.annotations = { ...draft.metadata.annotations, ...values };
  });

async function start(patches: readonly PatchEntry[], annotations: Record<string, string>, more: FakeOptions = {}) {
  world = new FakeWorld({ ...more, patches });
  putPair(world, 'web', '10.0.0.1', { annotations });
  await world.run();
}

async function restartWith(patches: readonly PatchEntry[], meanwhile: () => void = () => {}, more: FakeOptions = {}) {
  await world.stop();
  meanwhile();
  world.options = { ...world.options, ...more, patches };
  await world.run();
}

describe('a key that no base has, added on the host after the patches changed, flows back', () => {
  it.each<[string, readonly PatchEntry[], readonly PatchEntry[]]>([
    ['an unrelated patch came', [ofTeam], [ofTeam, ofOther]],
    ['an unrelated patch went', [ofTeam, ofOther], [ofTeam]],
    ['its own patch came', [ofOther], [ofOther, ofTeam]],
    ['its own patch changed', [twoWay('metadata.annotations["team"]', 'xx')], [ofTeam]],
    ['the order changed', [ofOther, ofTeam], [ofTeam, ofOther]],
    ['a patch of the whole map came', [ofTeam], [ofTeam, ofMap]],
    ['its patch has a wildcard', [ofOther], [ofOther, twoWay('metadata.annotations[*]')]],
    ['the host owns it', [hostsOwn], [hostsOwn, ofOther]],
  ])('%s', async (_, before, after) => {
    await start(before, {});
    await restartWith(after);
    await world.change(() => editHost({ team: 't-red' }));
    expect(virtual()).toEqual({ team: 'red' });
    expect(own(world.copy('web'))).toEqual({ team: 't-red' });
  });

  it('also when it was added while the daemon was down with the old patches', async () => {
    await start([ofTeam], {});
    await restartWith([ofTeam, ofOther], () => editHost({ team: 't-red' }));
    expect(virtual()).toEqual({ team: 'red' });
  });

  it('also days and several changes later', async () => {
    await start([ofTeam], {});
    await restartWith([ofTeam, ofOther]);
    await restartWith([ofTeam]);
    await restartWith([ofOther, ofTeam, ofZone]);
    await world.change(() => editHost({ team: 't-red', zone: 't-a' }));
    expect(virtual()).toEqual({ team: 'red', zone: 'a' });
  });
});

describe('after a change of patches', () => {
  it('a key whose own patches stayed flows back at once, and one whose own patch changed does not', async () => {
    await start([ofTeam, ofZone], { team: 'red', zone: 'a' });
    await restartWith([ofTeam, twoWay('metadata.annotations["zone"]', 'z-')], () =>
      editHost({ team: 't-blue', zone: 't-b' }),
    );
    expect(virtual()).toEqual({ team: 'blue', zone: 'a' });
    expect(own(world.copy('web'))).toEqual({ team: 't-blue', zone: 'z-a' });
    await world.change(() => editHost({ zone: 'z-c' }));
    expect(virtual()).toEqual({ team: 'blue', zone: 'c' });
  });

  it('an object whose own patches stayed is not written', async () => {
    await start([ofTeam], { team: 'red', plain: 'x' });
    const writes = world.host.writes.length;
    await restartWith([ofTeam, ofOther, ofZone]);
    await restartWith([ofTeam]);
    expect(world.host.writes.slice(writes)).toEqual([]);
  });

  it('a value of the configuration counts for the patches that read it, and for no others', async () => {
    const read = entry({
      path: 'metadata.annotations["zone"]',
      expression: 'context.vcluster.config.mark + value',
      reverseExpression: 'value.slice(2)',
    });
    await start([ofTeam, read], { team: 'red', zone: 'a' }, { vcluster: { mark: 'a-' } });
    const edited = () => editHost({ team: 't-blue', zone: 'a-b' });
    await restartWith([ofTeam, read], edited, { vcluster: { mark: 'b-' } });
    expect(virtual()).toEqual({ team: 'blue', zone: 'a' });
    expect(own(world.copy('web'))).toEqual({ team: 't-blue', zone: 'b-a' });
  });

  it('a key that a patch made where keys are excluded goes with the patch, and never reaches the tenant', async () => {
    const made = entry({ path: 'metadata.annotations["made"]', expression: '"by us"', onMissing: 'create' });
    const exclude = { labels: [], annotations: ['made'] };
    await start([made], {}, { settings: { exclude } });
    expect(own(world.copy('web'))).toEqual({ made: 'by us' });
    await restartWith([], () => {}, { settings: {} });
    expect([own(world.copy('web')), virtual()]).toEqual([{}, {}]);
  });
});
