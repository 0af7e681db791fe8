import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import {
  baseKey,
  instanceKey,
  markerLabel,
  namespaceLabel,
  objectKeys,
  theSix,
} from '../../../src/sync/plan/keys/reserved-keys.ts';
import { objectStatus } from '../../../src/sync/report/object-status.ts';
import { syncStatus } from '../../../src/sync/report/status.ts';
import { recreateBeforeAnswers } from '../fake-cluster.ts';
import { edit, endpoints, type FakeOptions, FakeWorld, ipOf, putPair, service } from '../fake-sync.ts';

let world: FakeWorld;
async function start(options: FakeOptions = {}, prepare?: (world: FakeWorld) => void): Promise<FakeWorld> {
  world = new FakeWorld(options);
  prepare?.(world);
  return world.run();
}
afterEach(() => world.stop());

const meta = (object: KubeObject | undefined) => object?.metadata as Required<KubeObject['metadata']>;

describe('rules 1 and 2: the host copy', () => {
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

describe('rule 3: a vanished copy is recreated, but not without its owner', () => {
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

describe('rule 4: ownership of the host object', () => {
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

describe('rules 5 to 9: flow in both directions', () => {
  it('a recreated virtual object takes the copy over in one write, and nothing flows back', async () => {
    await start({}, (w) => putPair(w, 'web', '10.0.0.1', { labels: { app: 'x' } }));
    await world.change(() =>
      edit(world.host, world.copy('web'), (d) => {
        (d.metadata.labels as Record<string, string>)['host'] = 'h';
      }),
    );
    await world.stop();
    world.virtual.remove('endpoints', 'default', 'web');
    world.virtual.put('endpoints', endpoints('web', '10.0.0.5'));
    world.host.writes.length = 0;
    world.virtual.writes.length = 0;
    const uid = meta(world.copy('web')).uid;
    await world.run();
    expect(world.host.writes).toEqual(['patch endpoints web-x-default-x-vc']);
    expect(world.virtual.writes).toEqual([]);
    expect(meta(world.copy('web')).uid).toBe(uid);
    expect(meta(world.copy('web')).labels).toEqual({ [markerLabel]: 'vc', [namespaceLabel]: 'default' });
    expect(ipOf(world.copy('web'))).toBe('10.0.0.5');
  });

  it('repairs marker labels, owner reference and subsets, but not managed-annotations', async () => {
    await start({}, (w) => putPair(w, 'web', '10.0.0.1', { annotations: { a: '1' } }));
    const before = structuredClone(world.copy('web') as KubeObject);
    await world.change(() =>
      edit(world.host, world.copy('web'), (d) => {
        d.metadata.labels = {};
        d.metadata.ownerReferences = [];
        d['subsets'] = [];
      }),
    );
    const after = structuredClone(world.copy('web') as KubeObject);
    expect({ ...after, metadata: { ...after.metadata, resourceVersion: '' } }).toEqual({
      ...before,
      metadata: { ...before.metadata, resourceVersion: '' },
    });
    await world.change(() =>
      edit(world.host, world.copy('web'), (d) => {
        (d.metadata.annotations as Record<string, string>)['vcluster.loft.sh/managed-annotations'] = 'bogus';
      }),
    );
    expect(meta(world.copy('web')).annotations['vcluster.loft.sh/managed-annotations']).toBe('bogus');
  });

  it('a host label edit flows back with two writes, and a restart writes nothing', async () => {
    await start({}, (w) => putPair(w, 'web', '10.0.0.1', { labels: { app: 'x' } }));
    world.host.writes.length = 0;
    await world.change(() =>
      edit(world.host, world.copy('web'), (d) => {
        d.metadata.labels = { ...d.metadata.labels, app: 'host', extra: '1' };
      }),
    );
    expect(meta(world.virtual.get('endpoints', 'default', 'web')).labels).toEqual({ app: 'host', extra: '1' });
    expect([world.virtual.writes.length, world.host.writes.length]).toEqual([1, 1]);
    await world.restart();
    expect([world.virtual.writes.length, world.host.writes.length]).toEqual([1, 1]);
  });

  it('edits on either side during a downtime reach the other side', async () => {
    await start({}, (w) =>
      putPair(w, 'web', '10.0.0.1', { labels: { a: '1', b: '1', c: '1' }, annotations: { n: '1' } }),
    );
    await world.stop();
    edit(world.virtual, world.virtual.get('endpoints', 'default', 'web'), (d) => {
      d.metadata.labels = { a: '2', b: '1', fresh: 'v' };
    });
    edit(world.host, world.copy('web'), (d) => {
      d.metadata.labels = { ...d.metadata.labels, b: 'h', hfresh: 'h' };
      d.metadata.annotations = { ...d.metadata.annotations, n: 'h' };
    });
    await world.run();
    expect(meta(world.virtual.get('endpoints', 'default', 'web')).labels).toEqual({
      a: '2',
      b: 'h',
      fresh: 'v',
      hfresh: 'h',
    });
    expect(meta(world.virtual.get('endpoints', 'default', 'web')).annotations).toEqual({ n: 'h' });
    expect(meta(world.copy('web')).labels).toEqual({
      a: '2',
      b: 'h',
      fresh: 'v',
      hfresh: 'h',
      [markerLabel]: 'vc',
      [namespaceLabel]: 'default',
    });
  });

  it('an object adopted without a base never causes a write to the tenant', async () => {
    await start({}, (w) => putPair(w, 'web', '10.0.0.1', { labels: { app: 'x' } }));
    await world.stop();
    edit(world.host, world.copy('web'), (d) => {
      delete d.metadata.annotations?.[baseKey];
      d.metadata.labels = { ...d.metadata.labels, app: 'drift', own: 'h' };
    });
    await world.run();
    expect(world.virtual.writes).toEqual([]);
    expect(meta(world.copy('web')).labels).toMatchObject({ app: 'x', own: 'h' });
    await world.change(() =>
      edit(world.host, world.copy('web'), (d) => {
        d.metadata.labels = { ...d.metadata.labels, own: 'h2' };
      }),
    );
    expect(meta(world.virtual.get('endpoints', 'default', 'web')).labels).toEqual({ app: 'x', own: 'h2' });
  });

  it('an object in sync but without a base is not written just to get one', async () => {
    await start({}, (w) => putPair(w, 'web'));
    await world.stop();
    edit(world.host, world.copy('web'), (d) => {
      delete d.metadata.annotations?.[baseKey];
    });
    world.host.writes.length = 0;
    await world.run();
    expect(world.host.writes).toEqual([]);
  });

  it('nothing flows back from a host version of the endpoint controller', async () => {
    await start({}, (w) => putPair(w, 'web', '10.0.0.1', { labels: { app: 'x' } }));
    await world.change(() =>
      edit(world.host, world.copy('web'), (d) => {
        d.metadata.labels = { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller', svc: 'label' };
      }),
    );
    expect(world.virtual.writes).toEqual([]);
  });

  it('on an old host, removed labels wait for an event of the virtual Services, at most 60 s', async () => {
    await start({ isHostRecent: false }, (w) => putPair(w, 'web', '10.0.0.1', { labels: { app: 'x' } }));
    await world.change(() =>
      edit(world.host, world.copy('web'), (d) => {
        delete d.metadata.labels?.['app'];
      }),
    );
    expect(world.virtual.writes).toEqual([]);
    await world.clock.advance(30_000);
    expect(world.virtual.writes).toEqual([]);
    await world.clock.advance(31_500);
    await world.quiet();
    expect(world.virtual.writes).toEqual(['patch endpoints web']);
  });

  it('skip-backsync set on the host keeps the copy; set by the tenant it does not', async () => {
    await start({}, (w) => {
      putPair(w, 'kept');
      putPair(w, 'gone', '10.0.0.2', { annotations: { 'vcluster.loft.sh/skip-backsync': 'true' } });
    });
    await world.change(() =>
      edit(world.host, world.copy('kept'), (d) => {
        (d.metadata.annotations as Record<string, string>)['vcluster.loft.sh/skip-backsync'] = 'true';
      }),
    );
    await world.change(() => {
      world.virtual.remove('endpoints', 'default', 'kept');
      world.virtual.remove('endpoints', 'default', 'gone');
    });
    expect(world.copy('kept')).toBeDefined();
    expect(world.copy('gone')).toBeUndefined();
  });

  it.each(['hostward.dev/pause=true', 'vcluster.loft.sh/controlled-by=other'])(
    'leaves a host object with %s alone',
    async (mark) => {
      const [key, value] = mark.split('=') as [string, string];
      await start({}, (w) => putPair(w, 'web'));
      await world.change(() =>
        edit(world.host, world.copy('web'), (d) => {
          (d.metadata.annotations as Record<string, string>)[key] = value;
        }),
      );
      world.host.writes.length = 0;
      await world.change(() => putPair(world, 'web', '10.9.9.9'));
      await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
      expect(world.host.writes).toEqual([]);
      await world.change(() =>
        edit(world.host, world.copy('web'), (d) => {
          delete d.metadata.annotations?.[key];
        }),
      );
      expect(world.copy('web')).toBeUndefined();
    },
  );
});

describe('rule 10: one write per effective change', () => {
  it('writes nothing for irrelevant changes', async () => {
    await start({}, (w) => putPair(w, 'web', '10.0.0.1', { annotations: { k: '1' } }));
    world.host.writes.length = 0;
    await world.change(() =>
      world.virtual.put('endpoints', world.virtual.get('endpoints', 'default', 'web') as KubeObject),
    );
    await world.change(() =>
      edit(world.virtual, world.virtual.get('endpoints', 'default', 'web'), (d) => {
        d.metadata.managedFields = [{ manager: 'x' }];
      }),
    );
    await world.change(() =>
      edit(world.virtual, world.virtual.get('endpoints', 'default', 'web'), (d) => {
        d.metadata.annotations = { k: '1', 'control-plane.alpha.kubernetes.io/leader': 'who' };
      }),
    );
    await world.change(() =>
      edit(world.virtual, world.virtual.get('endpoints', 'default', 'web'), (d) => {
        d['subsets'] = [...(d['subsets'] as object[]), { addresses: [], ports: [{ port: 1 }] }];
      }),
    );
    await world.clock.advance(3_600_000);
    expect([...world.host.writes, ...world.virtual.writes]).toEqual([]);
  });

  it('a restart in sync writes nothing', async () => {
    await start({}, (w) => {
      for (let i = 0; i < 20; i++) putPair(w, `web-${i}`, `10.0.0.${i + 1}`, { labels: { app: 'x', release: 'r' } });
    });
    world.host.writes.length = 0;
    await world.restart();
    expect([...world.host.writes, ...world.virtual.writes]).toEqual([]);
  });

  it('a host that reorders payloads is written once, and its order is ignored afterwards', async () => {
    world = new FakeWorld();
    const put = world.host.put.bind(world.host);
    world.host.put = (resource, given) => {
      const object = structuredClone(given);
      if (resource === 'endpoints')
        for (const subset of (object['subsets'] ?? []) as { addresses: { ip: string }[] }[])
          subset.addresses.sort((a, b) => (a.ip < b.ip ? -1 : 1));
      return put(resource, object);
    };
    putPair(world, 'web');
    edit(world.virtual, world.virtual.get('endpoints', 'default', 'web'), (d) => {
      d['subsets'] = [{ addresses: [{ ip: '10.0.0.9' }, { ip: '10.0.0.1' }], ports: [{ port: 80, protocol: 'TCP' }] }];
    });
    await world.run();
    expect(world.host.writes).toHaveLength(1);
    expect(world.sync.ledger.entry('default/web')).toBeUndefined();
  });
});

describe('rule 12: contested objects', () => {
  it('slows repairs after the fourth, names the other manager, and never slows the virtual side', async () => {
    await start({}, (w) => putPair(w, 'web'));
    world.host.writes.length = 0;
    const fight = () =>
      edit(world.host, world.copy('web'), (d) => {
        d['subsets'] = [];
        d.metadata.managedFields = [{ manager: 'rival', time: '2026-01-01T00:00:00Z' }];
      });
    for (let round = 0; round < 4; round++) await world.change(fight);
    expect(world.host.writes).toHaveLength(4);
    await world.change(fight);
    expect(world.host.writes).toHaveLength(4);
    await world.clock.advance(1000);
    await world.quiet();
    expect(world.host.writes).toHaveLength(5);
    expect(world.eventReasons()).toEqual(['Contested']);
    expect(String(world.virtual.list('events')[0]?.['message'])).toContain('"rival"');
    expect(world.sync.contest.contested()).toMatchObject([{ key: 'default/web', manager: 'rival' }]);
    await world.change(() => putPair(world, 'web', '10.0.0.3'));
    expect(world.host.writes).toHaveLength(6);
    await world.clock.advance(60_000);
    expect(world.sync.contest.contested()).toEqual([]);
  });
});

describe('rule 12: a webhook that changes our writes', () => {
  it('causes one write a second, not a busy loop', async () => {
    world = new FakeWorld();
    const put = world.host.put.bind(world.host);
    world.host.put = (resource, given) => {
      const object = structuredClone(given);
      if (resource === 'endpoints')
        object['subsets'] = [{ addresses: [{ ip: '192.168.0.1' }], ports: [{ port: 1, protocol: 'TCP' }] }];
      return put(resource, object);
    };
    putPair(world, 'web');
    await world.run();
    expect(world.host.writes.length).toBeLessThanOrEqual(6);
    await world.clock.advance(3000);
    expect(world.host.writes.length).toBeLessThanOrEqual(9);
    expect(world.eventReasons()).toEqual(['Contested']);
  });
});

describe('rule 13: name collisions', () => {
  const older = { namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z' };
  const younger = { namespace: 'default-x-default', creationTimestamp: '2026-01-02T00:00:00Z' };
  const meet = (w: FakeWorld) => {
    putPair(w, 'api', '10.2.2.2', younger);
    putPair(w, 'api-x-default', '10.1.1.1', older);
  };
  const shared = 'api-x-default-x-default-x-vc';
  const holder = () => ipOf(world.host.get('endpoints', 'vcluster-vc', shared));

  it('the oldest gets the name, and the loser gets an event, and the name when the holder goes', async () => {
    await start({}, meet);
    expect(holder()).toBe('10.1.1.1');
    expect(world.eventReasons()).toEqual(['NameCollision']);
    expect(world.sync.ledger.entry('default-x-default/api')?.outcome).toMatchObject({ reason: 'NameCollision' });
    await world.change(() => world.virtual.remove('endpoints', 'default', 'api-x-default'));
    expect(holder()).toBe('10.2.2.2');
  });

  it('an incumbent keeps the name against an older rival, and after a restart', async () => {
    await start({}, (w) => putPair(w, 'api', '10.2.2.2', younger));
    await world.change(() => putPair(world, 'api-x-default', '10.1.1.1', older));
    expect(holder()).toBe('10.2.2.2');
    await world.restart();
    expect(holder()).toBe('10.2.2.2');
  });

  it('a holder with refused addresses loses the name to its rival', async () => {
    await start({}, meet);
    await world.change(() => putPair(world, 'api-x-default', '127.0.0.1', older));
    expect(holder()).toBe('10.2.2.2');
    expect(world.sync.ledger.entry('default/api-x-default')?.outcome).toMatchObject({ reason: 'AddressRefused' });
  });

  it.each([objectKeys.name, objectKeys.namespace, objectKeys.kind])(
    'a copy that has lost %s still belongs to its holder',
    async (key) => {
      // The younger object is the holder, so its age cannot decide for it.
      await start({}, (w) => putPair(w, 'api', '10.2.2.2', younger));
      await world.change(() => putPair(world, 'api-x-default', '10.1.1.1', older));
      await world.change(() =>
        edit(world.host, world.host.get('endpoints', 'vcluster-vc', shared), (d) => {
          delete d.metadata.annotations?.[key];
        }),
      );
      expect(holder()).toBe('10.2.2.2');
      expect(meta(world.host.get('endpoints', 'vcluster-vc', shared)).annotations[key]).toBeDefined();
    },
  );

  it('never overwrites the copy of one with the other, after any change to both', async () => {
    await start({}, meet);
    world.host.writes.length = 0;
    await world.change(() => putPair(world, 'api', '10.2.2.9', younger));
    expect(world.host.writes).toEqual([]);
    expect(holder()).toBe('10.1.1.1');
  });
});

describe('rule 14: address policy', () => {
  it('one refused address refuses its object, and no other object', async () => {
    await start({ settings: { addressPolicy: { allow: [], deny: ['10.5.0.0/16'] } } }, (w) => {
      putPair(w, 'good', '10.0.0.1');
      putPair(w, 'bad', '10.5.1.1');
    });
    expect(world.copy('good')).toBeDefined();
    expect(world.copy('bad')).toBeUndefined();
    expect(world.eventReasons()).toEqual(['AddressRefused']);
    expect(String(world.virtual.list('events')[0]?.['message'])).toContain('"10.5.1.1" (denied by 10.5.0.0/16)');
  });

  it('removes the copy when an address becomes refused', async () => {
    await start({}, (w) => putPair(w, 'web'));
    await world.change(() => putPair(world, 'web', '127.0.0.1'));
    expect(world.copy('web')).toBeUndefined();
    await world.change(() => putPair(world, 'web', '10.0.0.1'));
    expect(world.copy('web')).toBeDefined();
  });
});

describe('rule 15: mass deletes', () => {
  const many = (w: FakeWorld) => {
    for (let i = 0; i < 30; i++) putPair(w, `web-${i}`);
  };

  it('deletes nothing after one empty list: a second list decides', async () => {
    await start({}, many);
    world.windows.virtual.nextList = [];
    await world.windows.virtual.relist();
    await world.quiet();
    await world.clock.advance(9_999);
    expect(world.windows.virtual.relists).toBe(1);
    await world.clock.advance(1);
    await world.quiet();
    expect(world.windows.virtual.relists).toBe(2);
    expect(world.host.list('endpoints')).toHaveLength(30);
    expect(doubts()).toEqual([]);
  });

  const doubts = () => syncStatus(world.sync).listsInDoubt ?? [];
  const lies = async (kind: string): Promise<number> => {
    const text = await world.sync.options.metrics.metrics();
    return Number(
      /\d+$/.exec(
        text.split('\n').find((line) => line.startsWith(`hostward_list_lies_total{kind="${kind}"}`)) ?? '',
      )?.[0],
    );
  };

  it.each(['virtual', 'services'] as const)(
    'a lie in the list of %s that lasts deletes nothing, and is called a lie',
    async (side) => {
      await start({}, many);
      const window = world.windows[side];
      window.laterLists = [];
      await window.relist();
      await world.quiet();
      expect(doubts()).toMatchObject([{ deletes: 30, isLie: false }]);
      await world.clock.advance(10_000);
      const kind = side === 'virtual' ? 'Endpoints' : 'Service';
      expect(doubts()).toMatchObject([
        { list: kind, deletes: 30, isLie: true, message: expect.stringContaining('is a lie') },
      ]);
      expect([window.finds.length, new Set(window.finds).size, await lies(kind)]).toEqual([5, 5, 1]);
      await world.clock.advance(300_000);
      expect(window.relists).toBeLessThan(10);
      expect(world.host.list('endpoints')).toHaveLength(30);
      window.laterLists = undefined;
      await world.clock.advance(60_000);
      await world.quiet();
      expect(doubts()).toEqual([]);
      expect(world.sync.massDelete.guard.size).toBe(0);
      expect(world.host.list('endpoints')).toHaveLength(30);
    },
  );

  it('deletes nothing while the server does not say whether the objects exist', async () => {
    await start({}, many);
    const { virtual } = world.windows;
    Object.assign(virtual, { laterLists: [], isSilent: true });
    await virtual.relist();
    await world.clock.advance(120_000);
    expect(doubts()).toMatchObject([{ isLie: false, message: expect.stringContaining('does not say') }]);
    expect([world.host.list('endpoints').length, await lies('Endpoints')]).toEqual([30, 0]);
  });

  it('two lists that lack different objects delete only the copies that both lack', async () => {
    await start({}, many);
    const { virtual } = world.windows;
    const isOneOf = (from: number, to: number) => (object: KubeObject) => {
      const at = Number(meta(object).name?.slice(4));
      return at < from || at >= to;
    };
    const all = world.virtual.list('endpoints');
    for (let i = 10; i < 20; i++) world.virtual.objects.delete(`endpoints/default/web-${i}`);
    virtual.nextList = all.filter(isOneOf(0, 20));
    await virtual.relist();
    virtual.nextList = all.filter(isOneOf(10, 30));
    await world.clock.advance(10_000);
    await world.quiet();
    const left = world.host.list('endpoints').map((object) => Number(/^web-(\d+)-/.exec(meta(object).name ?? '')?.[1]));
    expect(left.filter((at) => at >= 10 && at < 20)).toEqual([]);
    expect(left).toHaveLength(20);
    await world.clock.advance(60_000);
    expect(world.host.list('endpoints')).toHaveLength(20);
  });

  it('a key that an earlier list had brought back needs ten seconds of its own', async () => {
    await start({}, many);
    const { virtual } = world.windows;
    virtual.nextList = [];
    await virtual.relist();
    await world.clock.advance(5_000);
    await virtual.relist();
    for (let i = 0; i < 30; i++) world.virtual.objects.delete(`endpoints/default/web-${i}`);
    await virtual.relist();
    await world.clock.advance(6_000);
    await world.quiet();
    expect(world.host.list('endpoints')).toHaveLength(30);
    await world.clock.advance(15_000);
    await world.quiet();
    expect(world.host.list('endpoints')).toHaveLength(0);
  });

  it('a single object that a list lacks goes at once', async () => {
    await start({}, many);
    world.virtual.objects.delete('endpoints/default/web-7');
    await world.windows.virtual.relist();
    await world.quiet();
    expect(world.host.list('endpoints')).toHaveLength(29);
    expect(world.windows.virtual.finds).toEqual([]);
  });

  it('deletes nothing after a first empty list at the start either', async () => {
    await start({}, many);
    await world.stop();
    const [lied] = [world.virtual.list('services')];
    await world.run({});
    world.windows.services.nextList = lied.slice(0, 3);
    await world.windows.services.relist();
    await world.quiet();
    expect(world.host.list('endpoints')).toHaveLength(30);
  });

  it('deletes the copies of keys that both lists lack', async () => {
    await start({}, many);
    await world.stop();
    for (let i = 0; i < 30; i++) world.virtual.remove('endpoints', 'default', `web-${i}`);
    await world.run();
    await world.clock.advance(10_000);
    await world.quiet();
    expect(world.windows.virtual.relists).toBe(1);
    expect(world.windows.virtual.finds).toHaveLength(5);
    expect(world.host.list('endpoints')).toHaveLength(0);
  });

  it('deletes at once after watch events', async () => {
    await start({}, many);
    await world.change(() => {
      for (let i = 0; i < 30; i++) world.virtual.remove('endpoints', 'default', `web-${i}`);
    });
    expect(world.host.list('endpoints')).toHaveLength(0);
    expect(world.windows.virtual.relists).toBe(0);
  });
});

describe('rule 16: leadership', () => {
  it('a standby writes nothing, and syncs everything when it becomes the leader', async () => {
    world = new FakeWorld();
    world.isLeader = false;
    putPair(world, 'web');
    await world.run();
    expect(world.host.writes).toEqual([]);
    world.isLeader = true;
    world.sync.enqueueAll();
    await world.quiet();
    expect(world.copy('web')).toBeDefined();
  });
});

describe('rule 17: namespace mapping', () => {
  const mapping = { mappingsOnly: true, hostNamespaceOf: (ns: string) => (ns === 'default' ? 'h-default' : undefined) };

  it('keeps the name, writes the instance, sets no owner, and skips unmapped namespaces', async () => {
    await start({ mapping }, (w) => {
      putPair(w, 'web', '10.0.0.1', { labels: { release: 'r' } });
      putPair(w, 'out', '10.0.0.2', { namespace: 'other' });
    });
    const copy = world.host.get('endpoints', 'h-default', 'web');
    expect(meta(copy).annotations[instanceKey]).toBe('vcluster-vc/vc');
    expect(meta(copy).labels['release']).toBe('r');
    expect(meta(copy).ownerReferences).toBeUndefined();
    expect(world.host.list('endpoints')).toHaveLength(1);
  });

  it('an object of another instance is foreign', async () => {
    await start({ mapping }, (w) => putPair(w, 'web'));
    await world.stop();
    edit(world.host, world.host.get('endpoints', 'h-default', 'web'), (d) => {
      (d.metadata.annotations as Record<string, string>)[instanceKey] = 'elsewhere/vc';
    });
    world.virtual.remove('endpoints', 'default', 'web');
    world.host.writes.length = 0;
    await world.run();
    expect(world.host.writes).toEqual([]);
  });

  it('still knows a copy that was recreated before a late 404 for the old one', async () => {
    let isBack = false;
    await start({}, (w) => {
      recreateBeforeAnswers(w.host, (_, found) => {
        if (isBack) return undefined;
        isBack = true;
        return found;
      });
      putPair(w, 'web', '10.0.0.1');
    });
    await world.change(() => putPair(world, 'web', '10.0.0.2'));
    expect(isBack).toBe(true);
    expect(ipOf(world.copy('web'))).toBe('10.0.0.2');
    expect(world.host.writes).toEqual(['create endpoints web-x-default-x-vc', 'patch endpoints web-x-default-x-vc']);
  });

  it('moves both keys when two mappings are exchanged', async () => {
    const swapped = (a: string, b: string) => ({
      mappingsOnly: true,
      hostNamespaceOf: (ns: string) =>
        new Map([
          ['default', a],
          ['other', b],
        ]).get(ns),
    });
    await start({ mapping: swapped('h-a', 'h-b') }, (w) => {
      putPair(w, 'web', '10.0.0.1');
      putPair(w, 'web', '10.0.0.2', { namespace: 'other' });
    });
    await world.stop();
    Object.assign(world.options, { mapping: swapped('h-b', 'h-a') });
    await world.run();
    expect(ipOf(world.host.get('endpoints', 'h-b', 'web'))).toBe('10.0.0.1');
    expect(ipOf(world.host.get('endpoints', 'h-a', 'web'))).toBe('10.0.0.2');
  });

  it('creates the new copy before it deletes the old one when a mapping has changed', async () => {
    await start({ mapping }, (w) => putPair(w, 'web'));
    await world.stop();
    world.host.writes.length = 0;
    const moved = new FakeWorld({ mapping: { mappingsOnly: true, hostNamespaceOf: () => 'h-new' } });
    Object.assign(moved, { virtual: world.virtual, host: world.host });
    world = moved;
    await world.run();
    expect(world.host.writes).toEqual(['create endpoints web', 'remove endpoints web']);
    expect(world.host.list('endpoints').map((one) => one.metadata.namespace)).toEqual(['h-new']);
  });

  it('refuses to take over a native object of the host itself', async () => {
    await start({ mapping }, (w) => {
      w.host.put('endpoints', {
        ...endpoints('web', '192.168.1.1'),
        metadata: { name: 'web', namespace: 'h-default' },
      });
      putPair(w, 'web');
    });
    expect(world.host.writes).toEqual([]);
    expect(world.eventReasons()).toEqual(['HostNameTaken']);
  });
});

describe('status of an object', () => {
  it('names the missing part of an ineligible object, and is undefined for an unknown name', async () => {
    await start({}, (w) => w.virtual.put('services', service('only')));
    expect(objectStatus(world.sync, 'default/only')).toMatchObject({
      state: 'ineligible/NoEndpoints',
      message: 'there is no virtual Endpoints of this name',
    });
    expect(objectStatus(world.sync, 'default/none')).toBeUndefined();
  });
});

describe('the queue', () => {
  it('counts each key once while every key is queued after a restart', async () => {
    await start({}, (w) => {
      for (let n = 0; n < 200; n++) putPair(w, `web${n}`);
    });
    await world.stop();
    let seen = 0;
    await world.run({
      isLeader: () => {
        const { waiting, running } = world.sync.queue;
        seen = Math.max(seen, waiting + running);
        return true;
      },
    });
    expect(seen).toBeGreaterThan(150);
    expect(seen).toBeLessThanOrEqual(200);
  });
});

describe('dry run', () => {
  const rows = () => syncStatus(world.sync).differences;

  it('writes nothing and lists every difference with its addresses', async () => {
    await start({ isDryRun: true }, (w) => putPair(w, 'web'));
    expect([...world.host.writes, ...world.virtual.writes]).toEqual([]);
    expect(rows()).toEqual([{ object: 'default/web', request: 'host create', touches: 'addresses 10.0.0.1' }]);
  });

  it('lists the virtual write and the host write of an object that needs both', async () => {
    await start({}, (w) => putPair(w, 'web', '10.0.0.1', { labels: { app: 'x' } }));
    await world.stop();
    edit(world.host, world.copy('web'), (d) => {
      d.metadata.labels = { ...d.metadata.labels, app: 'host' };
    });
    putPair(world, 'web', '10.0.0.9', { labels: { app: 'x' } });
    world.host.writes.length = 0;
    world.virtual.writes.length = 0;
    world.options.isDryRun = true;
    await world.run();
    expect([...world.host.writes, ...world.virtual.writes]).toEqual([]);
    expect(rows()).toEqual([
      { object: 'default/web', request: 'virtual patch', touches: 'label app' },
      {
        object: 'default/web',
        request: 'host patch',
        touches: expect.stringMatching(/subsets.*addresses 10\.0\.0\.9/),
      },
    ]);
    expect(world.sync.ledger.entry('default/web')?.outcome).toMatchObject({
      message: expect.stringMatching(/^would patch the virtual object: .*; then patch the host copy: .*10\.0\.0\.9/),
    });
  });

  it('lists the new copy and the removal of the old one when a mapping has moved the object', async () => {
    const mappingTo = (to: string) => ({ mappingsOnly: true, hostNamespaceOf: () => to });
    await start({ mapping: mappingTo('h-old') }, (w) => putPair(w, 'web'));
    await world.stop();
    Object.assign(world.options, { mapping: mappingTo('h-new'), isDryRun: true });
    await world.run();
    expect(rows()?.map(({ request }) => request)).toEqual(['host create', 'host remove']);
  });

  it('lists the removal of every old copy, however many there are', async () => {
    const mappingTo = (to: string) => ({ mappingsOnly: true, hostNamespaceOf: () => to });
    await start({ mapping: mappingTo('h-old') }, (w) => putPair(w, 'web'));
    await world.stop();
    const [copy] = structuredClone(world.host.list('endpoints'));
    for (let n = 0; n < 20; n++) {
      const { resourceVersion: _, uid: __, ...metadata } = (copy as KubeObject).metadata;
      const annotations = { ...metadata.annotations, [objectKeys.hostNamespace]: `h-${n}` };
      world.host.put('endpoints', {
        ...copy,
        metadata: { ...metadata, annotations, namespace: `h-${n}` },
      } as KubeObject);
    }
    Object.assign(world.options, { mapping: mappingTo('h-new'), isDryRun: true });
    await world.run();
    const count = rows()?.filter(({ request }) => request === 'host remove').length;
    Object.assign(world.options, { isDryRun: false });
    world.host.writes.length = 0;
    await world.restart();
    await world.clock.advance(10_000);
    expect(world.host.writes.filter((write) => write.startsWith('remove'))).toHaveLength(21);
    expect(count).toBe(21);
  });

  it('lists the new copies of two objects that change places', async () => {
    const mappingOf = (places: Record<string, string>) => ({
      mappingsOnly: true,
      hostNamespaceOf: (namespace: string) => places[namespace],
    });
    await start({ mapping: mappingOf({ a: 'h-a', b: 'h-b' }) }, (w) => {
      putPair(w, 'web', '10.0.0.1', { namespace: 'a' });
      putPair(w, 'web', '10.0.0.2', { namespace: 'b' });
    });
    await world.stop();
    Object.assign(world.options, { mapping: mappingOf({ a: 'h-b', b: 'h-a' }), isDryRun: true });
    await world.run();
    expect(rows()?.map(({ object, request }) => `${object} ${request}`)).toEqual([
      'a/web host remove',
      'a/web host create',
      'b/web host remove',
      'b/web host create',
    ]);
  });

  it('forgets the writes of an object that no longer needs them', async () => {
    await start({ isDryRun: true }, (w) => putPair(w, 'web'));
    await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
    expect(rows()).toEqual([]);
  });
});
