import { describe, expect, it } from 'vitest';
import {
  baseKey,
  markerLabel,
  namespaceLabel,
  objectKeys,
  theSix,
} from '../../../../src/sync/plan/keys/reserved-keys.ts';
import { edit, endpoints, type FakeWorld, ipOf, putPair, service } from '../../fake-sync.ts';
import { meta, setUp, start, world } from './stage.ts';

setUp();

describe('the host copy', () => {
  it('creates the copy with the six, the marker labels, the owner and a base', async () => {
    await start({}, (w) => putPair(w, 'web', '10.0.0.7', { labels: { app: 'x' }, annotations: { a: '1' } }));
    const copy = world.copy('web');
    expect(theSix.every((key) => key in meta(copy).annotations)).toBe(true);
    expect(meta(copy).labels).toEqual({ app: 'x', [markerLabel]: 'vc', [namespaceLabel]: 'default' });
    expect(meta(copy).ownerReferences).toMatchObject([{ kind: 'Service', name: 'vc', controller: false }]);
    expect(meta(copy).annotations[baseKey]).toBeDefined();
    expect(ipOf(copy)).toBe('10.0.0.7');
  });

  it.each([
    ['the Endpoints is deleted', (w: FakeWorld) => w.virtual.remove('endpoints', 'default', 'web')],
    ['the Service is deleted', (w: FakeWorld) => w.virtual.remove('services', 'default', 'web')],
    [
      'the Service gains a selector',
      (w: FakeWorld) => w.virtual.put('services', service('web', 'default', { selector: { a: 'b' } })),
    ],
    [
      'another controller takes over',
      (w: FakeWorld) =>
        edit(w.virtual, w.virtual.get('endpoints', 'default', 'web'), (d) => {
          d.metadata.labels = { 'vcluster.loft.sh/controlled-by': 'vcluster' };
        }),
    ],
  ])('removes the copy when %s, and brings it back when that ends', async (_, change) => {
    await start({}, (w) => putPair(w, 'web'));
    expect(world.copy('web')).toBeDefined();
    await world.change(() => change(world));
    expect(world.copy('web')).toBeUndefined();
    await world.change(() => {
      putPair(world, 'web');
      edit(world.virtual, world.virtual.get('endpoints', 'default', 'web'), (d) => {
        delete d.metadata.labels;
        d.metadata.labels = {};
      });
    });
    expect(world.copy('web')).toBeDefined();
  });

  it('never touches default/kubernetes', async () => {
    await start({}, (w) => putPair(w, 'kubernetes'));
    expect(world.host.writes).toEqual([]);
  });

  it('deletes no copy that has lost object-name or object-namespace', async () => {
    await start({}, (w) => putPair(w, 'web'));
    await world.stop();
    edit(world.host, world.copy('web'), (d) => {
      delete d.metadata.annotations?.[objectKeys.namespace];
    });
    world.virtual.remove('endpoints', 'default', 'web');
    world.host.writes.length = 0;
    await world.run();
    expect(world.host.writes).toEqual([]);
    expect(world.copy('web')).toBeDefined();
  });

  it('creates the copy when the Endpoints comes before its Service', async () => {
    await start();
    await world.change(() => world.virtual.put('endpoints', endpoints('web')));
    expect(world.copy('web')).toBeUndefined();
    await world.change(() => world.virtual.put('services', service('web')));
    expect(world.copy('web')).toBeDefined();
  });
});

