import { describe, expect, it } from 'vitest';
import type { PatchEntry } from '../../../../src/config/settings/settings.ts';
import { runAtOnce } from '../../../../src/config/steps.ts';
import { endpointsKind } from '../../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { lintPatches } from '../../../../src/sync/patch/lint/lint-patches.ts';
import { compilePatchSet } from '../../../../src/sync/patch/set/patch-set.ts';
import { annotationRules, labelRules } from '../../../../src/sync/plan/keys/key-rules.ts';
import { entry } from '../fake-patch.ts';

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** The indexes of the entries with the warning. */
function warned(
  entries: readonly (Partial<PatchEntry> & { path: string })[],
  excluded: readonly string[] = [],
): number[] {
  const compiled = compilePatchSet(
    entries.map((one, index) => ({ index, entry: entry(one) })),
    endpointsKind,
  );
  if (compiled.kind === 'faults') throw new Error(JSON.stringify(compiled.faults));
  const { controllerKeyPrefixes } = endpointsKind;
  const exclude = { labels: [], annotations: excluded };
  const keys = { virtualCluster: 'vc', mode: 'single', backSync: 'all', exclude, controllerKeyPrefixes } as const;
  const rules = { labels: labelRules(keys), annotations: annotationRules(keys) };
  const found = runAtOnce(lintPatches(compiled.set.patches, { kind: endpointsKind, rules }));
  return found.filter(({ rule }) => rule === 'shown-by-annotation').map(({ index }) => index);
}

const team = 'metadata.labels.team';

describe('a patch that hides a key', () => {
  it.each<[string, Partial<PatchEntry> & { path: string }]>([
    ['removes it', { path: team, expression: 'null' }],
    ['removes it by undefined', { path: team, expression: 'undefined' }],
    ['removes it sometimes', { path: team, expression: 'value.startsWith("x") ? null : value' }],
    ['removes it by a short circuit', { path: team, expression: 'value === "a" && null' }],
    ['removes it from the whole map', { path: 'metadata.annotations', expression: '(delete value.token, value)' }],
    ['removes every key', { path: 'metadata.annotations.*', expression: 'null' }],
  ])('is warned of when it %s', (_, patch) => expect(warned([patch])).toEqual([0]));

  it.each<[string, Partial<PatchEntry> & { path: string }]>([
    ['changes the value', { path: team, expression: '"x-" + value' }],
    ['has a way back', { path: team, expression: 'value ? value : null', reverseExpression: 'value' }],
    ['has a fixed result', { path: team, expression: '"a"' }],
    ['adds a key', { path: team, expression: '"a"', onMissing: 'create' }],
    ['compares with null only', { path: team, expression: 'value === null ? "a" : value' }],
    ['is about the payload', { path: 'subsets[*].addresses[*]', expression: 'null' }],
    ['flows back only', { path: team, reverseExpression: 'null' }],
  ])('is not meant when the patch %s', (_, patch) => expect(warned([patch])).toEqual([]));

  it('is warned of once, at the first entry', () => {
    const hide = (key: string) => ({ path: `metadata.labels.${key}`, expression: 'null' });
    expect(warned([{ path: 'metadata.labels.other', expression: 'value' }, hide('a'), hide('b')])).toEqual([1]);
  });

  it('is not warned of when the annotation does not reach the host', () => {
    const hide = { path: team, expression: 'null' };
    expect(warned([hide], [lastApplied])).toEqual([]);
    expect(warned([hide], ['kubectl.kubernetes.io/*'])).toEqual([]);
    expect(warned([hide, { path: `metadata.annotations["${lastApplied}"]`, expression: 'null' }])).toEqual([]);
  });

  it('is not warned of when another entry has the way back', () => {
    expect(
      warned([
        { path: team, expression: '"b"' },
        { path: team, reverseExpression: '"a"' },
      ]),
    ).toEqual([]);
  });
});
