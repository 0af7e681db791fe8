// The daemon dies before or after every write of a mixed workload (F1 to F4 and F6 of the fault list). The end must be the same
// as without a crash, with hardly an additional write, and no object may be lost or resurrected.
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { baseKey, objectKeys } from '../../../src/sync/plan/keys/reserved-keys.ts';
import { edit, endpoints, type FakeOptions, FakeWorld, putPair, service } from '../fake-sync.ts';
import { bury, Fuse, live, type Moment } from '../fuse.ts';

type Step = [says: string, act: (world: FakeWorld) => void];

const older = { namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z' };
const younger = { namespace: 'default-x-default', creationTimestamp: '2026-01-02T00:00:00Z' };

function editTenants(world: FakeWorld, name: string, change: (draft: KubeObject) => void): void {
  edit(world.virtual, world.virtual.get('endpoints', 'default', name), change);
}

/** Edits the host copy. It does not wait for a missing copy, because a crash may have prevented the copy. */
function editCopy(world: FakeWorld, name: string, change: (draft: KubeObject) => void): void {
  const copy = world.copy(name);
  if (copy !== undefined) edit(world.host, copy, change);
}

const workload: Step[] = [
  ['create', (w) => putPair(w, 'web', '10.0.0.1', { labels: { app: 'x', release: 'r' }, annotations: { a: '1' } })],
  ['update', (w) => editTenants(w, 'web', (d) => Object.assign(d, { subsets: endpoints('', '10.0.0.2')['subsets'] }))],
  ['back-flow', (w) => editCopy(w, 'web', (d) => Object.assign(d.metadata.labels as object, { app: 'h', own: 'h' }))],
  [
    'both sides change',
    (w) => {
      editTenants(w, 'web', (d) => Object.assign(d.metadata.labels as object, { app: 'v' }));
      editCopy(w, 'web', (d) => Object.assign(d.metadata.annotations as object, { a: 'h', b: 'h' }));
    },
  ],
  [
    'takeover of a native object',
    (w) => {
      const metadata = { name: 'db-x-default-x-vc', namespace: 'vcluster-vc', labels: { own: '1' } };
      w.host.put('endpoints', { ...endpoints('', '192.168.0.9'), metadata });
      putPair(w, 'db', '10.0.1.1', { labels: { app: 'db' } });
    },
  ],
  [
    'recreated with a new uid',
    (w) => {
      w.virtual.remove('endpoints', 'default', 'web');
      w.virtual.put('endpoints', endpoints('web', '10.0.0.3', { labels: { fresh: '1' } }));
    },
  ],
  ['the copy vanishes', (w) => w.host.remove('endpoints', 'vcluster-vc', 'web-x-default-x-vc')],
  [
    'two names meet',
    (w) => {
      putPair(w, 'api', '10.2.2.2', younger);
      putPair(w, 'api-x-default', '10.1.1.1', older);
    },
  ],
  ['the holder goes', (w) => w.virtual.remove('endpoints', 'default', 'api-x-default')],
  [
    'the Service gains a selector',
    (w) => w.virtual.put('services', service('db', 'default', { selector: { a: 'b' } })),
  ],
  ['the Service loses the selector', (w) => w.virtual.put('services', service('db'))],
  [
    'a refused address',
    (w) => editTenants(w, 'db', (d) => Object.assign(d, { subsets: endpoints('', '127.0.0.1')['subsets'] })),
  ],
  ['delete', (w) => w.virtual.remove('endpoints', 'default', 'web')],
];

const moved: Step[] = [
  ['create', (w) => putPair(w, 'web', '10.0.0.1', { labels: { app: 'x' } })],
  ['update', (w) => editTenants(w, 'web', (d) => Object.assign(d, { subsets: endpoints('', '10.0.0.2')['subsets'] }))],
  [
    'the mapping changes',
    (w) => {
      w.options = { mapping: mappingTo('h-new') };
    },
  ],
];

function mappingTo(hostNamespace: string): NonNullable<FakeOptions['mapping']> {
  return { mappingsOnly: true, hostNamespaceOf: (namespace) => (namespace === 'default' ? hostNamespace : undefined) };
}

const scenes: { name: string; steps: Step[]; options: FakeOptions }[] = [
  { name: 'a mixed workload', steps: workload, options: {} },
  { name: 'a mapping that changes', steps: moved, options: { mapping: mappingTo('h-old') } },
];

/** The relevant state at the end. Uids differ between runs, so they are replaced by whether they are right. */
function ending(world: FakeWorld): unknown {
  const strip = ({ metadata, ...rest }: KubeObject) => {
    const { uid: _uid, resourceVersion: _rv, annotations = {}, ...kept } = metadata;
    const { [baseKey]: base, [objectKeys.uid]: uid, ...others } = annotations;
    const key = `${annotations[objectKeys.namespace]}/${annotations[objectKeys.name]}`;
    const means = world.virtual
      .list('endpoints')
      .find((one) => `${one.metadata.namespace}/${one.metadata.name}` === key);
    return {
      ...rest,
      metadata: { ...kept, annotations: others },
      hasBase: base !== undefined,
      isOf: uid === means?.metadata.uid,
    };
  };
  return { virtual: world.virtual.list('endpoints').map(strip), host: world.host.list('endpoints').map(strip) };
}

async function play(
  scene: (typeof scenes)[number],
  blows: (nth: number) => Moment | undefined,
): Promise<{ world: FakeWorld; fuse: Fuse; lives: number }> {
  const world = new FakeWorld(scene.options);
  const fuse = new Fuse(blows);
  let lives = 1;
  const untilWell = async (): Promise<void> => {
    while (fuse.isBlown) {
      if (++lives > 200) throw new Error('no progress');
      await bury(world);
      await live(world, fuse);
    }
  };
  await live(world, fuse);
  for (const [, act] of scene.steps) {
    const before = world.options;
    await world.change(() => act(world));
    if (world.options !== before) {
      // A daemon cannot change its mapping while it runs, so it is restarted.
      await bury(world);
      await live(world, fuse);
    }
    await untilWell();
    await world.clock.advance(2000);
    await world.quiet();
    await untilWell();
  }
  return { world, fuse, lives };
}

describe.each(scenes)('$name', (scene) => {
  it('ends in the same state with the same writes when the daemon dies before or after any one write', async () => {
    const calm = await play(scene, () => undefined);
    const wanted = ending(calm.world);
    const total = calm.fuse.written.length;
    expect(total).toBeGreaterThan(scene.steps.length - 1);
    for (let nth = 1; nth <= total; nth++) {
      for (const moment of ['before', 'after'] as const) {
        const { world, fuse } = await play(scene, (n) => (n === nth ? moment : undefined));
        const where = `died ${moment} write ${nth}: ${calm.fuse.written[nth - 1]}`;
        expect(ending(world), where).toEqual(wanted);
        const sent = fuse.written.filter((one) => one !== '');
        expect(sent.toSorted(), where).toEqual(calm.fuse.written.toSorted());
        await world.stop();
      }
    }
    await calm.world.stop();
  });

  it('makes progress when it dies at every k-th write', async () => {
    const calm = await play(scene, () => undefined);
    const wanted = ending(calm.world);
    await calm.world.stop();
    for (let k = 1; k <= 6; k++) {
      for (const moment of ['before', 'after'] as const) {
        // A daemon that dies before every first write cannot make progress.
        if (k === 1 && moment === 'before') continue;
        const { world, fuse } = await play(scene, (n) => (n % k === 0 ? moment : undefined));
        expect(ending(world), `every ${k}, ${moment}`).toEqual(wanted);
        expect(fuse.written.filter((one) => one !== '').length).toBeLessThanOrEqual(calm.fuse.written.length + 1);
        await world.stop();
      }
    }
  });

  it('writes nothing after the last restart', async () => {
    const { world } = await play(scene, (n) => (n === 4 ? 'after' : undefined));
    await world.stop();
    world.host.writes.length = 0;
    world.virtual.writes.length = 0;
    await world.run();
    await world.clock.advance(3_600_000);
    const written = [...world.host.writes, ...world.virtual.writes].filter((one) => !one.includes('events'));
    expect(written).toEqual([]);
    await world.stop();
  });
});