describe('a vanished copy is recreated, but not without its owner', () => {
  it('recreates a deleted copy and never touches the virtual object', async () => {
    await start({}, (w) => putPair(w, 'web'));
    await world.change(() => world.host.remove('endpoints', 'vcluster-vc', 'web-x-default-x-vc'));
    expect(world.copy('web')).toBeDefined();
    expect(world.virtual.writes).toEqual([]);
  });

  it('creates nothing while the owner Service is absent or being deleted, updates and deletes go on', async () => {
    await start({ hasOwner: false }, (w) => putPair(w, 'web'));
    expect(world.copy('web')).toBeUndefined();
    expect(world.sync.ledger.entry('default/web')?.outcome).toMatchObject({ kind: 'waiting', reason: 'OwnerMissing' });
    await world.change(() => world.host.put('services', service('vc', 'vcluster-vc')));
    expect(world.copy('web')).toBeDefined();
    await world.change(() => world.host.remove('services', 'vcluster-vc', 'vc'));
    await world.change(() => putPair(world, 'web', '10.0.0.2'));
    expect(ipOf(world.copy('web'))).toBe('10.0.0.2');
    await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
    expect(world.copy('web')).toBeUndefined();
  });

  it('repairs the owner reference when the owner comes back with another uid, and keeps foreign ones', async () => {
    await start({}, (w) => putPair(w, 'web'));
    const foreign = { apiVersion: 'v1', kind: 'ConfigMap', name: 'other', uid: 'u-other' };
    await world.change(() =>
      edit(world.host, world.copy('web'), (d) => {
        d.metadata.ownerReferences = [foreign, ...(d.metadata.ownerReferences ?? [])];
      }),
    );
    world.host.remove('services', 'vcluster-vc', 'vc');
    const owner = world.host.put('services', service('vc', 'vcluster-vc'));
    await world.clock.advance(5000);
    await world.quiet();
    expect(meta(world.copy('web')).ownerReferences.map((one) => one.uid)).toEqual(['u-other', owner.metadata.uid]);
  });

  describe('a namespace that is deleted and recreated before the watch of the owner reports it', () => {
    const uidsOf = (ownerReferences: readonly { uid?: string }[] | undefined) => ownerReferences?.map(({ uid }) => uid);
    /** The owners in all creates, in order. */
    async function recreated({ isOwnerBack }: { isOwnerBack: boolean }) {
      const created: unknown[] = [];
      let reads = 0;
      await start({}, (w) => {
        for (let number = 0; number < 20; number++) putPair(w, `web-${number}`);
        const writer = w.host.writer();
        w.host.writer = () => ({
          ...writer,
          create: async (ref, object) => {
            created.push(uidsOf(object.metadata.ownerReferences)?.[0]);
            return writer.create(ref, object);
          },
          get: async (ref, place) => {
            if (ref.resource === 'services') reads++;
            return writer.get(ref, place);
          },
        });
      });
      created.length = 0;
      const { owner } = world.windows;
      if (owner !== undefined) owner.isHeld = true;
      world.host.remove('services', 'vcluster-vc', 'vc');
      const back = isOwnerBack ? world.host.put('services', service('vc', 'vcluster-vc')) : undefined;
      await world.change(() => {
        for (let number = 0; number < 20; number++)
          world.host.remove('endpoints', 'vcluster-vc', `web-${number}-x-default-x-vc`);
      });
      return { created, newUid: back?.metadata.uid, reads };
    }

    it('creates every copy once, with the new uid, after one read of the owner', async () => {
      const { created, newUid, reads } = await recreated({ isOwnerBack: true });
      expect(created).toEqual(Array(20).fill(newUid));
      expect(reads).toBeLessThanOrEqual(2);
      expect(world.copy('web-7')).toBeDefined();
    });

    it('creates no copy without an owner, reports it, and creates the copies when the owner comes', async () => {
      const { created } = await recreated({ isOwnerBack: false });
      expect(created).toEqual([]);
      expect(world.sync.world.ownerState().kind).toBe('missing');
      expect(world.sync.ledger.entry('default/web-3')?.outcome).toMatchObject({ reason: 'OwnerMissing' });
      const { metadata } = world.host.put('services', service('vc', 'vcluster-vc'));
      await world.change(() => world.windows.owner?.deliver());
      expect(created).toEqual(Array(20).fill(metadata.uid));
    });

    it('waits for an API server that does not answer', async () => {
      await start({}, (w) => {
        putPair(w, 'web');
        const writer = w.host.writer();
        let failures = 3;
        const get: typeof writer.get = async (ref, place) =>
          ref.resource === 'services' && failures-- > 0
            ? { kind: 'failed', status: 503, retryAfterMs: undefined, message: 'no' }
            : writer.get(ref, place);
        w.host.writer = () => ({ ...writer, get });
      });
      await world.change(() => world.host.remove('endpoints', 'vcluster-vc', 'web-x-default-x-vc'));
      expect(world.copy('web')).toBeUndefined();
      await world.clock.advance(3_500);
      await world.quiet();
      expect(world.copy('web')).toBeDefined();
    });
  });

  it.each([
    ['the virtual object changed', () => putPair(world, 'web', '10.0.0.9')],
    ['nothing else changed', () => {}],
  ])('gives the owner back to a copy that lost it while the owner was in doubt, where %s', async (_, alsoChange) => {
    let isSilent = false;
    await start({}, (w) => {
      putPair(w, 'web');
      putPair(w, 'other');
      const writer = w.host.writer();
      const get: typeof writer.get = async (ref, place) =>
        ref.resource === 'services' && isSilent
          ? { kind: 'failed', status: 503, retryAfterMs: undefined, message: 'no' }
          : writer.get(ref, place);
      w.host.writer = () => ({ ...writer, get });
    });
    isSilent = true;
    await world.change(() => world.host.remove('endpoints', 'vcluster-vc', 'other-x-default-x-vc'));
    await world.change(() => {
      edit(world.host, world.copy('web'), (d) => {
        d.metadata.ownerReferences = [];
      });
      alsoChange();
    });
    expect(world.sync.world.isOwnerInDoubt).toBe(true);
    expect(meta(world.copy('web')).ownerReferences).toEqual([]);
    isSilent = false;
    await world.clock.advance(1_500);
    await world.quiet();
    expect(meta(world.copy('web')).ownerReferences).toMatchObject([{ kind: 'Service', name: 'vc' }]);
  });

  it('repeats a create in a terminating namespace only after its pause, with or without the owner', async () => {
    let creates = 0;
    await start({}, (w) => {
      putPair(w, 'web');
      const writer = w.host.writer();
      w.host.writer = () => ({
        ...writer,
        create: async () => {
          creates++;
          return { kind: 'forbidden', message: 'going', namespaceTerminating: true };
        },
      });
    });
    expect(creates).toBe(1);
    expect(world.sync.ledger.entry('default/web')?.outcome).toMatchObject({ kind: 'waiting', reason: 'OwnerMissing' });
    await world.clock.advance(5_000);
    await world.quiet();
    expect(creates).toBe(2);
  });

  it('does not write a host object that is being deleted', async () => {
    await start({}, (w) => putPair(w, 'web'));
    edit(world.host, world.copy('web'), (d) => {
      d.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
      d.metadata.finalizers = ['x'];
    });
    await world.quiet();
    world.host.writes.length = 0;
    await world.change(() => putPair(world, 'web', '10.0.0.9'));
    expect(world.host.writes).toEqual([]);
    await world.change(() => world.host.remove('endpoints', 'vcluster-vc', 'web-x-default-x-vc'));
    expect(ipOf(world.copy('web'))).toBe('10.0.0.9');
  });
});

