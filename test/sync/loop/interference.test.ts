// Another client writes between our decision and our write. Our write fails, the pass decides again, and no edit is lost.
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/cluster/answer.ts';
import type { Writer } from '../../../src/cluster/write/writer.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { edit, endpoints, FakeWorld, ipOf, putPair } from '../fake-sync.ts';

type Acts = (() => void)[];

/** Runs the next act of `before` right before a write of the daemon to Endpoints, and of `beforeRead` before a read. */
function interrupted(writer: Writer, before: Acts, beforeRead: Acts = []): Writer {
  const first = <T>(resource: string, send: () => Promise<T>): Promise<T> => {
    if (resource === 'endpoints') before.shift()?.();
    return send();
  };
  return {
    ...writer,
    create: (ref, ...rest) => first(ref.resource, () => writer.create(ref, ...rest)),
    patch: (ref, ...rest) => first(ref.resource, () => writer.patch(ref, ...rest)),
    remove: (ref, place, conditions) => first(ref.resource, () => writer.remove(ref, place, conditions)),
    get: (ref, place) => {
      if (ref.resource === 'endpoints') beforeRead.shift()?.();
      return writer.get(ref, place);
    },
  };
}

/** `beforeRead` runs before reads of the virtual side. */
async function begin(): Promise<{ world: FakeWorld; beforeHost: Acts; beforeVirtual: Acts; beforeRead: Acts }> {
  const world = new FakeWorld();
  putPair(world, 'web', '10.0.0.1', { labels: { app: '0' } });
  const acts: Record<'beforeHost' | 'beforeVirtual' | 'beforeRead', Acts> = {
    beforeHost: [],
    beforeVirtual: [],
    beforeRead: [],
  };
  await world.run({
    hostWriter: interrupted(world.host.writer(), acts.beforeHost),
    virtualWriter: interrupted(world.virtual.writer(), acts.beforeVirtual, acts.beforeRead),
  });
  return { world, ...acts };
}

const label = (world: FakeWorld, side: 'virtual' | 'host', key: string, value: string): void => {
  const object = side === 'host' ? world.copy('web') : world.virtual.get('endpoints', 'default', 'web');
  edit(world[side], object, (draft) => {
    draft.metadata.labels = { ...draft.metadata.labels, [key]: value };
  });
};

const labels = (world: FakeWorld, key: string): (string | undefined)[] => [
  world.virtual.get('endpoints', 'default', 'web')?.metadata.labels?.[key],
  world.copy('web')?.metadata.labels?.[key],
];

describe('a back-flow that must wait', () => {
  const removeLabel = (world: FakeWorld): void =>
    edit(world.host, world.copy('web'), (draft) => {
      delete draft.metadata.labels?.['app'];
    });

  it('does not delay the tenant’s change: a removed label on an old host', async () => {
    const world = new FakeWorld({ isHostRecent: false });
    putPair(world, 'web', '10.0.0.1', { labels: { app: '0' } });
    await world.run();
    await world.change(() => removeLabel(world));
    await world.change(() => putPair(world, 'web', '10.0.0.2', { labels: { app: '0' } }));
    expect(ipOf(world.copy('web'))).toBe('10.0.0.2');
    expect(labels(world, 'app')).toEqual(['0', undefined]);
    await world.clock.advance(62_000);
    await world.quiet();
    expect(labels(world, 'app')).toEqual([undefined, undefined]);
    await world.stop();
  });

  it('does not delay the tenant’s change: a host that edits without end', async () => {
    const { world } = await begin();
    for (let round = 1; round <= 6; round++) await world.change(() => label(world, 'host', 'app', `h${round}`));
    await world.change(() =>
      edit(world.virtual, world.virtual.get('endpoints', 'default', 'web'), (draft) => {
        draft['subsets'] = endpoints('', '10.0.0.2')['subsets'];
      }),
    );
    expect(ipOf(world.copy('web'))).toBe('10.0.0.2');
    await world.clock.advance(3000);
    await world.quiet();
    expect(labels(world, 'app')).toEqual(['h6', 'h6']);
    expect(ipOf(world.copy('web'))).toBe('10.0.0.2');
    await world.stop();
  });
});

