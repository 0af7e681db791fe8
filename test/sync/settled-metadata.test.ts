import { afterEach, describe, expect, it, vi } from 'vitest';
import type { PatchEntry } from '../../src/config/settings.ts';
import type { JsonObject } from '../../src/object/json.ts';
import type { OpenedPatcher } from '../../src/sync/patch/open-patcher.ts';
import { createRules } from '../../src/sync/rules.ts';
import { patchedObjectStatus } from '../../src/sync/status.ts';
import { markerLabel } from '../../src/sync/words.ts';
import { defaultSettings, edit, endpoints, ipOf, PaperWorld, putPair } from './paper-sync.ts';
import { entry } from './patch/paper-patch.ts';

const create = { onMissing: 'create' as const };

describe('a pass over metadata that are settled', () => {
  let world: PaperWorld;
  afterEach(() => {
    ip = simple;
    return world.stop();
  });

  const simple = entry({ path: 'subsets[*].addresses[*].ip', expression: 'value.replace("10.0.", "10.9.")' });
  let ip = simple;
  const open = async (...patches: PatchEntry[]) => {
    world = new PaperWorld({ patches: [ip, ...patches] });
    putPair(world, 'web', '10.0.0.1', { labels: { one: 'a' } });
    await world.run();
  };
  const move = (last: number) =>
    world.change(() => {
      edit(world.virtual, world.virtual.get('endpoints', 'default', 'web'), (draft) => {
        draft['subsets'] = endpoints('web', `10.0.0.${last}`)['subsets'];
      });
    });
  const valuesOf = (patch: number) => world.patches?.counts.totals()[patch]?.values;

  it.each([
    ['where they stand', simple],
    [
      'in the sandbox',
      entry({ path: simple.path, expression: 'value.split(".").map((n, i) => i === 1 ? 9 : n).join(".")' }),
    ],
  ])('runs the patches of its payload only, %s, until something else has changed', async (_, moved) => {
    ip = moved;
    await open(entry({ path: 'metadata.labels.one', expression: 'value + "-p"' }));
    await move(2);
    const before = valuesOf(1);
    for (const last of [3, 4, 5]) {
      await move(last);
      expect(ipOf(world.copy('web'))).toBe(`10.9.0.${last}`);
    }
    expect([valuesOf(0), valuesOf(1)]).toEqual([5, before]);
    // As when this process becomes the leader.
    await world.change(() => world.sync.enqueueAll());
    expect([valuesOf(0), valuesOf(1)]).toEqual([6, (before ?? 0) + 1]);
    await world.change(() => {
      edit(world.virtual, world.virtual.get('endpoints', 'default', 'web'), (draft) => {
        draft.metadata.labels = { one: 'b' };
      });
    });
    expect(world.copy('web')?.metadata.labels?.['one']).toBe('b-p');
    await world.change(() => {
      edit(world.host, world.copy('web'), (draft) => {
        draft.metadata.labels = { ...draft.metadata.labels, one: 'edited' };
      });
    });
    expect(world.copy('web')?.metadata.labels?.['one']).toBe('b-p');
  });

  it.each([
    ['the payload', 'metadata.labels["ip"]', 'context.virtualObject.subsets', 4],
    [
      'the whole of the context',
      'metadata.labels["ip"]',
      'JSON.parse(JSON.stringify(context)).virtualObject.subsets',
      4,
    ],
    [
      'the host copy, as it was before',
      'metadata.labels["ip"]',
      '(context.hostObject ?? context.virtualObject).subsets',
      5,
    ],
    ['the whole object', '', 'value.subsets', 4],
  ])('runs all of them where a label is made of %s', async (_, path, subsets, seenAt) => {
    const made = `(${subsets}[0].addresses[0].ip.endsWith("4") ? "four" : "few")`;
    const whole = `({ ...value, metadata: { ...value.metadata, labels: { ip: ${made} } } })`;
    await open(entry({ path, expression: path === '' ? whole : made, ...create }));
    const label = () => world.copy('web')?.metadata.labels?.['ip'];
    // The label stays as it is while the addresses change, and then it does not.
    for (const last of [2, 3]) await move(last);
    expect(label()).toBe('few');
    for (let last = 4; last <= seenAt; last++) await move(last);
    expect(label()).toBe('four');
  });

  it('still tells of a patch that failed, where its policy lets that pass', async () => {
    await open(entry({ path: 'metadata.labels.one', expression: 'value.no.no', onError: 'skip' }));
    for (const last of [2, 3, 4]) await move(last);
    expect(world.sync.ledger.entry('default/web')).toBeUndefined();
    const status = await patchedObjectStatus(world.sync, 'default/web');
    expect(status?.patchFailure?.message).toMatch(/the value is left as it is/);
    const failures = world.patches?.counts.totals()[1]?.failures;
    await move(5);
    expect(world.patches?.counts.totals()[1]?.failures).toBe((failures ?? 0) + 1);
  });

  it('keeps its patches where a path that begins with a wildcard leads there too', async () => {
    ip = entry({ path: '*[*].addresses[*].ip', expression: 'value.replace("10.0.", "10.9.")' });
    await open();
    for (const last of [2, 3, 4]) {
      await move(last);
      expect(ipOf(world.copy('web'))).toBe(`10.9.0.${last}`);
    }
  });

  it('still fails where a reverse expression of what cannot go back fails', async () => {
    const reverseExpression = 'context.hostObject.subsets[0].addresses[0].ip.endsWith("3") ? value.no.no : value';
    await open(
      entry({ path: 'metadata.labels', expression: '"free" in value ? ({ ...value, free: "y" }) : value' }),
      entry({ path: 'metadata.labels', reverseExpression }),
    );
    await world.change(() =>
      edit(world.host, world.copy('web'), (draft) => {
        draft.metadata.labels = { ...draft.metadata.labels, free: 'h' };
      }),
    );
    for (const last of [2, 3, 4]) await move(last);
    expect(ipOf(world.copy('web'))).toBe('10.9.0.3');
    expect(world.sync.ledger.entry('default/web')?.outcome).toMatchObject({ kind: 'refused', reason: 'PatchFailed' });
  });

  it('is not left to rules that came while its patches ran', async () => {
    await open(entry({ path: 'metadata.labels.one', expression: 'value + "-p"' }));
    const { patcher } = world.patches as OpenedPatcher;
    const forward = patcher.forward.bind(patcher);
    const without = createRules(defaultSettings, undefined, undefined);
    vi.spyOn(patcher, 'forward').mockImplementationOnce(async (input) => {
      const patched = await forward(input);
      world.sync.setRules(without);
      return patched;
    });
    await move(2);
    expect(world.copy('web')).toMatchObject({ metadata: { labels: { one: 'a' } } });
    expect(ipOf(world.copy('web'))).toBe('10.0.0.2');
  });

  it('puts the same damage right each time', async () => {
    await open();
    for (const last of [2, 3]) await move(last);
    for (const _ of [1, 2, 3]) {
      await world.change(() =>
        edit(world.host, world.copy('web'), (draft) => delete draft.metadata.labels?.[markerLabel]),
      );
      await world.clock.advance(2_000);
      await world.quiet();
      expect(world.copy('web')?.metadata.labels?.[markerLabel]).toBe('vc');
    }
  });

  it('is told in whole by status, as if nothing were settled', async () => {
    await open(entry({ path: 'metadata.labels.one', expression: 'value + "-p"' }));
    for (const last of [2, 3]) await move(last);
    const status = await patchedObjectStatus(world.sync, 'default/web');
    expect(status?.keys).toEqual([{ map: 'labels', key: 'one', verdict: 'same' }]);
  });
});

