// The daemon crashes before and after every write while references come and go: content must end as it does without a crash.
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { bury, Fuse, live, type Moment } from '../fuse.ts';
import { hostSecret, importable, ReferenceWorld, secret } from './fake-references.ts';

type Step = [says: string, act: (world: ReferenceWorld) => void];

function edit(
  server: ReferenceWorld['host'],
  object: KubeObject | undefined,
  change: (draft: KubeObject) => void,
): void {
  if (object === undefined) return;
  const draft = structuredClone(object);
  change(draft);
  server.put('secrets', draft);
}
const shared = (world: ReferenceWorld) => world.host.get('secrets', 'vcluster-vc', 'shared');
const put = (world: ReferenceWorld, object: KubeObject) => world.virtual.put('secrets', object);

const workload: Step[] = [
  ['a reference before its object', (w) => w.refer({ k: 'db' })],
  ['the object', (w) => put(w, secret('db'))],
  ['its new content', (w) => put(w, secret('db', 'djI='))],
  ['a host edit', (w) => edit(w.host, w.exported('db'), (draft) => Object.assign(draft, { data: { value: 'eA==' } }))],
  ['a second referrer', (w) => w.refer({ k: 'db' }, 'other')],
  ['the host offers one', (w) => w.host.put('secrets', hostSecret('shared'))],
  ['a reference to that', (w) => w.refer({ k: 'shared' })],
  ['the host changes it', (w) => edit(w.host, shared(w), (draft) => Object.assign(draft, { data: { value: 'bmV3' } }))],
  ['the tenant edits it', (w) => edit(w.virtual, w.imported('shared'), (draft) => Object.assign(draft, { data: {} }))],
  ['the label goes', (w) => edit(w.host, shared(w), (draft) => Object.assign(draft.metadata, { labels: {} }))],
  [
    'the label returns',
    (w) => edit(w.host, shared(w), (draft) => Object.assign(draft.metadata, { labels: importable })),
  ],
  ['a reference goes', (w) => w.virtual.remove('endpoints', 'default', 'web')],
  [
    'another type',
    (w) => {
      w.virtual.remove('secrets', 'default', 'db');
      put(w, { ...secret('db', 'djM='), type: 'kubernetes.io/basic-auth' });
    },
  ],
  ['the last reference goes', (w) => w.refer({}, 'other')],
];

function ending(world: ReferenceWorld): unknown {
  const strip = ({ metadata, ...rest }: KubeObject) => {
    const { uid: _uid, resourceVersion: _rv, annotations = {}, ...kept } = metadata;
    const { 'hostward.dev/base': _base, 'vcluster.loft.sh/object-uid': _of, ...others } = annotations;
    return { ...rest, metadata: { ...kept, annotations: others } };
  };
  return [world.virtual, world.host].flatMap((server) =>
    ['secrets', 'endpoints'].map((resource) => server.list(resource).map(strip)),
  );
}

async function play(
  blows: (nth: number) => Moment | undefined,
): Promise<{ world: ReferenceWorld; fuse: Fuse; seen: unknown[] }> {
  const world = new ReferenceWorld();
  const fuse = new Fuse(blows);
  const seen: unknown[] = [];
  const untilWell = async (): Promise<void> => {
    while (fuse.isBlown) {
      await bury(world);
      await live(world, fuse);
    }
  };
  await live(world, fuse);
  for (const [, act] of workload) {
    await world.change(() => act(world));
    await untilWell();
    await world.clock.advance(1200);
    await world.quiet();
    await untilWell();
    seen.push(ending(world));
  }
  return { world, fuse, seen };
}

describe('references through crashes', () => {
  it('end the same after every step when the daemon dies before or after any one of its writes', async () => {
    const calm = await play(() => undefined);
    const total = calm.fuse.written.length;
    expect(total).toBeGreaterThan(workload.length);
    expect(calm.world.contentWrites().length).toBeGreaterThan(10);
    for (let nth = 1; nth <= total; nth++) {
      for (const moment of ['before', 'after'] as const) {
        const { world, fuse, seen } = await play((n) => (n === nth ? moment : undefined));
        const where = `died ${moment} write ${nth}: ${calm.fuse.written[nth - 1]}`;
        for (const [at, [says]] of workload.entries())
          expect(seen[at], `${where}, after ${says}`).toEqual(calm.seen[at]);
        expect(fuse.written.filter((one) => one !== '').length, where).toBeLessThanOrEqual(total + 1);
        await world.stop();
      }
    }
    await calm.world.restart();
    expect(calm.fuse.written).toHaveLength(total);
    await calm.world.stop();
  });
});
