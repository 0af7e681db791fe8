// Sequences that join several things that a running vCluster is known to do wrong, one after the other. No recording has them;
// the claims follow from rule 3.18.
import { afterEach, describe, expect, it } from 'vitest';
import { hostName } from '../../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { theSix } from '../../../../src/sync/plan/keys/reserved-keys.ts';
import { endpoints } from '../../fake-sync.ts';
import { hostNamespace, SliceWorld, type SliceWorldOptions, service, slice } from './fake-slices.ts';

const serviceLabel = 'kubernetes.io/service-name';
const managerLabel = 'endpointslice.kubernetes.io/managed-by';
const mirroring = 'endpointslicemirroring-controller.k8s.io';
const ownController = 'endpointslice-controller.k8s.io';

let world: SliceWorld;
afterEach(() => world.slices.stop(100));

async function start(objects: readonly KubeObject[], how: SliceWorldOptions = {}): Promise<void> {
  world = new SliceWorld(how);
  world.put(...objects);
  await world.runSlices();
}

async function down(meanwhile: () => void): Promise<void> {
  await world.slices.stop(100);
  meanwhile();
  await world.runSlices();
}

function edit(side: 'virtual' | 'host', name: string, change: (object: KubeObject) => void): void {
  const place =
    side === 'virtual' ? ['default', name] : [hostNamespace, hostName({ namespace: 'default', name }, 'vc')];
  const object = structuredClone(world[side].get('endpointslices', place[0] as string, place[1] as string));
  change(object as KubeObject);
  world[side].put('endpointslices', object as KubeObject);
}

async function doing(...steps: (() => void)[]): Promise<void> {
  for (const step of steps) step();
  await world.rest();
}

const relabel = (name: string, labels: Record<string, string>) => () =>
  edit('virtual', name, ({ metadata }) => Object.assign(metadata.labels as object, labels));
const removeSlice = (name: string) => () => world.virtual.remove('endpointslices', 'default', name);
const removeService = (name: string) => () => world.virtual.remove('services', 'default', name);
const addressesOf = (copy: KubeObject | undefined) =>
  (copy?.['endpoints'] as { addresses: string[] }[] | undefined)?.flatMap(({ addresses }) => addresses);
const labelOf = (name: string) => world.sliceCopy(name)?.metadata.labels?.[serviceLabel];
const isTenants = (name: string) => world.virtual.get('endpointslices', 'default', name) !== undefined;

/** As a vCluster leaves a copy after its restart: the bare name, its own managed-by, nothing of ours. */
function asVclusterLeaves(name: string, bare = 'web'): void {
  edit('host', name, ({ metadata }) => {
    const { [managerLabel]: _, ...labels } = metadata.labels ?? {};
    metadata.labels = { ...labels, [serviceLabel]: bare };
    const six = Object.entries(metadata.annotations ?? {}).filter(([key]) => theSix.includes(key as never));
    metadata.annotations = Object.fromEntries(six);
  });
}

