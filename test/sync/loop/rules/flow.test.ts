import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../../src/cluster/answer.ts';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { baseKey, markerLabel, namespaceLabel } from '../../../../src/sync/plan/keys/reserved-keys.ts';
import { edit, endpoints, FakeWorld, ipOf, putPair } from '../../fake-sync.ts';
import { meta, setUp, start, use, world } from './stage.ts';

setUp();

describe('flow in both directions', () => {
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

  describe.each([
    ['403', { kind: 'forbidden', message: 'no', namespaceTerminating: false }],
    ['422', { kind: 'refused', status: 422, reason: 'Invalid', message: 'no' }],
  ] as [string, Answer][])('a host that answers the write after a back-flow with %s', (_, refusal) => {
    it.each(['labels', 'annotations'] as const)('keeps the later edit of its %s', async (part) => {
      let isRefusing = false;
      await start({}, (w) => {
        putPair(w, 'web', '10.0.0.1', { [part]: { app: 'x' } });
        const writer = w.host.writer();
        const patch: typeof writer.patch = async (...args) => (isRefusing ? refusal : writer.patch(...args));
        w.host.writer = () => ({ ...writer, patch });
      });
      const editHost = (value: string) => () =>
        edit(world.host, world.copy('web'), (d) => {
          d.metadata[part] = { ...d.metadata[part], app: value };
        });
      isRefusing = true;
      await world.change(editHost('first'));
      expect(world.sync.ledger.entry('default/web')?.outcome.kind).toBe('refused');
      await world.change(editHost('second'));
      expect(meta(world.virtual.get('endpoints', 'default', 'web'))[part]).toEqual({ app: 'second' });
      isRefusing = false;
      await world.clock.advance(700_000);
      await world.quiet();
      expect(meta(world.virtual.get('endpoints', 'default', 'web'))[part]).toEqual({ app: 'second' });
      expect(meta(world.copy('web'))[part]).toMatchObject({ app: 'second' });
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

  it("host edits flow back where the tenant's own object has the label of the endpoint controller", async () => {
    const migrated = { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller', app: 'x' };
    await start({}, (w) => putPair(w, 'web', '10.0.0.1', { labels: migrated }));
    expect(meta(world.copy('web')).labels).toMatchObject(migrated);
    await world.change(() =>
      edit(world.host, world.copy('web'), (d) => {
        (d.metadata.annotations as Record<string, string>)['note'] = 'from the host';
      }),
    );
    expect(world.virtual.writes).toEqual(['patch endpoints web']);
    // The Service may have gained a selector again, and then Kubernetes has written these labels.
    await world.change(() =>
      edit(world.host, world.copy('web'), (d) => {
        (d.metadata.labels as Record<string, string>)['svc'] = 'label';
      }),
    );
    expect(world.virtual.writes).toHaveLength(1);
    await world.clock.advance(61_500);
    await world.quiet();
    expect(world.virtual.writes).toHaveLength(2);
    expect(world.virtual.get('endpoints', 'default', 'web')?.metadata).toMatchObject({
      labels: { ...migrated, svc: 'label' },
      annotations: { note: 'from the host' },
    });
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

describe('one write per effective change', () => {
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
    use(new FakeWorld());
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