describe('an edit between our decision and our write', () => {
  it('flows back from the host although an earlier edit of the same key is still flowing back', async () => {
    const { world, beforeHost } = await begin();
    beforeHost.push(() => label(world, 'host', 'app', 'h2'));
    await world.change(() => label(world, 'host', 'app', 'h1'));
    expect(labels(world, 'app')).toEqual(['h2', 'h2']);
    await world.stop();
  });

  it('flows back from the host when it is the last of many edits of one key', async () => {
    const { world, beforeHost } = await begin();
    for (let round = 2; round <= 6; round++) beforeHost.push(() => label(world, 'host', 'app', `h${round}`));
    await world.change(() => label(world, 'host', 'app', 'h1'));
    await world.clock.advance(3000);
    await world.quiet();
    expect(labels(world, 'app')).toEqual(['h6', 'h6']);
    await world.stop();
  });

  it('wins when the tenant makes it while an edit of the host flows back', async () => {
    const { world, beforeVirtual } = await begin();
    beforeVirtual.push(() => label(world, 'virtual', 'app', 'v'));
    await world.change(() => label(world, 'host', 'app', 'h'));
    expect(labels(world, 'app')).toEqual(['v', 'v']);
    await world.stop();
  });

  it('wins when the tenant makes it between the two writes of a back-flow', async () => {
    const { world, beforeHost } = await begin();
    beforeHost.push(() => label(world, 'virtual', 'app', 'v'));
    await world.change(() => label(world, 'host', 'app', 'h'));
    expect(labels(world, 'app')).toEqual(['v', 'v']);
    await world.stop();
  });

  it('flows back when the host changes another key while we write an address', async () => {
    const { world, beforeHost } = await begin();
    beforeHost.push(() => label(world, 'host', 'own', 'h'));
    await world.change(() => putPair(world, 'web', '10.0.0.2', { labels: { app: '0' } }));
    expect(ipOf(world.copy('web'))).toBe('10.0.0.2');
    expect(labels(world, 'own')).toEqual(['h', 'h']);
    await world.stop();
  });

  it('leaves no claim to the name when the tenant deletes the object before an edit of the host reaches it', async () => {
    const { world } = await begin();
    world.windows.virtual.isHeld = true;
    world.virtual.remove('endpoints', 'default', 'web');
    await world.change(() => label(world, 'host', 'app', 'h1'));
    world.windows.virtual.isHeld = false;
    await world.change(() => world.windows.virtual.deliver());
    expect(world.copy('web')).toBeUndefined();
    const place = { namespace: 'vcluster-vc', name: 'web-x-default-x-vc' };
    expect(world.sync.world.claims.claimants(place)).toEqual([]);
    await world.stop();
  });

  it('keeps the claim to the name when the tenant recreates the object before we read it', async () => {
    const { world, beforeHost, beforeVirtual, beforeRead } = await begin();
    const virtual = world.virtual.get('endpoints', 'default', 'web') as KubeObject;
    beforeVirtual.push(() => {
      world.windows.virtual.isHeld = true;
      label(world, 'virtual', 'app', '1');
    });
    beforeRead.push(() => {
      world.virtual.remove('endpoints', 'default', 'web');
      world.windows.virtual.deliver();
      const { name, namespace } = virtual.metadata;
      world.virtual.put('endpoints', { ...virtual, metadata: { name: name ?? '', namespace: namespace ?? '' } });
    });
    await world.change(() => label(world, 'host', 'team', 'a'));
    await world.change(() => world.windows.virtual.deliver());
    expect([beforeHost, beforeVirtual, beforeRead]).toEqual([[], [], []]);
    await world.change(() => world.host.remove('endpoints', 'vcluster-vc', 'web-x-default-x-vc'));
    expect(ipOf(world.copy('web'))).toBe('10.0.0.1');
    await world.stop();
  });

  it('leads to a complete new copy when it deletes the copy before our patch', async () => {
    const { world, beforeHost } = await begin();
    beforeHost.push(() => world.host.remove('endpoints', 'vcluster-vc', 'web-x-default-x-vc'));
    await world.change(() => putPair(world, 'web', '10.0.0.3', { labels: { app: '1' } }));
    expect(ipOf(world.copy('web'))).toBe('10.0.0.3');
    expect(labels(world, 'app')).toEqual(['1', '1']);
    await world.stop();
  });

  it('is respected when it puts a foreign object at the name before our create', async () => {
    const { world, beforeHost } = await begin();
    const at = { name: 'new-x-default-x-vc', namespace: 'vcluster-vc' };
    const annotations = { 'vcluster.loft.sh/object-name': 'other' };
    beforeHost.push(() =>
      world.host.put('endpoints', { ...endpoints('', '192.168.3.3'), metadata: { ...at, annotations } }),
    );
    await world.change(() => putPair(world, 'new', '10.0.0.4'));
    expect(ipOf(world.copy('new'))).toBe('192.168.3.3');
    await world.stop();
  });

  it('does not prevent our delete when it changes the copy before', async () => {
    const { world, beforeHost } = await begin();
    beforeHost.push(() => label(world, 'host', 'own', 'h'));
    await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
    expect(world.copy('web')).toBeUndefined();
    await world.stop();
  });

  it('keeps the copy when it recreates the virtual object and touches the copy before our delete', async () => {
    const { world, beforeHost } = await begin();
    beforeHost.push(() => {
      label(world, 'host', 'own', 'h');
      putPair(world, 'web', '10.0.0.5');
    });
    await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
    expect(ipOf(world.copy('web'))).toBe('10.0.0.5');
    await world.stop();
  });
});

