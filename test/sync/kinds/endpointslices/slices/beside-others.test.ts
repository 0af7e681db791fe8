import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../../src/object/meta/object.ts';
import { objectStatus } from '../../../../../src/sync/report/object-status.ts';
import { publishedBesideOthers } from '../../../../../src/sync/report/published-beside.ts';
import { endpoints } from '../../../fake-sync.ts';
import { hostNamespace, SliceWorld, service, slice } from '../fake-slices.ts';
import { edit, editCopy, managerLabel, mirroring, serviceLabel, started } from './stage.ts';

describe('slices of Kubernetes’ own controllers', () => {
  it('those of the slice controller are never synced', async () => {
    const world = await started([service('web'), slice({ manager: 'endpointslice-controller.k8s.io' })]);
    expect(world.sliceCopy('web-1')).toBeUndefined();
  });

  it('mirrored ones are not synced where Endpoints are, and are where they are not', async () => {
    const never = await started([service('web'), slice({ manager: mirroring })]);
    expect(never.stateOf('default/web-1')).toBe('MirroredByHost');
    const always = await started([service('web'), slice({ manager: mirroring })], { mirrored: 'always' });
    expect(always.sliceCopy('web-1')?.metadata.labels?.[managerLabel]).toBe('hostward.dev');
  });

  it('with mirrored: true they are on the host only while their Endpoints does', async () => {
    const world = new SliceWorld({ mirrored: 'withEndpoints' });
    world.options = { settings: { addressPolicy: { allow: [], deny: ['10.6.6.0/24'] } } };
    world.virtual.put('endpoints', endpoints('web'));
    world.put(service('web'), slice({ manager: mirroring }), slice({ name: 'by-hand' }));
    await world.runSlices();
    expect(world.stateOf('default/web-1')).toBe('SourcePending');
    expect(world.stateOf('default/by-hand')).toBe('inSync');
    await world.slices.stop(100);

    await world.run();
    await world.runSlices({ isBeside: true });
    expect(world.sliceCopy('web-1')).toBeDefined();
    world.virtual.put('endpoints', endpoints('web', '10.6.6.6'));
    await world.rest();
    expect(world.sliceCopy('web-1')).toBeUndefined();
    expect(world.stateOf('default/web-1')).toBe('SourceFails');
    expect(world.sliceCopy('by-hand')).toBeDefined();
    world.virtual.put('endpoints', endpoints('web', '10.0.0.3'));
    await world.rest();
    expect(world.sliceCopy('web-1')).toBeDefined();
  });
});

it('a mirrored slice waits for the sync of Endpoints, and then for none that does not exist', async () => {
  const world = new SliceWorld({ mirrored: 'withEndpoints' });
  world.virtual.put('endpoints', endpoints('other'));
  for (const name of ['web', 'other']) {
    world.put(service(name), slice({ name: `${name}-1`, service: name, manager: mirroring }));
  }
  await world.runSlices();
  expect([world.stateOf('default/web-1'), world.stateOf('default/other-1')]).toEqual([
    'SourcePending',
    'SourcePending',
  ]);
  await world.run({ isBeside: true });
  await world.rest();
  expect([world.stateOf('default/web-1'), world.stateOf('default/other-1')]).toEqual(['SourceFails', 'inSync']);
});

it('status names a slice that is beside the synced Endpoints of its Service, and no mirrored slice', async () => {
  const world = new SliceWorld({ mirrored: 'withEndpoints' });
  world.virtual.put('endpoints', endpoints('web'));
  world.put(service('web'), service('other'), slice({ manager: mirroring }), slice({ name: 'by-hand' }));
  world.put(slice({ name: 'alone', service: 'other' }));
  await world.run();
  await world.runSlices({ isBeside: true });
  expect(world.sliceCopy('web-1')).toBeDefined();
  expect(publishedBesideOthers(world.slices)).toEqual([
    { object: 'default/by-hand', besides: 'Endpoints default/web' },
  ]);
  const publishedBesideOf = (key: string) => objectStatus(world.slices, key)?.publishedBeside;
  expect([
    publishedBesideOf('default/by-hand'),
    publishedBesideOf('default/web-1'),
    publishedBesideOf('default/alone'),
  ]).toEqual(['Endpoints default/web', undefined, undefined]);
  world.virtual.remove('endpoints', 'default', 'web');
  await world.rest();
  expect(publishedBesideOthers(world.slices)).toEqual([]);
});

it('a client of the host that writes again and again is answered once a second', async () => {
  const world = await started([service('web'), slice()]);
  for (let round = 0; round < 8; round++) {
    const copy = structuredClone(world.sliceCopy('web-1')) as KubeObject;
    world.host.put('endpointslices', { ...copy, endpoints: [{ addresses: [`10.9.9.${round}`] }] });
    await world.rest();
  }
  expect(world.stateOf('default/web-1')).toBe('Contested');
  await world.clock.advance(1100);
  await world.rest();
  expect(world.sliceCopy('web-1')).toMatchObject({ endpoints: [{ addresses: ['10.0.0.1'] }] });
});

