import { afterEach, describe, expect, it } from 'vitest';
import { endpointsKind } from '../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { projectHostEndpoints, projectVirtualEndpoints } from '../../../src/sync/kinds/endpoints/items.ts';
import { createRules } from '../../../src/sync/loop/pass/rules.ts';
import type { OpenedPatcher } from '../../../src/sync/patch/run/open-patcher.ts';
import { draftHost } from '../../../src/sync/plan/draft.ts';
import { defaultSettings } from '../fake-sync.ts';
import { entry, openTestPatcher } from './fake-patch.ts';

let opened: OpenedPatcher | undefined;
afterEach(() => opened?.stop());

const virtual = projectVirtualEndpoints({
  metadata: { name: 'web', namespace: 'default', uid: 'u-1', labels: { team: 'a' } },
  subsets: [{ addresses: [{ ip: '10.0.0.1' }] }],
});
const place = { namespace: 'vcluster-vc', name: 'web-x-default-x-vc' };
const hostWith = (labels: Record<string, string>) =>
  projectHostEndpoints({ metadata: { ...place, uid: 'h-1', resourceVersion: '5', labels } });

/** Two looks at one draft, the second with a host that somebody has edited. */
async function twoLooks(fields: Parameters<typeof entry>[0], host: Record<string, string>) {
  opened = openTestPatcher([entry(fields)]);
  const { patcher, counts } = opened;
  await opened.start();
  const { translation } = createRules(endpointsKind, defaultSettings, { patcher });
  const draft = draftHost(virtual, place, translation);
  const first = await patcher.forward({ virtual, host: undefined, draft, translation });
  const second = await patcher.forward({ virtual, host: hostWith(host), draft, translation });
  return { first, second, values: counts.totals()[0]?.values, draft };
}

describe('a second look at one draft', () => {
  it('gives the same result, and leaves the draft alone', async () => {
    const { first, second, draft } = await twoLooks(
      { path: 'metadata.labels["team"]', expression: 'value + "-x"' },
      {},
    );
    for (const look of [first, second])
      expect(look.kind === 'patched' && [...look.draft.labels]).toEqual([['team', 'a-x']]);
    expect([...draft.labels]).toEqual([['team', 'a']]);
  });

  it('leaves the addresses of the draft alone', async () => {
    const expression = 'value.replace("10.0.0.", "172.20.0.")';
    const { first, second, draft } = await twoLooks({ path: 'subsets[*].addresses[*].ip', expression }, {});
    const addressesOf = (payload: typeof draft.payload) => endpointsKind.addressesOf(payload);
    for (const look of [first, second])
      expect(look.kind === 'patched' && addressesOf(look.draft.payload)).toEqual(['172.20.0.1']);
    expect(addressesOf(draft.payload)).toEqual(['10.0.0.1']);
  });

  it('still sees which labels of the host copy a patch owns', async () => {
    const { first, second } = await twoLooks(
      { path: 'metadata.labels[*]', expression: 'value + "-x"' },
      { other: 'h' },
    );
    const touched = [first, second].map(
      (look) =>
        look.kind === 'patched' && ['team', 'other', 'x'].filter((key) => look.draft.patchesOf?.('labels', key)),
    );
    expect(touched).toEqual([['team'], ['team', 'other']]);
  });

  it('asks again when an expression reads the host object, which the write has changed', async () => {
    const expression = 'value + "-" + (context.hostObject?.metadata.labels?.seen ?? "no")';
    const { second, values } = await twoLooks({ path: 'metadata.labels["team"]', expression }, { seen: 'yes' });
    expect(values).toBe(2);
    expect(second.kind === 'patched' && [...second.draft.labels]).toEqual([['team', 'a-yes']]);
  });

  it('tries a failed patch again', async () => {
    const expression = '(() => { throw new Error("no") })()';
    for (const onError of ['skip', 'keepLast', 'fail'] as const) {
      const { values } = await twoLooks({ path: 'metadata.labels["team"]', expression, onError }, {});
      expect(values).toBe(2);
      await opened?.stop();
    }
  });
});
