import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { edit } from '../fake-sync.ts';
import { entry } from '../patch/fake-patch.ts';
import { hostSecret, importable, secret, toSecret } from './fake-references.ts';
import { change, dataOf, markOf, nameOf, start, team, world } from './reference-stage.ts';

afterEach(() => world.stop());

describe('content that is imported', () => {
  it('comes under its own name, marked, and only with the label on the host', async () => {
    await start({}, (w) => {
      w.refer({ k: 'shared' });
      w.refer({ k: 'private' }, 'other');
      w.host.put('secrets', { ...hostSecret('shared'), immutable: true });
      w.host.put('secrets', hostSecret('private', 'cHJpdmF0ZQ==', {}));
    });
    const uid = world.host.get('secrets', 'vcluster-vc', 'shared')?.metadata.uid;
    expect(world.said()).toBe('shared');
    expect(world.imported('shared')).toMatchObject({ type: 'Opaque', data: { value: 'aG9zdA==' } });
    expect(world.imported('shared')?.metadata).toMatchObject({ annotations: { 'hostward.dev/imported-from': uid } });
    expect(world.imported('shared')?.metadata.labels).toEqual({ 'hostward.dev/imported': 'true' });
    expect(world.imported('private')).toBeUndefined();
    expect(world.said('k', 'other')).toBe(nameOf('private'));
    expect(world.eventReasons()).toEqual(['ReferenceUnresolved']);
    expect(world.host.list('secrets')).toHaveLength(2);
  });

  it('a change on the host reaches the import, and a change by the tenant is undone', async () => {
    await start({}, (w) => {
      w.refer({ k: 'shared' });
      w.host.put('secrets', hostSecret('shared'));
    });
    await change(world.host, 'secrets', world.host.get('secrets', 'vcluster-vc', 'shared'), (draft) => {
      draft['data'] = { value: 'bmV3' };
    });
    expect(dataOf(world.imported('shared'))).toBe('bmV3');
    await change(world.virtual, 'secrets', world.imported('shared'), (draft) => {
      draft['data'] = { value: 'ZXZpbA==' };
    });
    expect(dataOf(world.imported('shared'))).toBe('bmV3');
    await world.change(() => world.virtual.remove('secrets', 'default', 'shared'));
    expect(dataOf(world.imported('shared'))).toBe('bmV3');
    expect(dataOf(world.host.get('secrets', 'vcluster-vc', 'shared'))).toBe('bmV3');
    const writes = world.contentWrites().length;
    await world.restart();
    expect(world.contentWrites()).toHaveLength(writes);
    expect(world.host.list('secrets')).toHaveLength(1);
  });

  it('gets its label again, also when an earlier version made it without', async () => {
    await start({}, (w) => {
      w.refer({ k: 'shared' });
      w.host.put('secrets', hostSecret('shared'));
    });
    await world.stop();
    const { labels: _, ...metadata } = (world.imported('shared') as KubeObject).metadata;
    world.virtual.put('secrets', { ...(world.imported('shared') as KubeObject), metadata });
    await world.run();
    expect(world.imported('shared')?.metadata.labels).toEqual({ 'hostward.dev/imported': 'true' });
    const writes = world.contentWrites().length;
    await world.restart();
    expect(world.contentWrites()).toHaveLength(writes);
  });

  it.each([false, true])('it goes with the last reference (while the daemon is down: %s)', async (isDown) => {
    await start({}, (w) => {
      w.refer({ k: 'shared' });
      w.refer({}, 'other');
      w.host.put('secrets', hostSecret('shared'));
    });
    if (isDown) await world.stop();
    world.virtual.remove('endpoints', 'default', 'web');
    await (isDown ? world.run() : world.quiet());
    expect(world.imported('shared')).toBeUndefined();
    expect(world.host.get('secrets', 'vcluster-vc', 'shared')).toBeDefined();
  });

  it.each([false, true])('it goes with the label (while the daemon is down: %s)', async (isDown) => {
    await start({}, (w) => {
      w.refer({ k: 'shared' });
      w.host.put('secrets', hostSecret('shared'));
    });
    if (isDown) await world.stop();
    const host = world.host.get('secrets', 'vcluster-vc', 'shared') as KubeObject;
    world.host.put('secrets', { ...host, metadata: { ...host.metadata, labels: {} } });
    await (isDown ? world.run() : world.quiet());
    expect(world.imported('shared')).toBeUndefined();
    expect(world.said()).toBe(nameOf('shared'));
    expect(world.exported('shared')).toBeUndefined();
  });

  it.each([false, true])(
    "it never goes because the host object is missing: then it is the tenant's (while we are down: %s)",
    async (isDown) => {
      await start({}, (w) => {
        w.refer({ k: 'shared' });
        w.host.put('secrets', hostSecret('shared'));
      });
      if (isDown) await world.stop();
      world.host.remove('secrets', 'vcluster-vc', 'shared');
      await (isDown ? world.run() : world.quiet());
      expect(dataOf(world.imported('shared'))).toBe('aG9zdA==');
      expect([world.said(), dataOf(world.exported('shared'))]).toEqual([nameOf('shared'), 'aG9zdA==']);
      await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
      expect([world.imported('shared') !== undefined, world.exported('shared')]).toEqual([true, undefined]);
    },
  );

  it.each([
    ['not shown', importable],
    ['not to be had', { ...importable, 'vcluster.loft.sh/managed-by': 'vc' }],
  ])('the host is asked once about an import whose object is there and %s', async (_, labels) => {
    let asked = 0;
    await start({}, (w) => {
      const writer = w.host.writer();
      w.host.writer = () => ({
        ...writer,
        get: async (ref, place) => {
          if (ref.resource === 'secrets') asked++;
          return writer.get(ref, place);
        },
      });
      w.host.put('secrets', hostSecret('shared'));
      w.refer({ k: 'shared' });
    });
    const window = world.contentWindows.get('importable secrets');
    await world.change(() => {
      Object.assign(window as object, { isHeld: true });
      world.host.put('secrets', hostSecret('shared', 'aG9zdA==', labels));
      Object.assign(window as object, { nextList: [] });
      void window?.relist();
    });
    expect(asked).toBe(1);
  });

  it('a mark that a tenant made up means nothing', async () => {
    const forged = (uid: string) => ({ annotations: { 'hostward.dev/imported-from': uid } });
    await start({}, (w) => {
      w.host.put('secrets', hostSecret('private', 'cHJpdmF0ZQ==', {}));
      w.host.put('secrets', hostSecret('shared'));
      w.virtual.put('secrets', secret('private', 'djE=', forged('uid-guess')));
      w.virtual.put('secrets', secret('shared', 'djE=', forged('uid-guess')));
      w.refer({ k: 'private' });
      w.refer({ k: 'shared' }, 'other');
    });
    expect([dataOf(world.imported('private')), dataOf(world.imported('shared'))]).toEqual(['djE=', 'djE=']);
    expect([dataOf(world.exported('private')), dataOf(world.exported('shared'))]).toEqual(['djE=', 'djE=']);
  });

  it("a tenant's own object is stronger than the host's", async () => {
    await start({}, (w) => {
      w.refer({ k: 'shared' });
      w.host.put('secrets', hostSecret('shared'));
      w.virtual.put('secrets', secret('shared'));
    });
    expect([dataOf(world.imported('shared')), markOf(world.imported('shared'))]).toEqual(['djE=', undefined]);
    expect([world.said(), dataOf(world.exported('shared'))]).toEqual([nameOf('shared'), 'djE=']);
  });

  it('an object that appears on either side changes the name that is written', async () => {
    await start({}, (w) => w.refer({ k: 'late' }));
    expect(world.said()).toBe(nameOf('late'));
    await world.change(() => world.host.put('secrets', hostSecret('late')));
    expect([world.said(), dataOf(world.imported('late'))]).toEqual(['late', 'aG9zdA==']);
    await world.change(() => world.host.put('secrets', hostSecret('other')));
    await change(world.virtual, 'endpoints', world.virtual.get('endpoints', 'default', 'web'), (draft) => {
      draft.metadata.annotations = { k: 'other' };
    });
    expect([world.said(), world.imported('late'), world.imported('other') !== undefined]).toEqual([
      'other',
      undefined,
      true,
    ]);
    expect(world.sync.contest.contested()).toEqual([]);
  });

  it('in mapped namespaces it comes from the mapped host namespace', async () => {
    await start({ mapping: team }, (w) => {
      w.refer({ k: 'shared' });
      w.host.put('secrets', secret('shared', 'aG9zdA==', { namespace: 'team', labels: importable }));
      w.host.put('secrets', hostSecret('shared', 'b3RoZXI='));
    });
    expect([world.said(), dataOf(world.imported('shared'))]).toEqual(['shared', 'aG9zdA==']);
    await change(world.host, 'secrets', world.host.get('secrets', 'team', 'shared'), (draft) => {
      draft.metadata.labels = {};
    });
    expect(world.imported('shared')).toBeUndefined();
    expect(world.eventReasons()).toEqual(['ReferenceUnresolved']);
    expect(world.contentWrites().filter((one) => one.startsWith('host'))).toEqual([]);
  });

  it('a name that changes again and again with the objects behind it does not count as contested', async () => {
    await start({}, (w) => w.refer({ k: 'late' }));
    for (let turn = 0; turn < 6; turn++) {
      await world.change(() => world.host.put('secrets', hostSecret('late')));
      expect(world.said()).toBe('late');
      await world.change(() => world.host.put('secrets', hostSecret('late', 'aG9zdA==', {})));
      expect(world.said()).toBe(nameOf('late'));
    }
    expect(world.sync.contest.contested()).toEqual([]);
  });

  it('neither our own copies nor tokens of service accounts can be imported', async () => {
    await start({}, (w) => {
      w.virtual.put('secrets', secret('db'));
      w.refer({ k: 'db' });
      w.host.put('secrets', { ...hostSecret('token'), type: 'kubernetes.io/service-account-token' });
      w.refer({ k: 'token' }, 'other');
    });
    await change(world.host, 'secrets', world.exported('db'), (draft) =>
      Object.assign(draft.metadata.labels as object, importable),
    );
    await world.change(() => world.refer({ k: nameOf('db') }, 'third'));
    expect(world.virtual.list('secrets')).toHaveLength(1);
  });

  it('the name of an import flows back unchanged', async () => {
    await start({}, (w) => {
      w.virtual.put('secrets', secret('db'));
      w.refer({ k: 'db' });
      w.host.put('secrets', hostSecret('shared'));
    });
    await world.change(() =>
      edit(world.host, world.copy('web'), (draft) => {
        draft.metadata.annotations = { ...draft.metadata.annotations, k: 'shared' };
      }),
    );
    expect(world.virtual.get('endpoints', 'default', 'web')?.metadata.annotations).toEqual({ k: 'shared' });
    expect([world.said(), world.exported('db'), dataOf(world.imported('shared'))]).toEqual([
      'shared',
      undefined,
      'aG9zdA==',
    ]);
  });

  it('a name that was given before a restart flows back, for any kind and any referring object', async () => {
    const toService = entry({ path: 'metadata.annotations["s"]', reference: { apiVersion: 'v1', kind: 'Service' } });
    const editWeb = (annotations: Record<string, string>) =>
      edit(world.host, world.copy('web'), (draft) => {
        draft.metadata.annotations = { ...draft.metadata.annotations, ...annotations };
      });
    await start({ references: [toSecret, toService] }, (w) => {
      w.virtual.put('secrets', secret('db'));
      w.refer({ k: 'other', s: 'own' });
      w.refer({ k: 'db' }, 'gone');
      // More than are worked on at a time.
      for (let at = 0; at < 100; at++) w.refer({}, `other-${at}`);
      w.refer({ s: 'backend' }, 'zulu');
    });
    await world.stop();
    editWeb({ k: nameOf('db'), s: nameOf('backend') });
    world.virtual.remove('endpoints', 'default', 'gone');
    await world.run();
    expect(world.virtual.get('endpoints', 'default', 'web')?.metadata.annotations).toEqual({ k: 'db', s: 'backend' });
    expect([world.said('k'), dataOf(world.exported('db'))]).toEqual([nameOf('db'), 'djE=']);
  });
});