describe('ownership of the host object', () => {
  const at = { name: 'web-x-default-x-vc', namespace: 'vcluster-vc' };

  it('takes over a native object in place when there is no host Service of that name', async () => {
    await start({}, (w) => {
      w.host.put('endpoints', {
        ...endpoints('x', '192.168.9.9'),
        metadata: { ...at, labels: { own: '1', 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' } },
      });
      putPair(w, 'web', '10.0.0.1', { annotations: { a: '1' } });
    });
    expect(world.host.writes).toEqual(['patch endpoints web-x-default-x-vc']);
    expect(ipOf(world.copy('web'))).toBe('10.0.0.1');
    expect(meta(world.copy('web')).labels).toEqual({ own: '1', [markerLabel]: 'vc', [namespaceLabel]: 'default' });
    expect(meta(world.copy('web')).annotations['vcluster.loft.sh/managed-annotations']).toBe('a');
    expect(world.virtual.writes).toEqual([]);
  });

  it.each([
    [
      'a copy of this virtual Service without a selector: taken over',
      { annotations: { [objectKeys.name]: 'web', [objectKeys.namespace]: 'default' } },
      {},
      true,
    ],
    [
      'a copy with a selector: refused',
      { annotations: { [objectKeys.name]: 'web', [objectKeys.namespace]: 'default' } },
      { selector: { a: 'b' } },
      false,
    ],
    ['a Service of the host itself: refused', {}, {}, false],
  ])('native object, and the host Service of that name is %s', async (_, metadata, spec, isTaken) => {
    await start({}, (w) => {
      w.host.put('endpoints', { ...endpoints('x', '192.168.9.9'), metadata: at });
      w.host.put('services', { ...service('x', 'vcluster-vc', spec), metadata: { ...at, ...metadata } });
      putPair(w, 'web', '10.0.0.1');
    });
    expect(ipOf(world.copy('web'))).toBe(isTaken ? '10.0.0.1' : '192.168.9.9');
    expect(world.eventReasons()).toEqual(isTaken ? [] : ['HostNameTaken']);
  });

  it('a native object is taken over soon after the host Service has lost its selector, which nothing watches', async () => {
    const ours = { ...at, annotations: { [objectKeys.name]: 'web', [objectKeys.namespace]: 'default' } };
    const hostService = (spec: object) => ({ ...service('x', 'vcluster-vc', spec), metadata: ours });
    await start({}, (w) => {
      w.host.put('endpoints', { ...endpoints('x', '192.168.9.9'), metadata: at });
      w.host.put('services', hostService({ selector: { a: 'b' } }));
      putPair(w, 'web', '10.0.0.1');
    });
    expect(world.eventReasons()).toEqual(['HostNameTaken']);
    await world.clock.advance(400);
    world.host.put('services', hostService({}));
    await world.clock.advance(1_000);
    expect(ipOf(world.copy('web'))).toBe('10.0.0.1');
  });

  it('asks less and less often for a host Service that keeps its selector', async () => {
    await start({}, (w) => {
      w.host.put('endpoints', { ...endpoints('x', '192.168.9.9'), metadata: at });
      w.host.put('services', { ...service('x', 'vcluster-vc', { selector: { a: 'b' } }), metadata: at });
      putPair(w, 'web', '10.0.0.1');
    });
    const asked = world.host.reads.length;
    await world.clock.advance(10 * 60_000);
    expect(world.host.reads.length - asked).toBeLessThanOrEqual(16);
    expect(world.host.writes).toEqual([]);
  });

  it.each([
    [
      'object-name without the marker label',
      { annotations: { [objectKeys.name]: 'web', [objectKeys.namespace]: 'default' } },
    ],
    [
      'another object-host-name',
      {
        labels: { [markerLabel]: 'vc' },
        annotations: { [objectKeys.name]: 'web', [objectKeys.hostName]: 'elsewhere' },
      },
    ],
    [
      'the marker of another virtual cluster',
      {
        labels: { [markerLabel]: 'other' },
        annotations: { [objectKeys.name]: 'web', [objectKeys.namespace]: 'default' },
      },
    ],
    ['the marker of another virtual cluster and none of the six', { labels: { [markerLabel]: 'other' } }],
  ])('refuses a foreign object: %s', async (_, metadata) => {
    await start({}, (w) => {
      w.host.put('endpoints', { ...endpoints('x', '192.168.9.9'), metadata: { ...at, ...metadata } });
      putPair(w, 'web');
    });
    expect(ipOf(world.copy('web'))).toBe('192.168.9.9');
    expect(world.host.writes).toEqual([]);
    expect(world.eventReasons()).toEqual(['NotOwned']);
  });

  it.each([objectKeys.kind, objectKeys.uid, objectKeys.hostName, objectKeys.name])(
    'repairs ours when %s was removed or emptied',
    async (key) => {
      await start({}, (w) => putPair(w, 'web'));
      const whole = structuredClone(meta(world.copy('web')).annotations);
      await world.change(() =>
        edit(world.host, world.copy('web'), (d) => {
          delete d.metadata.annotations?.[key];
        }),
      );
      expect(meta(world.copy('web')).annotations).toEqual(whole);
      await world.change(() =>
        edit(world.host, world.copy('web'), (d) => {
          (d.metadata.annotations as Record<string, string>)[key] = '';
        }),
      );
      expect(meta(world.copy('web')).annotations).toEqual(whole);
      expect(world.virtual.writes).toEqual([]);
    },
  );
});
