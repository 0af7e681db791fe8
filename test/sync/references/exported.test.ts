import { afterEach, describe, expect, it } from 'vitest';
import { createLog } from '../../../src/log.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { settle } from '../../virtual-clock.ts';
import { holdableWrites } from '../fake-cluster.ts';
import { endpoints } from '../fake-sync.ts';
import { type ReferenceWorld, secret, toConfigMap, toSecret } from './fake-references.ts';
import { change, dataOf, nameOf, start, world } from './reference-stage.ts';

afterEach(() => world.stop());

describe('content that is exported', () => {
  it('stays while only the addresses of the referring object change', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
    });
    for (const last of [2, 3, 4]) {
      await change(world.virtual, 'endpoints', world.virtual.get('endpoints', 'default', 'web'), (draft) => {
        draft['subsets'] = endpoints('web', `10.0.0.${last}`)['subsets'];
      });
      await world.clock.advance(120_000);
      await world.quiet();
    }
    expect(world.said('k')).toBe(nameOf('db'));
    expect(world.exported('db')).toMatchObject({ data: { value: 'djE=' } });
    await world.change(() => world.virtual.put('secrets', secret('db', 'djI=')));
    expect(world.exported('db')).toMatchObject({ data: { value: 'djI=' } });
  });

  it('goes to the host under the generated name, with our marks and without the annotations of the tenant', async () => {
    const metadata = {
      labels: { app: 'x', 'hostward.dev/importable': 'true', 'vcluster.loft.sh/other': 'y' },
      annotations: { 'reflector.example/allowed': 'true' },
    };
    await start({}, (w) => {
      w.refer({ k: 'db', c: 'conf' });
      w.virtual.put('secrets', { ...secret('db', 'djE=', metadata), immutable: true });
      w.virtual.put('configmaps', { metadata: { name: 'conf', namespace: 'default' }, binaryData: { b: 'AA==' } });
    });
    expect(world.said('k')).toBe(nameOf('db'));
    const copy = world.exported('db') as KubeObject;
    const uid = world.virtual.get('secrets', 'default', 'db')?.metadata.uid;
    expect(copy).toMatchObject({ apiVersion: 'v1', kind: 'Secret', type: 'Opaque', data: { value: 'djE=' } });
    expect(copy['immutable']).toBeUndefined();
    expect(copy.metadata.labels).toEqual({
      app: 'x',
      'vcluster.loft.sh/managed-by': 'vc',
      'vcluster.loft.sh/namespace': 'default',
    });
    expect(copy.metadata.annotations).toEqual({
      'vcluster.loft.sh/object-name': 'db',
      'vcluster.loft.sh/object-namespace': 'default',
      'vcluster.loft.sh/object-uid': uid,
      'vcluster.loft.sh/object-kind': '/v1, Kind=Secret',
      'vcluster.loft.sh/object-host-name': nameOf('db'),
      'vcluster.loft.sh/object-host-namespace': 'vcluster-vc',
      'hostward.dev/label-keys': 'app',
    });
    expect(copy.metadata.ownerReferences).toMatchObject([{ kind: 'Service', name: 'vc', controller: false }]);
    expect(world.exported('conf', 'default', 'configmaps')).toMatchObject({
      kind: 'ConfigMap',
      binaryData: { b: 'AA==' },
    });
    expect(world.eventReasons()).toEqual([]);
  });

  it('is logged as written and as removed', async () => {
    const lines: { msg: string; kind?: string; request?: string }[] = [];
    const log = createLog({ level: 'info', destination: { write: (line) => void lines.push(JSON.parse(line)) } });
    await start({ log }, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
    });
    await world.change(() => world.refer({}));
    expect(world.exported('db')).toBeUndefined();
    expect(lines.filter(({ kind }) => kind === 'Secret').map(({ msg, request }) => `${msg}: ${request}`)).toEqual([
      'content written: host create',
      'content removed: host remove',
    ]);
  });

  it('follows the tenant, and a restart with nothing changed writes nothing', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db', 'djE=', { labels: { app: 'x', old: '1' } }));
    });
    await change(world.virtual, 'secrets', world.virtual.get('secrets', 'default', 'db'), (draft) => {
      draft['data'] = { value: 'djI=', more: 'AA==' };
      draft.metadata.labels = { app: 'y' };
    });
    expect(world.exported('db')?.['data']).toEqual({ value: 'djI=', more: 'AA==' });
    expect(world.exported('db')?.metadata.labels).toMatchObject({ app: 'y' });
    expect(world.exported('db')?.metadata.labels?.['old']).toBeUndefined();
    await change(world.virtual, 'secrets', world.virtual.get('secrets', 'default', 'db'), (draft) => {
      draft['data'] = {};
    });
    expect(world.exported('db')?.['data']).toEqual({});
    const writes = world.contentWrites().length;
    await world.restart();
    expect(world.contentWrites()).toHaveLength(writes);
  });

  it('host edits are reverted, a copy that vanished comes back, labels of the host stay', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
    });
    await change(world.host, 'secrets', world.exported('db'), (draft) => {
      draft['data'] = { value: 'ZXZpbA==', extra: 'AA==' };
      draft.metadata.labels = { mine: '1' };
      draft.metadata.annotations = { ...draft.metadata.annotations, 'vcluster.loft.sh/object-uid': 'x' };
    });
    expect(world.exported('db')?.['data']).toEqual({ value: 'djE=' });
    expect(world.exported('db')?.metadata.labels).toMatchObject({ mine: '1', 'vcluster.loft.sh/managed-by': 'vc' });
    await world.change(() => world.host.remove('secrets', 'vcluster-vc', nameOf('db')));
    expect(dataOf(world.exported('db'))).toBe('djE=');
  });

  it('endless edits on the host are reverted once a second', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
    });
    for (let turn = 0; turn < 20; turn++)
      await change(world.host, 'secrets', world.exported('db'), (draft) =>
        Object.assign(draft, { data: { value: 'eA==' } }),
      );
    const patches = world.contentWrites().filter((one) => one.startsWith('host patch'));
    expect(patches.length).toBeLessThanOrEqual(5);
    await world.clock.advance(5000);
    await world.quiet();
    expect(dataOf(world.exported('db'))).toBe('djE=');
  });

  it('goes with the last reference, not before', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.refer({ k: 'db' }, 'other');
      w.virtual.put('secrets', secret('db'));
    });
    await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
    expect(world.exported('db')).toBeDefined();
    await change(world.virtual, 'endpoints', world.virtual.get('endpoints', 'default', 'other'), (draft) => {
      draft.metadata.annotations = {};
    });
    expect(world.exported('db')).toBeUndefined();
    expect(world.virtual.get('secrets', 'default', 'db')).toBeDefined();
  });

  it('goes when the tenant deletes it: the name stays generated, and the tenant gets an event', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
    });
    await world.change(() => world.virtual.remove('secrets', 'default', 'db'));
    expect(world.exported('db')).toBeUndefined();
    expect(world.said()).toBe(nameOf('db'));
    expect(world.eventReasons()).toEqual(['ReferenceUnresolved']);
    await world.change(() => world.virtual.put('secrets', { ...secret('db'), type: 'kubernetes.io/tls' }));
    expect(world.exported('db')?.['type']).toBe('kubernetes.io/tls');
  });

  it('another type under the same name deletes the copy and creates it again', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
    });
    await world.stop();
    world.virtual.remove('secrets', 'default', 'db');
    world.virtual.put('secrets', { ...secret('db', 'djI='), type: 'kubernetes.io/basic-auth' });
    const before = world.exported('db')?.metadata.uid;
    await world.run();
    expect(world.exported('db')).toMatchObject({ type: 'kubernetes.io/basic-auth', data: { value: 'djI=' } });
    expect(world.exported('db')?.metadata.uid).not.toBe(before);
  });

  it.each([
    ['the reference', (w: ReferenceWorld) => w.virtual.remove('endpoints', 'default', 'web')],
    ['the object', (w: ReferenceWorld) => w.virtual.remove('secrets', 'default', 'db')],
    ['the switch', (w: ReferenceWorld) => Object.assign(w.given, { exported: [] })],
    ['generated naming', (w: ReferenceWorld) => Object.assign(w.given, { naming: 'vcluster' })],
  ])('what went while we were down is found at the start: %s', async (_, act) => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
      // One of several, or the caution of the lists would ask twice.
      for (let at = 0; at < 9; at++) {
        w.refer({ k: `s${at}` }, `other-${at}`);
        w.virtual.put('secrets', secret(`s${at}`));
      }
    });
    expect(world.exported('db')).toBeDefined();
    await world.stop();
    act(world);
    await world.run();
    expect(world.exported('db')).toBeUndefined();
    expect(world.exported('s0') === undefined).toBe(
      world.given.naming === 'vcluster' || world.given.exported?.length === 0,
    );
  });

  it('is removed when its switch or its patch goes during a run, and copied again when that returns', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
    });
    await world.reconfigure({ exported: ['ConfigMap'] });
    expect([world.exported('db'), world.said()]).toEqual([undefined, nameOf('db')]);
    await world.reconfigure({ exported: ['Secret'] });
    expect(world.exported('db')).toBeDefined();
    await world.reconfigure({ references: [toConfigMap] });
    expect([world.exported('db'), world.said()]).toEqual([undefined, 'db']);
    await world.reconfigure({ references: [toSecret] });
    expect([dataOf(world.exported('db')), world.said()]).toEqual(['djE=', nameOf('db')]);
  });

  it('tokens of service accounts do not cross', async () => {
    await start({}, (w) => {
      w.refer({ k: 'token' });
      w.virtual.put('secrets', { ...secret('token'), type: 'kubernetes.io/service-account-token' });
    });
    expect(world.exported('token')).toBeUndefined();
    expect(world.eventReasons()).toEqual(['ReferenceRefused']);
    expect(world.contentWrites()).toEqual([]);
  });

  it.each([
    ['somebody else', {}],
    ['another virtual cluster', { labels: { 'vcluster.loft.sh/managed-by': 'other' } }],
    [
      'a copy for another object',
      {
        labels: { 'vcluster.loft.sh/managed-by': 'vc' },
        annotations: { 'vcluster.loft.sh/object-name': 'x', 'vcluster.loft.sh/object-namespace': 'y' },
      },
    ],
  ])('an object of %s at the name is never overwritten and never removed', async (_, metadata) => {
    const place = { name: nameOf('db'), namespace: 'vcluster-vc' };
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
      w.host.put('secrets', secret(place.name, 'aGlz', { ...place, ...metadata }));
    });
    const version = world.exported('db')?.metadata.resourceVersion;
    expect(world.eventReasons()).toEqual(['NotOwned']);
    await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
    await world.restart();
    expect(world.exported('db')?.metadata.resourceVersion).toBe(version);
    expect(dataOf(world.exported('db'))).toBe('aGlz');
  });

  it('when the name becomes free the copy is made', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
      w.host.put('secrets', secret(nameOf('db'), 'aGlz', { namespace: 'vcluster-vc' }));
    });
    await world.clock.advance(10 * 60_000);
    const asked = world.host.reads.length;
    await world.clock.advance(10 * 60_000);
    expect(world.host.reads.length - asked).toBeLessThanOrEqual(10);
    await world.change(() => world.host.remove('secrets', 'vcluster-vc', nameOf('db')));
    await world.clock.advance(60_000);
    await world.quiet();
    expect(dataOf(world.exported('db'))).toBe('djE=');
  });

  it('a copy without its label is repaired in place', async () => {
    await start({}, (w) => {
      w.refer({ k: 'db' });
      w.virtual.put('secrets', secret('db'));
    });
    const uid = world.exported('db')?.metadata.uid;
    await change(world.host, 'secrets', world.exported('db'), (draft) => Object.assign(draft.metadata, { labels: {} }));
    expect(world.exported('db')?.metadata).toMatchObject({ uid, labels: { 'vcluster.loft.sh/managed-by': 'vc' } });
  });

  it("vCluster's own copies are not treated as leftovers", async () => {
    const name = 'db-x-default-x-vc';
    await start({}, (w) => {
      const annotations = {
        'vcluster.loft.sh/object-name': 'db',
        'vcluster.loft.sh/object-namespace': 'default',
        'vcluster.loft.sh/object-host-name': name,
        'vcluster.loft.sh/object-host-namespace': 'vcluster-vc',
      };
      const labels = { 'vcluster.loft.sh/managed-by': 'vc' };
      w.host.put('secrets', secret(name, 'djE=', { namespace: 'vcluster-vc', labels, annotations }));
      w.refer({ k: 'other' });
    });
    await world.restart();
    expect(world.contentWrites()).toEqual([]);
  });
});

it('does not go to the host by a write that waited for its turn while its kind is exported no more', async () => {
  let writes: ReturnType<typeof holdableWrites> | undefined;
  await start({}, (w) => {
    writes = holdableWrites(w.host);
    w.refer({ k: 'db' });
  });
  writes?.hold();
  world.virtual.put('secrets', secret('db'));
  await settle();
  world.host.writes.length = 0;
  await world.reconfigure({ exported: [] });
  await world.change(() => writes?.release());
  expect(world.exported('db')).toBeUndefined();
  expect(world.host.writes.filter((one) => one.includes('secrets'))).toEqual([]);
});
