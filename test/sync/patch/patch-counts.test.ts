import { afterEach, describe, expect, it } from 'vitest';
import { draftHost } from '../../../src/sync/draft.ts';
import { projectVirtualEndpoints } from '../../../src/sync/endpoints/items.ts';
import type { OpenedPatcher } from '../../../src/sync/patch/open-patcher.ts';
import { createRules } from '../../../src/sync/rules.ts';
import { defaultSettings } from '../paper-sync.ts';
import { entry, openTestPatcher } from './paper-patch.ts';

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
    const { translation } = createRules(defaultSettings, undefined, patcher);
    const draft = draftHost(virtual, { namespace: 'vcluster-vc', name: 'web-x-default-x-vc' }, translation);
    const patched = await patcher.forward({ virtual, host: undefined, draft, translation });
    expect(patched.kind).toBe('patched');
    expect(counts.totals()).toEqual([{ patch: 0, values: 2, changes: 1, failures: 0 }]);
  });
});
