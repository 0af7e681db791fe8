import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { instanceKey, objectKeys } from '../../../../src/sync/plan/keys/reserved-keys.ts';
import { objectStatus } from '../../../../src/sync/report/object-status.ts';
import { syncStatus } from '../../../../src/sync/report/status.ts';
import { recreateBeforeAnswers } from '../../fake-cluster.ts';
import { edit, endpoints, FakeWorld, ipOf, putPair, service } from '../../fake-sync.ts';
import { entry } from '../../patch/fake-patch.ts';
import { meta, setUp, start, use, world } from './stage.ts';

setUp();

describe('leadership', () => {
  it('a standby writes nothing, and syncs everything when it becomes the leader', async () => {
    use(new FakeWorld());
    world.isLeader = false;
    putPair(world, 'web');
    await world.run();
    expect(world.host.writes).toEqual([]);
    // What another replica writes in the meantime is no lag of this one.
    expect(world.sync.ledger.dirty(() => true)).toEqual({ count: 0, oldestMs: undefined });
    world.isLeader = true;
    world.sync.enqueueAll();
    await world.quiet();
    expect(world.copy('web')).toBeDefined();
  });

  it('what a leader said of an object it says no longer when it leads again, and another replica has removed both sides', async () => {
    use(new FakeWorld());
    putPair(world, 'web');
    const writer = world.host.writer();
    const remove = async () => ({ kind: 'failed', status: 500, retryAfterMs: undefined, message: 'no' }) as const;
    await world.run({ hostWriter: { ...writer, remove } });
    await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
    expect(syncStatus(world.sync).trouble).toMatchObject([{ object: 'default/web', state: 'retry' }]);
    world.isLeader = false;
    await world.change(() => world.host.remove('endpoints', 'vcluster-vc', 'web-x-default-x-vc'));
    await world.clock.advance(1_000);
    world.isLeader = true;
    await world.change(() => world.sync.enqueueAll());
    expect(syncStatus(world.sync).trouble).toEqual([]);
  });

  it.each([
    ['in sync', 'always'],
    ['in sync, but for a value of the host that cannot be turned back', 'once'],
  ])('nor does it count an object any longer that was %s', async (_, works) => {
    const patch = entry({ path: 'metadata.labels["a"]', expression: 'value', reverseExpression: 'null.member' });
    use(new FakeWorld({ patches: [patch] }));
    putPair(world, 'web', '10.0.0.1', { labels: { a: '1' } });
    await world.run();
    if (works === 'once')
      await world.change(() =>
        edit(world.host, world.copy('web'), ({ metadata }) => Object.assign(metadata.labels ?? {}, { a: '2' })),
      );
    const { backflowFailures } = world.sync.ledger;
    expect([syncStatus(world.sync).objects.inSync, backflowFailures.size]).toEqual([1, works === 'once' ? 1 : 0]);
    world.isLeader = false;
    await world.change(() => {
      world.virtual.remove('endpoints', 'default', 'web');
      world.host.remove('endpoints', 'vcluster-vc', 'web-x-default-x-vc');
    });
    world.isLeader = true;
    await world.change(() => world.sync.enqueueAll());
    expect([syncStatus(world.sync).objects.inSync, backflowFailures.size]).toEqual([0, 0]);
  });
});

describe('namespace mapping', () => {
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
    use(moved);
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
