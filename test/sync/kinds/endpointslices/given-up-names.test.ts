// When the name of one Service goes to another of the same host name, for reasons that no window tells: an object may not be on
// the host, a kind is switched off, a copy stands behind another Service than its object.
import { afterEach, describe, expect, it } from 'vitest';
import { createEndpointSliceKind } from '../../../../src/sync/kinds/endpointslices/endpointslice-kind.ts';
import type { OpenedPatcher } from '../../../../src/sync/patch/run/open-patcher.ts';
import { entry, openTestPatcher } from '../../patch/fake-patch.ts';
import { type SliceWorldOptions, service } from './fake-slices.ts';
import { first, second, TwinWorld } from './two-services.ts';

const settings = { addressPolicy: { allow: [], deny: ['10.9.0.0/16'] } };
const mirroring = 'endpointslicemirroring-controller.k8s.io';

let world: TwinWorld;
let opened: OpenedPatcher | undefined;
afterEach(async () => {
  await world.stopBoth();
  await opened?.stop();
  opened = undefined;
});

function prepare(how: SliceWorldOptions): void {
  world = new TwinWorld(how);
  world.options.settings = settings;
  world.neverMixed();
  world.putServices();
}

async function withPatch(expression: string): Promise<void> {
  const kind = createEndpointSliceKind({ mirrored: 'never', dropsNodeName: false });
  opened = openTestPatcher([entry({ path: 'endpoints[*].addresses[*]', expression })], undefined, { kind });
  await opened.start();
  prepare({ settings, patcher: opened.patcher });
}

describe('with patches', () => {
  it.each([
    ['slice', () => world.putSlice(second)],
    ['Endpoints', () => world.putEndpoints(second)],
  ])('a patch makes a refused address of the older slice, and the other Service has its %s', async (_, putOther) => {
    await withPatch(`value === "${first.address}" ? "10.9.0.1" : value`);
    world.putSlice(first);
    putOther();
    for (let start = 0; start < 2; start++) {
      await world.runBoth();
      expect(world.outcomeOf(first)).toMatchObject({ reason: 'AddressRefused' });
      expect(world.behind()).toEqual([second.namespace]);
      await world.stopBoth();
    }
  });

  it('a Service whose address only a patch makes an allowed one keeps the name, also after restarts', async () => {
    await withPatch(`value === "10.9.0.1" ? "${first.address}" : value`);
    world.putSlice(first, { addresses: ['10.9.0.1'] });
    await world.runBoth();
    world.putSlice(second);
    await world.rest();
    for (let start = 0; start < 3; start++) {
      expect(world.behind()).toEqual([first.namespace]);
      world.host.writes.length = 0;
      await world.stopBoth();
      await world.runBoth();
      expect(world.host.writes).toEqual([]);
    }
  });
});

it('a copy whose slice has moved to another Service counts behind the name until it is mended, also after a restart', async () => {
  await withPatch('value === "10.9.9.9" ? value.no.such.thing : value');
  world.putSlice(first);
  await world.runBoth();
  await world.stopBoth();
  world.put(service('web'));
  world.putSlice(first, { service: 'web', addresses: ['10.9.9.9'] });
  world.putSlice(second);
  await world.runBoth();
  expect(world.outcomeOf(first)).toMatchObject({ reason: 'PatchFailed' });
  expect(world.behind()).toEqual([first.namespace]);
  expect(world.outcomeOf(second)).toMatchObject({ kind: 'waiting', reason: 'HostNameBusy' });
  world.putSlice(first, { service: 'web' });
  await world.rest();
  await world.clock.advance(1000);
  expect(world.behind()).toEqual([second.namespace]);
});

it('a mirrored slice that is withheld because its Endpoints is refused', async () => {
  prepare({ mirrored: 'withEndpoints', settings });
  world.putEndpoints(first, '10.9.0.1');
  world.putSlice(first, { manager: mirroring });
  world.putSlice(second);
  await world.runBoth();
  expect(world.outcomeOf(first)).toMatchObject({ kind: 'ineligible', reason: 'SourceFails' });
  expect(world.behind()).toEqual([second.namespace]);
});

it('a mirrored slice whose Endpoints does not exist', async () => {
  prepare({ mirrored: 'withEndpoints', settings });
  world.putSlice(first, { manager: mirroring });
  world.putSlice(second);
  await world.runBoth();
  expect(world.outcomeOf(first)).toMatchObject({ kind: 'ineligible', reason: 'SourceFails' });
  expect(world.behind()).toEqual([second.namespace]);
});

it('Endpoints whose sync was switched off while the daemon runs', async () => {
  prepare({ settings });
  let isSwitchedOn = true;
  await world.runBoth({ isLeader: () => isSwitchedOn });
  isSwitchedOn = false;
  for (const sync of [world.sync, world.slices]) sync.setRules(sync.world.rules);
  world.putEndpoints(first);
  world.putSlice(second);
  await world.rest();
  expect(world.behind()).toEqual([second.namespace]);
  isSwitchedOn = true;
  for (const sync of [world.sync, world.slices]) sync.setRules(sync.world.rules);
  await world.rest();
  expect(world.behind()).toEqual([second.namespace]);
  expect(world.sync.ledger.outcomeOf(`${first.namespace}/${first.name}`)).toMatchObject({ reason: 'NameCollision' });
});

it.each(['slice', 'Endpoints'])(
  'after the %s of the holder was deleted on the host, a Service has the name at once',
  async (kind) => {
    prepare({ settings });
    if (kind === 'slice') world.putSlice(second);
    else world.putEndpoints(second);
    await world.runBoth();
    expect(world.behind()).toEqual([second.namespace]);
    // The older object gets the name when the copy of the younger one is gone.
    world.putSlice(first);
    await world.rest();
    expect(world.outcomeOf(first)).toMatchObject({ reason: 'NameCollision' });
    world.removeCopies();
    await world.rest();
    await world.clock.advance(1000);
    expect(world.behind()).toHaveLength(1);
  },
);
