import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { hostName } from '../../../src/object/meta/names.ts';
import {
  controlledByKey,
  instanceKey,
  managedAnnotationsKey,
  markerLabel,
  objectKeys,
  theSix,
} from '../../../src/sync/plan/keys/reserved-keys.ts';
import { isControlledByOther, judgeOwnership } from '../../../src/sync/plan/ownership.ts';
import { createPlacement } from '../../../src/sync/plan/placement.ts';

interface Row {
  six: string;
  place: string;
  absent: string;
  empty: string;
  own: string;
  other: string;
}

const file = new URL('../../../fixtures/sync/ownership.json', import.meta.url);
const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: Row[] };

const markers = { absent: undefined, empty: '', own: 'vc', other: 'other' } as const;
const key = 'default/web';

const single = createPlacement({ virtualCluster: 'vc', hostNamespace: 'vcluster-vc' });
const mapped = createPlacement({
  virtualCluster: 'vc',
  hostNamespace: 'vcluster-vc',
  mapping: { hostNamespaceOf: () => 'team', mappingsOnly: true },
});

const hns = { namespace: 'vcluster-vc', name: hostName({ namespace: 'default', name: 'web' }, 'vc') };
const team = { namespace: 'team', name: 'web' };
const places = {
  single: { placement: single, at: hns, more: {} },
  'mapped, own namespace': { placement: mapped, at: hns, more: {} },
  'mapped, our instance': { placement: mapped, at: team, more: { [instanceKey]: 'vcluster-vc/vc' } },
  'mapped, no instance': { placement: mapped, at: team, more: {} },
  'mapped, other instance': { placement: mapped, at: team, more: { [instanceKey]: 'elsewhere/vc' } },
  'mapped, copied instance': {
    placement: mapped,
    at: team,
    more: { [instanceKey]: 'vcluster-vc/vc', [managedAnnotationsKey]: `a\n${instanceKey}` },
  },
};

function sixOf(state: string, at: { namespace: string; name: string }): Record<string, string> {
  const all = {
    [objectKeys.name]: 'web',
    [objectKeys.namespace]: 'default',
    [objectKeys.uid]: 'u',
    [objectKeys.kind]: '/v1, Kind=Endpoints',
    [objectKeys.hostName]: at.name,
    [objectKeys.hostNamespace]: at.namespace,
  };
  const but = (left: string) => Object.fromEntries(Object.entries(all).filter(([annotation]) => annotation !== left));
  const states: Record<string, Record<string, string>> = {
    none: {},
    'empty values': Object.fromEntries(theSix.map((annotation) => [annotation, ''])),
    name: { [objectKeys.name]: 'web' },
    'name and namespace': { [objectKeys.name]: 'web', [objectKeys.namespace]: 'default' },
    'all but uid': but(objectKeys.uid),
    'all but name': but(objectKeys.name),
    all,
    'other name': { [objectKeys.name]: 'api' },
    'name and namespace of another key': { [objectKeys.name]: 'api', [objectKeys.namespace]: 'default' },
    'all, of another key': { ...all, [objectKeys.name]: 'api' },
    'all, of another place': { ...all, [objectKeys.hostName]: 'elsewhere' },
  };
  const six = states[state];
  if (six === undefined) throw new Error(`wanted a known state of the six, found "${state}"`);
  return six;
}

describe('judgeOwnership()', () => {
  const combinations = cases.flatMap((row) =>
    (['absent', 'empty', 'own', 'other'] as const).map((marker) => ({ ...row, marker, wanted: row[marker] })),
  );

  it.each(combinations)('$place, the six: $six, marker: $marker is $wanted', ({ six, place, marker, wanted }) => {
    const { placement, at, more } = places[place as keyof typeof places];
    const label = markers[marker];
    const labels: Record<string, string> = label === undefined ? {} : { [markerLabel]: label };
    const found = judgeOwnership({ ...at, labels, annotations: { ...sixOf(six, at), ...more } }, key, placement);
    const words = {
      native: 'native',
      foreign: 'foreign',
      ours: found.kind === 'ours' && found.isDeletable ? 'ours, deletable' : 'ours',
      oursForOther: 'ours for other',
    };
    expect(words[found.kind]).toBe(wanted);
    if (found.kind === 'oursForOther') expect(found.key).toBe('default/api');
  });
});

it.each([
  ['no mark', {}, false],
  ['an empty annotation', { annotations: { [controlledByKey]: '' } }, false],
  ['the annotation of this syncer', { annotations: { [controlledByKey]: 'endpoints' } }, false],
  ['the annotation of another one', { annotations: { [controlledByKey]: 'theirs' } }, true],
  ['an empty label', { labels: { [controlledByKey]: '' } }, false],
  ['a label, of whomever', { labels: { [controlledByKey]: 'endpoints' } }, true],
])('with %s, whether another syncer controls the object', (_, object, isOther) => {
  expect(isControlledByOther(object, 'endpoints')).toBe(isOther);
});
