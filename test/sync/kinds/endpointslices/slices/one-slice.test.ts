import { describe, expect, it } from 'vitest';
import { hostName } from '../../../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../../../src/object/meta/object.ts';
import { objectKeys } from '../../../../../src/sync/plan/keys/reserved-keys.ts';
import { hostNamespace, service, slice } from '../fake-slices.ts';
import { edit, editCopy, managerLabel, mirroring, serviceLabel, started } from './stage.ts';

describe('a slice of a Service without selector', () => {
  it('has a copy with host names, our marks, and the payload of the tenant', async () => {
    const world = await started([
      service('web'),
      slice({ manager: 'my-operator', metadata: { labels: { app: 'a' } } }),
    ]);
    const copy = world.sliceCopy('web-1') as KubeObject;
    expect(copy.metadata.labels).toEqual({
      app: 'a',
      [serviceLabel]: 'web-x-default-x-vc',
      [managerLabel]: 'hostward.dev',
      'vcluster.loft.sh/managed-by': 'vc',
      'vcluster.loft.sh/namespace': 'default',
    });
    expect(copy.metadata.annotations?.['hostward.dev/managed-by']).toBe('my-operator');
    expect(copy.metadata.annotations?.[objectKeys.kind]).toBe('discovery.k8s.io/v1, Kind=EndpointSlice');
    expect(copy).toMatchObject({ addressType: 'IPv4', ports: [{ name: 'http', port: 80, protocol: 'TCP' }] });
    expect(copy['endpoints']).toEqual([{ addresses: ['10.0.0.1'], conditions: {} }]);
    expect(world.stateOf('default/web-1')).toBe('inSync');
  });

  it('has a copy without a field that the API server drops from every write', async () => {
    const world = await started([service('web'), slice({ endpoint: { deprecatedTopology: { zone: 'a' } } })]);
    expect(world.sliceCopy('web-1')?.['endpoints']).toEqual([{ addresses: ['10.0.0.1'], conditions: {} }]);
    expect(world.stateOf('default/web-1')).toBe('inSync');
  });

  it('names the hashed Service where the host name of the Service is hashed', async () => {
    const name = 's'.repeat(60);
    const world = await started([service(name), slice({ service: name })]);
    const label = world.sliceCopy('web-1')?.metadata.labels?.[serviceLabel] ?? '';
    expect(label).toBe(hostName({ name, namespace: 'default' }, 'vc'));
    expect(label.length).toBeLessThanOrEqual(63);
  });

  it('shows changed endpoints and changed ports, and a changed host is mended', async () => {
    const world = await started([service('web'), slice()]);
    edit(world, 'web-1', (object) => {
      object['ports'] = [{ name: 'http', port: 8081, protocol: 'TCP' }];
    });
    await world.rest();
    expect(world.sliceCopy('web-1')?.['ports']).toEqual([{ name: 'http', port: 8081, protocol: 'TCP' }]);
    editCopy(world, 'web-1', (object) => {
      object['ports'] = null;
      object['endpoints'] = [{ addresses: ['10.9.9.9'], conditions: {} }];
      object.metadata.labels = { ...object.metadata.labels, [serviceLabel]: 'vc', [managerLabel]: mirroring };
    });
    await world.rest();
    expect(world.sliceCopy('web-1')).toMatchObject({
      ports: [{ port: 8081 }],
      endpoints: [{ addresses: ['10.0.0.1'] }],
      metadata: { labels: { [serviceLabel]: 'web-x-default-x-vc', [managerLabel]: 'hostward.dev' } },
    });
    expect(world.virtual.get('endpointslices', 'default', 'web-1')?.metadata.labels).toEqual({ [serviceLabel]: 'web' });
  });

  it('another addressType deletes the host slice and makes it again, and never touches the tenant’s', async () => {
    const world = await started([service('web'), slice()]);
    const uid = world.sliceCopy('web-1')?.metadata.uid;
    world.host.writes.length = 0;
    edit(world, 'web-1', (object) => {
      object['addressType'] = 'IPv6';
      object['endpoints'] = [{ addresses: ['2001:db8::1'], conditions: {} }];
    });
    await world.rest();
    expect(world.host.writes).toEqual([
      'remove endpointslices web-1-x-default-x-vc',
      'create endpointslices web-1-x-default-x-vc',
    ]);
    expect(world.sliceCopy('web-1')?.['addressType']).toBe('IPv6');
    expect(world.sliceCopy('web-1')?.metadata.uid).not.toBe(uid);
    expect(world.virtual.writes).toEqual([]);
  });

  it('a damaged copy of another addressType gets its marks back before it is deleted', async () => {
    const world = await started([service('web'), slice()]);
    world.isLeader = false;
    editCopy(world, 'web-1', (object) => {
      delete object.metadata.annotations?.[objectKeys.name];
    });
    edit(world, 'web-1', (object) => {
      object['addressType'] = 'IPv6';
      object['endpoints'] = [{ addresses: ['2001:db8::1'], conditions: {} }];
    });
    await world.rest();
    world.isLeader = true;
    world.host.writes.length = 0;
    world.slices.enqueueAll();
    await world.rest();
    expect(world.host.writes.map((write) => write.split(' ')[0])).toEqual(['patch', 'remove', 'create']);
  });

  it('a host slice that vanished is made again, and the tenant’s slice stays', async () => {
    const world = await started([service('web'), slice()]);
    world.host.remove('endpointslices', hostNamespace, 'web-1-x-default-x-vc');
    await world.rest();
    expect(world.sliceCopy('web-1')).toBeDefined();
    expect(world.virtual.writes).toEqual([]);
  });

  it('deleted and made again at once under its name it keeps its copy', async () => {
    const world = await started([service('web'), slice()]);
    for (let nth = 0; nth < 3; nth++) {
      world.virtual.remove('endpointslices', 'default', 'web-1');
      world.put(slice({ addresses: [`10.0.0.${nth + 2}`] }));
      await world.rest();
      expect(world.sliceCopy('web-1')).toMatchObject({ endpoints: [{ addresses: [`10.0.0.${nth + 2}`] }] });
      expect(world.virtual.get('endpointslices', 'default', 'web-1')).toBeDefined();
    }
    world.virtual.remove('endpointslices', 'default', 'web-1');
    await world.rest();
    expect(world.sliceCopy('web-1')).toBeUndefined();
  });

  it('a restart with nothing changed writes nothing', async () => {
    const world = await started([
      service('web'),
      slice(),
      slice({ name: 'web-6', addressType: 'IPv6', addresses: ['2001:db8::5'] }),
    ]);
    await world.slices.stop(100);
    world.host.writes.length = 0;
    await world.runSlices();
    expect(world.host.writes).toEqual([]);
    expect(world.virtual.writes).toEqual([]);
  });

  it('renames the Pod of a targetRef and keeps all other fields; nodeName: drop removes nodeName alone', async () => {
    const endpoint = {
      conditions: { ready: true, serving: true, terminating: false },
      hostname: 'db-0',
      nodeName: 'node-1',
      zone: 'a',
      hints: { forZones: [{ name: 'a' }] },
      targetRef: { kind: 'Pod', name: 'p', namespace: 'default', uid: 'u', fieldPath: 'f' },
    };
    const wanted = { ...endpoint, addresses: ['10.0.0.1'] };
    const targetRef = { kind: 'Pod', name: 'p-x-default-x-vc', namespace: hostNamespace, uid: 'u', fieldPath: 'f' };
    const kept = await started([service('web'), slice({ endpoint })]);
    expect(kept.sliceCopy('web-1')?.['endpoints']).toEqual([{ ...wanted, targetRef }]);
    const dropped = await started([service('web'), slice({ endpoint })], { dropsNodeName: true });
    const { nodeName: _, ...others } = wanted;
    expect(dropped.sliceCopy('web-1')?.['endpoints']).toEqual([{ ...others, targetRef }]);
  });
});

