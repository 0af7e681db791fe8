import { afterEach, describe, expect, it, vi } from 'vitest';
import type { PatchEntry } from '../../../src/config/settings/settings.ts';
import { endpointsKind } from '../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { createRules } from '../../../src/sync/loop/pass/rules.ts';
import type { OpenedPatcher } from '../../../src/sync/patch/run/open-patcher.ts';
import { markerLabel } from '../../../src/sync/plan/keys/reserved-keys.ts';
import { patchedObjectStatus } from '../../../src/sync/report/object-status.ts';
import { defaultSettings, edit, endpoints, FakeWorld, ipOf, putPair } from '../fake-sync.ts';
import { entry } from '../patch/fake-patch.ts';

const create = { onMissing: 'create' as const };

describe('a pass after a change of addresses only', () => {
  let world: FakeWorld;
  afterEach(() => world.stop());

  const ip = entry({ path: 'subsets[*].addresses[*].ip', expression: 'value.replace("10.0.", "10.9.")' });
  const open = async (...patches: PatchEntry[]) => {
    world = new FakeWorld({ patches: [ip, ...patches] });
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

  it('runs the patches of labels as well as the patches of addresses', async () => {
    await open(entry({ path: 'metadata.labels.one', expression: 'value + "-p"' }));
    for (const last of [2, 3, 4]) {
      await move(last);
      expect(ipOf(world.copy('web'))).toBe(`10.9.0.${last}`);
      expect(world.copy('web')?.metadata.labels?.['one']).toBe('a-p');
    }
    expect([valuesOf(0), valuesOf(1)]).toEqual([4, 4]);
  });

  it.each([
    ['the payload', 'metadata.labels["ip"]', 'context.virtualObject.subsets', 4],
    ['the whole context', 'metadata.labels["ip"]', 'JSON.parse(JSON.stringify(context)).virtualObject.subsets', 4],
    ['the previous host copy', 'metadata.labels["ip"]', '(context.hostObject ?? context.virtualObject).subsets', 5],
    ['the whole object', '', 'value.subsets', 4],
  ])('runs all patches when a label depends on %s', async (_, path, subsets, seenAt) => {
    const made = `(${subsets}[0].addresses[0].ip.endsWith("4") ? "four" : "few")`;
    const whole = `({ ...value, metadata: { ...value.metadata, labels: { ip: ${made} } } })`;
    await open(entry({ path, expression: path === '' ? whole : made, ...create }));
    const label = () => world.copy('web')?.metadata.labels?.['ip'];
    // The label stays the same for two changes of the addresses, and then follows the third.
    for (const last of [2, 3]) await move(last);
    expect(label()).toBe('few');
    for (let last = 4; last <= seenAt; last++) await move(last);
    expect(label()).toBe('four');
  });

  it('reports every failure of a patch whose onError lets the object pass', async () => {
    await open(entry({ path: 'metadata.labels.one', expression: 'value.no.no', onError: 'skip' }));
    for (const last of [2, 3, 4]) await move(last);
    expect(world.sync.ledger.entry('default/web')).toBeUndefined();
    const status = await patchedObjectStatus(world.sync, 'default/web');
    expect(status?.patchFailure?.message).toMatch(/the value is left as it is/);
    const failures = world.patches?.counts.totals()[1]?.failures;
    await move(5);
    expect(world.patches?.counts.totals()[1]?.failures).toBe((failures ?? 0) + 1);
  });

  it('brings the addresses to the host although the reverse expression of a held-back key fails', async () => {
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
    expect(ipOf(world.copy('web'))).toBe('10.9.0.4');
    expect(world.sync.ledger.entry('default/web')?.outcome).toBeUndefined();
  });

  it('looks again when new rules arrive while its patches run', async () => {
    await open(entry({ path: 'metadata.labels.one', expression: 'value + "-p"' }));
    const { patcher } = world.patches as OpenedPatcher;
    const forward = patcher.forward.bind(patcher);
    const without = createRules(endpointsKind, defaultSettings);
    vi.spyOn(patcher, 'forward').mockImplementationOnce(async (input) => {
      const patched = await forward(input);
      world.sync.setRules(without);
      return patched;
    });
    await move(2);
    expect(world.copy('web')).toMatchObject({ metadata: { labels: { one: 'a' } } });
    expect(ipOf(world.copy('web'))).toBe('10.0.0.2');
  });

  it('repairs the same damage each time', async () => {
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
});
