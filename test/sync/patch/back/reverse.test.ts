import { afterEach, describe, expect, it } from 'vitest';
import { endpointsKind } from '../../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { projectHostEndpoints, projectVirtualEndpoints } from '../../../../src/sync/kinds/endpoints/items.ts';
import { createRules } from '../../../../src/sync/loop/pass/rules.ts';
import type { OpenedPatcher } from '../../../../src/sync/patch/run/open-patcher.ts';
import { defaultSettings } from '../../fake-sync.ts';
import { entry, openTestPatcher } from '../fake-patch.ts';

let opened: OpenedPatcher | undefined;
afterEach(() => opened?.stop());

const virtual = projectVirtualEndpoints({
  metadata: { name: 'web', namespace: 'default', uid: 'u-1', labels: { team: 'a' } },
  subsets: [{ addresses: [{ ip: '10.0.0.1' }] }],
});
const host = projectHostEndpoints({
  metadata: { namespace: 'vcluster-vc', name: 'web-x-default-x-vc', uid: 'h-1', labels: { team: 'b' } },
});

async function labelsBack(
  path: string,
  reverseExpression: string,
  { key = 'team', onError = 'fail' }: { key?: string; onError?: 'fail' | 'skip' } = {},
) {
  opened = openTestPatcher([entry({ path, reverseExpression, onError })]);
  const { patcher } = opened;
  await opened.start();
  const { translation } = createRules(endpointsKind, defaultSettings, { patcher });
  const raw = { labels: new Map([[key, 'b']]), annotations: new Map() };
  const back = await patcher.back({ virtual, host, translation, raw });
  const [failure] = back.failures.labels.values();
  return failure?.message ?? [...back.values.labels];
}

describe('reverse expressions of a whole map', () => {
  it.each(['null', 'undefined', '(() => null)()', '({})'])(
    'remove its changed keys when they return %s',
    async (expression) => {
      expect(await labelsBack('metadata.labels', expression)).toEqual([['team', null]]);
    },
  );

  it.each(['value.team', '"x"', '7', 'true', '[value.team]'])('fail when they return %s', async (expression) => {
    expect(await labelsBack('metadata.labels', expression)).toBe(
      'reverse expressions must give a string for metadata.labels["team"]',
    );
  });

  it('find a key in the result only where it is an own property', async () => {
    expect(await labelsBack('metadata.labels', '({ team: "x" })', { key: 'constructor' })).toEqual([
      ['constructor', null],
    ]);
    await opened?.stop();
    expect(await labelsBack('metadata.labels', '({ team: "x" })')).toEqual([['team', 'x']]);
  });

  it.each(['', 'metadata'])(
    'remove the changed keys when they remove the metadata, with the path "%s"',
    async (path) => {
      const expression = path === '' ? '({ metadata: null })' : 'null';
      expect(await labelsBack(path, expression)).toEqual([['team', null]]);
    },
  );
});

describe('a reverse expression that fails', () => {
  const thrown = '(() => { throw new Error("no") })()';

  describe.each(['fail', 'skip'] as const)('with onError: %s', (onError) => {
    it.each(['metadata.labels', 'metadata.labels.team', 'metadata[*]', '[*]', ''])(
      'keeps the host value from the tenant where its path "%s" leads to the key',
      async (path) => {
        expect(await labelsBack(path, thrown, { onError })).toContain('patch 0 failed');
      },
    );

    it.each(['subsets', 'subsets[0].addresses[0].ip', 'metadata.annotations', 'metadata.annotations[*]', '*.*.other'])(
      'holds nothing else back: "%s"',
      async (path) => {
        expect(await labelsBack(path, thrown, { onError })).toEqual([['team', 'b']]);
      },
    );
  });
});