describe('an edit after our write and before its answer', () => {
  /** Runs `act` after the host has stored the next write and before the host answers. */
  async function change(
    act: (world: FakeWorld) => void,
    write = (world: FakeWorld) => putPair(world, 'web', '10.0.0.2', { labels: { app: '0' } }),
  ): Promise<FakeWorld> {
    const world = new FakeWorld();
    putPair(world, 'web', '10.0.0.1', { labels: { app: '0' } });
    const waiting: ((world: FakeWorld) => void)[] = [];
    const writer = world.host.writer();
    const late = async <T>(sent: Promise<T>): Promise<T> => {
      const answer = await sent;
      waiting.shift()?.(world);
      return answer;
    };
    const hostWriter: Writer = {
      ...writer,
      create: (ref, object) => late(writer.create(ref, object)),
      patch: (ref, place, body) => late(writer.patch(ref, place, body)),
    };
    await world.run({ hostWriter });
    waiting.push(act);
    await world.change(() => write(world));
    return world;
  }

  it('flows back when it changes a label on the host', async () => {
    const world = await change((at) => label(at, 'host', 'own', 'h'));
    expect(labels(world, 'own')).toEqual(['h', 'h']);
    await world.stop();
  });

  it('is reverted when it changes an address on the host', async () => {
    const world = await change((at) =>
      edit(at.host, at.copy('web'), (draft) => {
        draft['subsets'] = [];
      }),
    );
    expect(ipOf(world.copy('web'))).toBe('10.0.0.2');
    await world.stop();
  });

  it('is reverted when it reorders addresses, and does not count as the habit of the host', async () => {
    const addresses = [{ ip: '10.0.0.2' }, { ip: '10.0.0.3' }];
    const swapped = (at: FakeWorld): void =>
      edit(at.host, at.copy('web'), (draft) => {
        draft['subsets'] = [{ addresses: addresses.toReversed() }];
      });
    const world = await change(swapped, (at) => {
      const virtual = at.virtual.get('endpoints', 'default', 'web');
      edit(at.virtual, virtual, (draft) => {
        draft['subsets'] = [{ addresses }];
      });
    });
    expect(world.copy('web')?.['subsets']).toEqual([{ addresses }]);
    await world.stop();
  });

  it('arrives on the host when the tenant makes it', async () => {
    const world = await change((at) => putPair(at, 'web', '10.0.0.3', { labels: { app: '1' } }));
    expect(ipOf(world.copy('web'))).toBe('10.0.0.3');
    expect(labels(world, 'app')).toEqual(['1', '1']);
    await world.stop();
  });

  it('removes the copy when the tenant deletes the object', async () => {
    const world = await change((at) => at.virtual.remove('endpoints', 'default', 'web'));
    expect(world.copy('web')).toBeUndefined();
    await world.stop();
  });

  it('leads to a new copy when it deletes the copy', async () => {
    const world = await change((at) => at.host.remove('endpoints', 'vcluster-vc', 'web-x-default-x-vc'));
    expect(ipOf(world.copy('web'))).toBe('10.0.0.2');
    await world.stop();
  });
});

