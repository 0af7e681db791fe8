import { describe, expect, it } from 'vitest';
import { endpointsKind } from '../../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { translateLabels } from '../../../../src/sync/patch/entry/labels-patch.ts';
import { labelRules } from '../../../../src/sync/plan/keys/key-rules.ts';

const release = 'vcluster.loft.sh/label-my-vcluster-x-a4d451ec23';
const rules = labelRules({
  virtualCluster: 'my-vcluster',
  mode: 'single',
  backSync: 'all',
  exclude: { labels: [], annotations: [] },
  controllerKeyPrefixes: endpointsKind.controllerKeyPrefixes,
});
const translated = (value: unknown) =>
  translateLabels(value, { rules, virtualCluster: 'my-vcluster', virtualNamespace: 'shop' });

describe('a labels patch', () => {
  it('spells the keys of a map as the host does, and lets it select objects of this tenant only', () => {
    expect(translated({ app: 'web', release: 'r1' })).toEqual({
      kind: 'ok',
      value: {
        app: 'web',
        [release]: 'r1',
        'vcluster.loft.sh/managed-by': 'my-vcluster',
        'vcluster.loft.sh/namespace': 'shop',
      },
    });
  });

  it('spells the keys of a LabelSelector, and leaves what else is in it', () => {
    const value = {
      matchLabels: { app: 'web', release: 'r1' },
      matchExpressions: [
        { key: 'release', operator: 'In', values: ['release'] },
        { key: 'tier', operator: 'DoesNotExist' },
      ],
      other: 1,
    };
    expect(translated(value)).toEqual({
      kind: 'ok',
      value: {
        matchLabels: { app: 'web', [release]: 'r1' },
        matchExpressions: [
          { key: release, operator: 'In', values: ['release'] },
          { key: 'tier', operator: 'DoesNotExist' },
        ],
        other: 1,
      },
    });
  });

  it.each([null, undefined])('makes no selector from %s', (value) => {
    expect(translated(value)).toEqual({ kind: 'ok', value: null });
  });

  it.each([
    ['app=web', 'app=web'],
    ['release=r1,app==web', `${release}=r1,app==web`],
    ['release in (release, a), !release', `${release} in (release, a), !${release}`],
    ['release notin (b,a),release', `${release} notin (b,a),${release}`],
    ['tier != db', 'tier != db'],
    ['', ''],
  ])('spells the keys of the selector "%s" and nothing else in it', (text, value) => {
    expect(translated(text)).toEqual({ kind: 'ok', value });
  });

  it.each([
    [7, 'wanted a label map, a LabelSelector or a selector string'],
    [['app'], 'wanted a label map, a LabelSelector or a selector string'],
    ['app=(web', 'not a label selector'],
  ])('refuses %j', (value, message) => {
    expect(translated(value)).toMatchObject({ kind: 'wrong', message: expect.stringContaining(message) });
  });
});
