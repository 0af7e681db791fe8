import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/object/text/json.ts';
import { FakeWorld, ipOf, putPair } from '../fake-sync.ts';

describe('a webhook of the host that changes our writes', () => {
  /** `over.now` is the webhook: it changes the metadata of a patch. */
  const begin = async (over: { now: (metadata: JsonObject) => JsonObject }): Promise<FakeWorld> => {
    const world = new FakeWorld();
    putPair(world, 'web', '10.0.0.1', { labels: { one: 'a' } });
    const writer = world.host.writer();
    const patch: typeof writer.patch = (ref, place, body) => {
      const { metadata, ...rest } = body as { metadata: JsonObject };
      return writer.patch(ref, place, { ...rest, metadata: over.now(metadata) });
    };
    return world.run({ hostWriter: { ...writer, patch } });
  };
  const put = (world: FakeWorld, last: number, one: string) =>
    world.change(() => putPair(world, 'web', `10.0.0.${last}`, { labels: { one } }));

  it('is noticed after a write of addresses only', async () => {
    const over = { now: (metadata: JsonObject) => metadata };
    const world = await begin(over);
    for (const last of [2, 3]) await put(world, last, 'a');
    over.now = (metadata) => ({ ...metadata, labels: { one: 'hook' } });
    await put(world, 4, 'a');
    expect(world.virtual.get('endpoints', 'default', 'web')?.metadata.labels).toEqual({ one: 'hook' });
    await world.stop();
  });

  it('is noticed when it drops the labels of the write', async () => {
    const over = { now: (metadata: JsonObject) => metadata };
    const world = await begin(over);
    for (const last of [2, 3]) await put(world, last, 'a');
    over.now = ({ uid, resourceVersion }) => ({ uid, resourceVersion }) as JsonObject;
    await put(world, 4, 'b');
    expect(ipOf(world.copy('web'))).toBe('10.0.0.4');
    expect(world.sync.ledger.entry('default/web')?.outcome).toMatchObject({ kind: 'waiting', reason: 'Contested' });
    await world.stop();
  });
});