describe('a tenant whose API server rejects what was edited on the host', () => {
  it.each([
    ['a key alone', { team: 'forbidden' }, { team: 'a', free: '1', more: '1' }],
    ['one key of several', { team: 'forbidden', free: '2', more: '2' }, { team: 'a', free: '2', more: '2' }],
  ])('is told of %s, and gets the others', async (_, edited, wanted) => {
    const world = new FakeWorld();
    putPair(world, 'web', '10.0.0.1', { annotations: { team: 'a', free: '1', more: '1' } });
    const writer = world.virtual.writer();
    let asked = 0;
    await world.run({
      virtualWriter: {
        ...writer,
        patch: async (ref, place, mergePatch, isWanted) => {
          const { annotations = {} } = (mergePatch as { metadata: KubeObject['metadata'] }).metadata;
          if (annotations['team'] !== 'forbidden') return writer.patch(ref, place, mergePatch, isWanted);
          asked++;
          return { kind: 'refused', status: 422, reason: 'Invalid', message: 'a policy denies team "forbidden"' };
        },
      },
    });
    await world.change(() =>
      edit(world.host, world.copy('web'), (draft) => {
        draft.metadata.annotations = { ...draft.metadata.annotations, ...edited };
      }),
    );
    const virtual = () => world.virtual.get('endpoints', 'default', 'web');
    expect(virtual()?.metadata.annotations).toEqual(wanted);
    expect(world.copy('web')?.metadata.annotations).toMatchObject(edited);
    expect(world.eventReasons()).toEqual(['BackflowFailed']);
    expect(world.sync.ledger.entry('default/web')?.outcome).toMatchObject({
      kind: 'refused',
      isBackFlow: true,
      message: `the host's change of annotation "team" stays on the host: the virtual API server rejected the write`,
    });
    expect(asked).toBeLessThanOrEqual(2);
    // What flows forward goes on.
    await world.change(() => putPair(world, 'web', '10.0.0.9', { annotations: wanted }));
    expect(ipOf(world.copy('web'))).toBe('10.0.0.9');
    await world.stop();
  });
});

describe('a host that forbids or rejects a write', () => {
  const forbids: Answer = { kind: 'forbidden', message: 'no', namespaceTerminating: false };
  const rejects: Answer = { kind: 'refused', status: 422, reason: 'Invalid', message: 'change freeze until Monday' };

  async function forbidden(no = forbids): Promise<{ world: FakeWorld; tries: number[]; allow(): void }> {
    const world = new FakeWorld();
    putPair(world, 'web');
    let isForbidden = true;
    const tries: number[] = [];
    const writer = world.host.writer();
    await world.run({
      hostWriter: {
        ...writer,
        create: (ref, object) => {
          tries.push(world.clock.now());
          return isForbidden ? Promise.resolve(no) : writer.create(ref, object);
        },
      },
    });
    const allow = (): void => {
      isForbidden = false;
    };
    return { world, tries, allow };
  }

  it('is tried again soon, because a server that has just started forbids everything for a moment', async () => {
    const { world, allow } = await forbidden();
    expect(world.copy('web')).toBeUndefined();
    allow();
    await world.clock.advance(1_000);
    await world.quiet();
    expect(world.copy('web')).toBeDefined();
    await world.stop();
  });

  it('is tried once a minute in the long run', async () => {
    const { world, tries } = await forbidden();
    for (let second = 0; second < 600; second++) {
      await world.clock.advance(1_000);
      await world.quiet();
    }
    expect(tries.length).toBeGreaterThan(10);
    expect(tries.length).toBeLessThan(16);
    expect(world.sync.ledger.entry('default/web')?.outcome).toMatchObject({ kind: 'refused', reason: 'Forbidden' });
    await world.stop();
  });

  it('is tried again after a rejection, because a policy of the host may end, with pauses up to ten minutes', async () => {
    const { world, tries, allow } = await forbidden(rejects);
    const pass = async (seconds: number): Promise<void> => {
      for (let left = seconds; left > 0; left -= 10) {
        await world.clock.advance(10_000);
        await world.quiet();
      }
    };
    await pass(2000);
    const seconds = tries.map((atMs) => Math.round((atMs - (tries[0] as number)) / 1000));
    expect(seconds.slice(0, 7)).toEqual([0, 10, 20, 40, 80, 160, 320]);
    // The full look of every ten minutes comes in between.
    expect(seconds.length).toBeLessThan(15);
    expect(world.sync.ledger.entry('default/web')?.outcome).toMatchObject({ kind: 'refused', reason: 'HostRefused' });
    allow();
    await pass(600);
    expect(world.copy('web')).toBeDefined();
    await world.stop();
  });
});