describe('a webhook of the host that changes what is written', () => {
  /** `over`: what it makes of the metadata of a patch. */
  const begin = async (over: { now: (metadata: JsonObject) => JsonObject }): Promise<PaperWorld> => {
    const world = new PaperWorld();
    putPair(world, 'web', '10.0.0.1', { labels: { one: 'a' } });
    const writer = world.host.writer();
    const patch: typeof writer.patch = (ref, place, body) => {
      const { metadata, ...rest } = body as { metadata: JsonObject };
      return writer.patch(ref, place, { ...rest, metadata: over.now(metadata) });
    };
    return world.run({ hostWriter: { ...writer, patch } });
  };
  const put = (world: PaperWorld, last: number, one: string) =>
    world.change(() => putPair(world, 'web', `10.0.0.${last}`, { labels: { one } }));

  it('is noticed where only the payload was written', async () => {
    const over = { now: (metadata: JsonObject) => metadata };
    const world = await begin(over);
    for (const last of [2, 3]) await put(world, last, 'a');
    over.now = (metadata) => ({ ...metadata, labels: { one: 'hook' } });
    await put(world, 4, 'a');
    expect(world.virtual.get('endpoints', 'default', 'web')?.metadata.labels).toEqual({ one: 'hook' });
    await world.stop();
  });

  it('is noticed where it leaves the metadata as they were', async () => {
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