describe('the Service decides at once', () => {
  it('when it comes after the slice, gains a selector, loses it, goes and comes again', async () => {
    const world = await started([slice()]);
    const state = async (act: () => void): Promise<[boolean, string | undefined]> => {
      act();
      await world.rest();
      return [world.sliceCopy('web-1') !== undefined, world.stateOf('default/web-1')];
    };
    expect(await state(() => {})).toEqual([false, 'NoService']);
    expect(await state(() => world.put(service('web')))).toEqual([true, 'inSync']);
    const selecting = service('web', 'default', { selector: { app: 'a' } });
    expect(await state(() => world.put(selecting))).toEqual([false, 'ServiceHasSelector']);
    expect(await state(() => world.put(service('web')))).toEqual([true, 'inSync']);
    expect(await state(() => world.virtual.remove('services', 'default', 'web'))).toEqual([false, 'NoService']);
    expect(await state(() => world.put(service('web')))).toEqual([true, 'inSync']);
    expect(world.virtual.writes).toEqual([]);
  });

  it('when the slice changes its label to another Service, to none, and back', async () => {
    const world = await started([service('web'), service('other'), slice()]);
    const relabel = async (name: string | undefined): Promise<string | undefined> => {
      edit(world, 'web-1', ({ metadata }) => {
        metadata.labels = name === undefined ? {} : { [serviceLabel]: name };
      });
      await world.rest();
      return world.sliceCopy('web-1')?.metadata.labels?.[serviceLabel];
    };
    expect(await relabel('other')).toBe('other-x-default-x-vc');
    expect(await relabel(undefined)).toBeUndefined();
    expect(world.stateOf('default/web-1')).toBe('NoServiceNamed');
    expect(await relabel('')).toBeUndefined();
    expect(await relabel('web')).toBe('web-x-default-x-vc');
    world.virtual.remove('services', 'default', 'other');
    await world.rest();
    expect(world.sliceCopy('web-1')).toBeDefined();
  });

  it('a tenant’s Service with the name of a host Service never leads behind that host Service', async () => {
    const world = await started([service('web'), service('vc'), slice()]);
    edit(world, 'web-1', ({ metadata }) => {
      metadata.labels = { [serviceLabel]: 'vc' };
    });
    await world.rest();
    expect(world.sliceCopy('web-1')?.metadata.labels?.[serviceLabel]).toBe('vc-x-default-x-vc');
  });

  it('a slice of default/kubernetes has no copy, whatever its name', async () => {
    const world = await started([service('kubernetes'), slice({ service: 'kubernetes' })]);
    expect(world.sliceCopy('web-1')).toBeUndefined();
    expect(world.stateOf('default/web-1')).toBe('ReservedKey');
  });
});