it('a standby follows slices and writes none; as the leader it writes all', async () => {
  const world = new SliceWorld();
  world.isLeader = false;
  world.put(service('web'), slice());
  await world.runSlices({ isLeader: () => world.isLeader });
  world.put(slice({ name: 'web-2' }));
  await world.rest();
  expect([...world.host.writes, ...world.virtual.writes]).toEqual([]);
  world.isLeader = true;
  world.slices.enqueueAll();
  await world.rest();
  expect([world.sliceCopy('web-1'), world.sliceCopy('web-2')]).not.toContain(undefined);
  expect(world.host.writes).toHaveLength(2);
});

describe('the host object at our name', () => {
  const native = (metadata: object): KubeObject => {
    const { metadata: _, ...rest } = slice();
    return { ...rest, apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata: metadata as never };
  };

  it('a native one is never taken over', async () => {
    const world = new SliceWorld();
    world.host.put('endpointslices', native({ name: 'web-1-x-default-x-vc', namespace: hostNamespace }));
    world.put(service('web'), slice());
    await world.runSlices();
    expect(world.stateOf('default/web-1')).toBe('HostNameTaken');
    expect(world.host.writes).toEqual([]);
  });

  it.each([
    ['a vCluster left with the bare Service name', 'web'],
    ['has been handed back', 'web-x-default-x-vc'],
  ])('a copy that %s is adopted in one write, which touches its labels and annotations only', async (_, name) => {
    const world = await started([service('web'), slice({ manager: 'my-operator' })]);
    await world.slices.stop(100);
    editCopy(world, 'web-1', ({ metadata }) => {
      metadata.labels = { ...metadata.labels, [serviceLabel]: name, [managerLabel]: 'my-operator' };
      for (const key of Object.keys(metadata.annotations ?? {}))
        if (key.startsWith('hostward.dev/')) delete metadata.annotations?.[key];
    });
    const { metadata: _metadata, ...payload } = world.sliceCopy('web-1') as KubeObject;
    world.host.writes.length = 0;
    await world.runSlices();
    expect(world.host.writes).toEqual(['patch endpointslices web-1-x-default-x-vc']);
    const { metadata: _after, ...stored } = world.sliceCopy('web-1') as KubeObject;
    expect(stored).toEqual(payload);
    expect(world.sliceCopy('web-1')?.metadata.labels).toMatchObject({
      [serviceLabel]: 'web-x-default-x-vc',
      [managerLabel]: 'hostward.dev',
    });
    expect(world.virtual.writes).toEqual([]);
  });

  it('in a mapped namespace a Service of the host itself gets no slice', async () => {
    const mapping = {
      mappingsOnly: false,
      hostNamespaceOf: (name: string) => (name === 'default' ? 'mapped' : undefined),
      virtualNamespaceOf: (name: string) => (name === 'mapped' ? 'default' : undefined),
    };
    const world = new SliceWorld({ mapping });
    world.host.put('services', service('web', 'mapped', { selector: { app: 'theirs' } }));
    world.put(service('web'), slice());
    await world.runSlices();
    expect(world.stateOf('default/web-1')).toBe('HostNameTaken');
    expect(world.host.list('endpointslices')).toEqual([]);
  });
});

describe('addresses', () => {
  it('a refused address refuses its slice and removes the copy; other slices go on', async () => {
    const world = await started([service('web'), slice(), slice({ name: 'web-2', addresses: ['10.0.0.2'] })]);
    edit(world, 'web-1', (object) => {
      object['endpoints'] = [{ addresses: ['10.0.0.1', '127.0.0.1'], conditions: {} }];
    });
    await world.rest();
    expect(world.stateOf('default/web-1')).toBe('AddressRefused');
    expect(world.sliceCopy('web-1')).toBeUndefined();
    expect(world.sliceCopy('web-2')).toBeDefined();
  });

  it('names are refused, unless the address policy lets them pass; a number is no name', async () => {
    const fqdn = (address: string) => slice({ addressType: 'FQDN', addresses: [address] });
    const refused = await started([service('web'), fqdn('db.example.com')]);
    expect(refused.stateOf('default/web-1')).toBe('AddressRefused');
    const settings = { addressPolicy: { allow: [], deny: [], fqdn: 'allow' as const } };
    const allowed = await started([service('web'), fqdn('db.example.com')], { settings });
    expect(allowed.sliceCopy('web-1')?.['endpoints']).toEqual([{ addresses: ['db.example.com'], conditions: {} }]);
    for (const number of ['127.1', '2130706433', 'a.0x7f000001']) {
      const world = await started([service('web'), fqdn(number)], { settings });
      expect(world.stateOf('default/web-1'), number).toBe('AddressRefused');
    }
  });
});

it('a list of Services that lacks most of them deletes no copy until a second list agrees', async () => {
  const objects = Array.from({ length: 10 }, (_, nth) => [
    service(`web-${nth}`),
    slice({ name: `s-${nth}`, service: `web-${nth}` }),
  ]).flat();
  const world = await started(objects);
  await world.slices.stop(100);
  for (let nth = 0; nth < 10; nth++) world.virtual.objects.delete(`services/default/web-${nth}`);
  world.host.writes.length = 0;
  const gone = new SliceWorld();
  Object.assign(gone, { virtual: world.virtual, host: world.host });
  await gone.runSlices();
  await gone.clock.advance(9_000);
  await gone.rest();
  expect(gone.host.list('endpointslices')).toHaveLength(10);
  await gone.clock.advance(2_000);
  await gone.rest();
  expect(gone.slices.massDelete.guard.size).toBe(0);
  expect(gone.host.list('endpointslices')).toEqual([]);
});