describe('a sequence of several known losses', () => {
  it('Service gains a selector, the slice is made again with another addressType, the selector goes', async () => {
    await start([service('web'), slice()]);
    await doing(() => world.put(service('web', 'default', { selector: { app: 'a' } })));
    expect(world.sliceCopy('web-1')).toBeUndefined();
    await doing(removeSlice('web-1'), () => world.put(slice({ addressType: 'IPv6', addresses: ['2001:db8::1'] })));
    expect(world.sliceCopy('web-1')).toBeUndefined();
    await doing(() => world.put(service('web')));
    expect(world.sliceCopy('web-1')).toMatchObject({ addressType: 'IPv6' });
    expect(isTenants('web-1')).toBe(true);
  });

  it('the label leads to an absent Service, which comes under a name that is hashed on the host', async () => {
    const long = 's'.repeat(62);
    await start([service('web'), slice()]);
    await doing(relabel('web-1', { [serviceLabel]: long }));
    expect(world.sliceCopy('web-1')).toBeUndefined();
    await doing(() => world.put(service(long)));
    expect(labelOf('web-1')).toBe(hostName({ namespace: 'default', name: long }, 'vc'));
    await doing(removeService(long), relabel('web-1', { [serviceLabel]: 'web' }));
    expect(labelOf('web-1')).toBe('web-x-default-x-vc');
  });

  it('while the daemon is down vCluster leaves the bare label, and the tenant moves the slice and changes its type', async () => {
    await start([service('web'), service('api'), slice()]);
    await down(() => {
      asVclusterLeaves('web-1');
      removeSlice('web-1')();
      world.put(slice({ service: 'api', addressType: 'IPv6', addresses: ['2001:db8::2'] }));
      world.host.writes.length = 0;
    });
    expect(world.sliceCopy('web-1')).toMatchObject({ addressType: 'IPv6' });
    expect(labelOf('web-1')).toBe('api-x-default-x-vc');
    expect(isTenants('web-1')).toBe(true);
    expect(world.virtual.writes).toEqual([]);
  });

  it('a host full of bare labels, one of which names the API server of the virtual cluster', async () => {
    await start([
      service('web'),
      service('vc'),
      slice(),
      slice({ name: 'evil', service: 'vc' }),
      slice({ name: 'gone' }),
    ]);
    await down(() => {
      for (const name of ['web-1', 'gone']) asVclusterLeaves(name);
      asVclusterLeaves('evil', 'vc');
      removeSlice('gone')();
      world.host.writes.length = 0;
    });
    expect([labelOf('web-1'), labelOf('evil')]).toEqual(['web-x-default-x-vc', 'vc-x-default-x-vc']);
    expect(world.sliceCopy('gone')).toBeUndefined();
    expect(world.host.writes.sort()).toEqual([
      'patch endpointslices evil-x-default-x-vc',
      'patch endpointslices web-1-x-default-x-vc',
      'remove endpointslices gone-x-default-x-vc',
    ]);
  });

  it('one host name for two slices: the holder’s Service goes and comes again, and neither tenant slice is lost', async () => {
    const at = (namespace: string) => ({ metadata: { namespace } });
    await start([service('web', 'default-x-default'), service('web'), slice({ name: 'col-x-default' })]);
    await doing(() => world.put(slice({ name: 'col', addresses: ['10.0.0.9'], ...at('default-x-default') })));
    const shown = () => addressesOf(world.host.get('endpointslices', hostNamespace, 'col-x-default-x-default-x-vc'));
    expect(shown()).toEqual(['10.0.0.1']);
    await doing(removeService('web'));
    expect(shown()).toEqual(['10.0.0.9']);
    await doing(() => world.put(service('web')));
    expect(shown()).toEqual(['10.0.0.9']);
    await doing(() => world.virtual.remove('services', 'default-x-default', 'web'));
    expect(shown()).toEqual(['10.0.0.1']);
    expect(isTenants('col-x-default')).toBe(true);
    expect(world.virtual.get('endpointslices', 'default-x-default', 'col')).toBeDefined();
  });

  it('object-name goes from the copy, and the copy is deleted by hand before the next look', async () => {
    await start([service('web'), slice()]);
    await doing(
      () => edit('host', 'web-1', ({ metadata }) => delete metadata.annotations?.['vcluster.loft.sh/object-name']),
      () => world.host.remove('endpointslices', hostNamespace, 'web-1-x-default-x-vc'),
    );
    expect(addressesOf(world.sliceCopy('web-1'))).toEqual(['10.0.0.1']);
    expect(isTenants('web-1')).toBe(true);
  });

  it('managed-by becomes that of a controller of Kubernetes and the tenant’s again', async () => {
    await start([service('web'), slice({ manager: 'op.example.com' })]);
    for (const manager of [mirroring, ownController]) {
      await doing(relabel('web-1', { [managerLabel]: manager }));
      expect(world.sliceCopy('web-1'), manager).toBeUndefined();
      await doing(relabel('web-1', { [managerLabel]: 'op.example.com' }));
      expect(world.sliceCopy('web-1')?.metadata).toMatchObject({
        labels: { [managerLabel]: 'hostward.dev' },
        annotations: { 'hostward.dev/managed-by': 'op.example.com' },
      });
    }
    expect(isTenants('web-1')).toBe(true);
  });

  it('the mirrored slice of an Endpoints becomes the tenant’s own beside it', async () => {
    await start([service('web'), slice({ manager: mirroring })]);
    world.virtual.put('endpoints', endpoints('web'));
    expect(world.sliceCopy('web-1')).toBeUndefined();
    await doing(relabel('web-1', { [managerLabel]: '' }));
    expect(world.sliceCopy('web-1')?.metadata.labels?.[managerLabel]).toBe('hostward.dev');
    await doing(relabel('web-1', { [managerLabel]: mirroring }));
    expect(world.sliceCopy('web-1')).toBeUndefined();
  });

  it('the host changes label and manager at once, while the tenant’s Service is made again', async () => {
    await start([service('web'), slice({ manager: 'op' })]);
    await doing(
      removeService('web'),
      () => world.put(service('web')),
      () =>
        edit('host', 'web-1', ({ metadata }) => {
          metadata.labels = { ...metadata.labels, [serviceLabel]: 'vc', [managerLabel]: mirroring };
          Object.assign(metadata.annotations as object, { 'hostward.dev/managed-by': 'host' });
        }),
    );
    expect(world.sliceCopy('web-1')?.metadata).toMatchObject({
      labels: { [serviceLabel]: 'web-x-default-x-vc', [managerLabel]: 'hostward.dev' },
      annotations: { 'hostward.dev/managed-by': 'op' },
    });
    const { labels } = world.virtual.get('endpointslices', 'default', 'web-1')?.metadata ?? {};
    expect(labels).toEqual({ [serviceLabel]: 'web', [managerLabel]: 'op' });
  });

  it('ports become null and the Pod’s namespace goes, in a slice whose host name is hashed', async () => {
    const name = 'n'.repeat(60);
    const pod = (namespace?: string) => ({
      targetRef: { kind: 'Pod', name: 'web-0', ...(namespace && { namespace }) },
    });
    await start([service('web'), slice({ name, endpoint: pod('default') })]);
    const copy = () => world.host.list('endpointslices')[0] as KubeObject;
    expect(copy()).toMatchObject({
      endpoints: [{ targetRef: { name: 'web-0-x-default-x-vc', namespace: hostNamespace } }],
    });
    await doing(() =>
      edit('virtual', name, (object) => {
        object['ports'] = null;
        object['endpoints'] = [{ addresses: ['10.0.0.1'], ...pod() }];
      }),
    );
    expect(copy()['ports'] ?? null).toBe(null);
    expect((copy()['endpoints'] as { targetRef: object }[])[0]?.targetRef).toEqual({
      kind: 'Pod',
      name: 'web-0-x--x-vc',
    });
  });

  it('a tenant names a Service by its host name: only a Service of that very name counts', async () => {
    await start([service('web'), slice({ service: 'web-x-default-x-vc' })]);
    expect(world.stateOf('default/web-1')).toBe('NoService');
    expect(world.slices.ledger.outcomeOf('default/web-1')).toMatchObject({
      message: expect.stringMatching(/form of a host name.* write "web" into the label again$/),
    });
    await doing(() => world.put(service('web-x-default-x-vc')));
    expect(labelOf('web-1')).toBe('web-x-default-x-vc-x-default-x-vc');
  });
});
