import { afterEach, describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/metrics.ts';
import { endpointsKind } from '../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { projectVirtualEndpoints } from '../../../src/sync/kinds/endpoints/items.ts';
import { createRules } from '../../../src/sync/loop/pass/rules.ts';
import type { OpenedPatcher } from '../../../src/sync/patch/run/open-patcher.ts';
import { createPatchCounts } from '../../../src/sync/patch/set/patch-metrics.ts';
import { draftHost } from '../../../src/sync/plan/draft.ts';
import { defaultSettings } from '../fake-sync.ts';
import { entry, openTestPatcher } from './fake-patch.ts';

let opened: OpenedPatcher | undefined;
afterEach(() => opened?.stop());

const virtual = projectVirtualEndpoints({
  metadata: { name: 'web', namespace: 'default', uid: 'u-1', annotations: { one: 'release=a', two: 'app' } },
  subsets: [{ addresses: [{ ip: '10.0.0.1' }] }],
});

describe('the counts of a patch', () => {
  it.each([
    ['an expression', { expression: 'value.replace("release", "x")' }],
    ['a labels patch', { labels: {} }],
  ])('say of %s how many values it was applied to, and how many it changed', async (_, fields) => {
    opened = openTestPatcher([entry({ path: 'metadata.annotations[*]', ...fields })]);
    const { patcher, counts } = opened;
    await opened.start();
    const { translation } = createRules(endpointsKind, defaultSettings, { patcher });
    const draft = draftHost(virtual, { namespace: 'vcluster-vc', name: 'web-x-default-x-vc' }, translation);
    const patched = await patcher.forward({ virtual, host: undefined, draft, translation });
    expect(patched.kind).toBe('patched');
    expect(counts.totals()).toEqual([{ patch: 0, values: 2, changes: 1, failures: 0 }]);
  });

  it('go on over a reload: counts of the old list that were not yet reported are reported once', async () => {
    const registry = createMetrics();
    const told = async () =>
      (await registry.metrics()).split('\n').filter((line) => line.startsWith('hostward_patch_values_total'));
    const before = createPatchCounts(registry, [0, 1]);
    before.evaluated(0, 5);
    const after = createPatchCounts(registry, [0, 2]);
    after.evaluated(0, 1);
    before.evaluated(1, 4);
    const lines = [
      [0, 6],
      [1, 4],
      [2, 0],
    ].map(([patch, sum]) => `hostward_patch_values_total{patch="${patch}"} ${sum}`);
    expect([await told(), await told()]).toEqual([lines, lines]);
    expect(after.totals().map(({ values }) => values)).toEqual([1, 0]);
  });
});
