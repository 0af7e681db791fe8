// After a change of mappings, old copies occupy the places of other keys. Each waiting key gets its place, without busy loops.
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { markerLabel } from '../../../src/sync/plan/keys/reserved-keys.ts';
import { settle } from '../../virtual-clock.ts';
import { edit, FakeWorld, ipOf, putPair } from '../fake-sync.ts';

const mapping = (places: Record<string, string>) => ({
  mappingsOnly: true,
  hostNamespaceOf: (namespace: string) => places[namespace],
});

function restore(world: FakeWorld, copies: readonly KubeObject[]): void {
  for (const copy of copies) {
    const { resourceVersion: _, uid: __, ...metadata } = copy.metadata;
    world.host.put('endpoints', { ...copy, metadata });
  }
}

const hostCopies = (world: FakeWorld) =>
  world.host.list('endpoints').map((copy) => `${copy.metadata.namespace} ${ipOf(copy)}`);

/** Counts the passes from now on. */
function countPasses(world: FakeWorld): { count: number } {
  const passes = { count: 0 };
  const { queue } = world.sync;
  const looking = queue.looking.bind(queue);
  queue.looking = (key) => {
    passes.count++;
    looking(key);
  };
  return passes;
}

describe('a copy at a place that now belongs to another key', () => {
  it.each([
    ['the watch', false],
    ['an answer', true],
  ])('is removed when %s reveals it first', async (_, isHeld) => {
    const world = new FakeWorld({ mapping: mapping({ a: 'h-b', b: 'h-c' }) });
    putPair(world, 'web', '10.0.0.1', { namespace: 'a' });
    await world.run();
    const copies = structuredClone(world.host.list('endpoints'));
    await world.stop();
    world.options.mapping = mapping({ a: 'h-a', b: 'h-b' });
    await world.run();
    expect(hostCopies(world)).toEqual(['h-a 10.0.0.1']);
    world.windows.host.isHeld = isHeld;
    await world.change(() => {
      restore(world, copies);
      putPair(world, 'web', '10.0.0.2', { namespace: 'b' });
    });
    world.windows.host.isHeld = false;
    await world.change(() => world.windows.host.deliver());
    expect(hostCopies(world)).toEqual(['h-a 10.0.0.1', 'h-b 10.0.0.2']);
    await world.stop();
  });

  it('is removed when two keys occupy the places of each other and answers reveal both copies', async () => {
    const world = new FakeWorld({ mapping: mapping({ a: 'h-b', b: 'h-a' }) });
    const putBoth = (ip: string): void => {
      for (const namespace of ['a', 'b']) putPair(world, 'web', ip, { namespace });
    };
    putBoth('10.0.0.1');
    await world.run();
    const copies = structuredClone(world.host.list('endpoints'));
    for (const namespace of ['a', 'b']) world.virtual.remove('endpoints', namespace, 'web');
    await world.quiet();
    await world.stop();
    world.options.mapping = mapping({ a: 'h-a', b: 'h-b' });
    await world.run();
    const passes = countPasses(world);
    world.windows.host.isHeld = true;
    await world.change(() => {
      restore(world, copies);
      putBoth('10.0.0.2');
    });
    world.windows.host.isHeld = false;
    await world.change(() => world.windows.host.deliver());
    expect(hostCopies(world).sort()).toEqual(['h-a 10.0.0.2', 'h-b 10.0.0.2']);
    expect(passes.count).toBeLessThan(50);
    await world.stop();
  });

  it('stays when it has lost its marker, and the other key is refused without a busy loop', async () => {
    const world = new FakeWorld({ mapping: mapping({ a: 'h-a', b: 'h-b' }) });
    putPair(world, 'web', '10.0.0.1', { namespace: 'a' });
    putPair(world, 'web', '10.0.0.2', { namespace: 'b' });
    await world.run();
    await world.stop();
    for (const copy of world.host.list('endpoints'))
      edit(world.host, copy, (draft) => delete draft.metadata.labels?.[markerLabel]);
    world.options.mapping = mapping({ a: 'h-b', b: 'h-a' });
    void world.run();
    await settle(3);
    const passes = countPasses(world);
    await settle(1000);
    expect(world.sync.queue.isIdle).toBe(true);
    expect(passes.count).toBeLessThan(50);
    expect(world.sync.ledger.entry('a/web')?.outcome).toMatchObject({ reason: 'NotOwned' });
    expect(hostCopies(world)).toEqual(['h-a 10.0.0.1', 'h-b 10.0.0.2']);
    await world.stop();
  });
});

describe('a copy whose object-name was changed by hand, where namespaces are mapped', () => {
  const objectName = 'vcluster.loft.sh/object-name';

  it.each([
    ['to a name that no virtual object has', false],
    ['to the name of another virtual object', true],
  ])('stays, %s, and is repaired with the annotation', async (_, hasOther) => {
    const world = new FakeWorld({ mapping: mapping({ a: 'h-a' }) });
    putPair(world, 'web', '10.0.0.1', { namespace: 'a' });
    if (hasOther) putPair(world, 'api', '10.0.0.2', { namespace: 'a' });
    await world.run();
    const copy = () => world.host.get('endpoints', 'h-a', 'web');
    const { uid } = copy()?.metadata ?? {};
    const rename = (name: string) => () =>
      edit(world.host, copy(), (d) => {
        (d.metadata.annotations as Record<string, string>)[objectName] = name;
      });
    world.host.writes.length = 0;
    await world.change(rename('api'));
    await world.change(() => putPair(world, 'web', '10.0.0.3', { namespace: 'a' }));
    if (hasOther) await world.change(() => putPair(world, 'api', '10.0.0.4', { namespace: 'a' }));
    expect(copy()?.metadata.uid).toBe(uid);
    expect(world.host.writes).toEqual(hasOther ? ['patch endpoints api'] : []);
    expect(world.sync.ledger.entry('a/web')?.outcome).toMatchObject({ kind: 'refused', reason: 'NotOwned' });
    await world.change(rename('web'));
    expect([ipOf(copy()), copy()?.metadata.uid]).toEqual(['10.0.0.3', uid]);
    await world.stop();
  });
});
