import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/object/text/json.ts';
import { markerLabel } from '../../../src/sync/plan/keys/reserved-keys.ts';
import { attentionOf } from '../../../src/sync/report/attention/attention.ts';
import { syncStatus, verdictFacts } from '../../../src/sync/report/status.ts';
import type { StatusJson } from '../../../src/sync/report/words.ts';
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

  it('and takes our marker away is named by the answers to our own writes, with what to do', async () => {
    const world = new FakeWorld();
    putPair(world, 'web');
    const writer = world.host.writer();
    const strip = <T extends { metadata: object }>(body: T): T => {
      const { [markerLabel]: _, ...labels } = (body.metadata as { labels?: Record<string, string> }).labels ?? {};
      return { ...body, metadata: { ...body.metadata, labels } };
    };
    const create: typeof writer.create = (ref, object) => writer.create(ref, strip(object));
    const patch: typeof writer.patch = (ref, place, body) => writer.patch(ref, place, strip(body as never));
    await world.run({ hostWriter: { ...writer, create, patch } });
    await world.clock.advance(5_000);
    await world.quiet();
    const lost = `label ${markerLabel}`;
    const says = `the answer to our own write already lacks the ${lost}: an admission webhook or policy of the host changes what is written`;
    const status = syncStatus(world.sync);
    expect(status.contested).toMatchObject([{ by: 'an admission webhook or policy of the host', lost }]);
    expect(status.trouble).toMatchObject([{ state: 'waiting/Contested', message: says }]);
    const [item] = attentionOf({ ...status } as unknown as StatusJson);
    expect(item?.message).toBe(says);
    expect(item?.remedy).toContain(`let that webhook or policy leave the ${lost} alone`);
    expect(item?.command).toContain('get mutatingadmissionpolicies');
    expect(verdictFacts(world.sync).blocked).toEqual(new Map([['Altered', 1]]));
    await world.stop();
  });
});
