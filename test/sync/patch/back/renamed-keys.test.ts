import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { edit, FakeWorld, putPair } from '../../fake-sync.ts';
import { entry } from '../fake-patch.ts';

type Texts = Record<string, string | undefined>;
type MapName = 'labels' | 'annotations';

const renaming = {
  expression: 'Object.fromEntries(Object.entries(value).map(([k, v]) => ["h-" + k, v]))',
  reverseExpression: 'Object.fromEntries(Object.entries(value).map(([k, v]) => [k.replace(/^h-/, ""), v]))',
};
const wholeObject = (map: MapName) => ({
  expression: `(value.metadata.${map} = (${renaming.expression.replaceAll('value', `value.metadata.${map}`)}), value)`,
  reverseExpression: `(value.metadata.${map} = (${renaming.reverseExpression.replaceAll('value', `value.metadata.${map}`)}), value)`,
});

let world: FakeWorld;
afterEach(() => world.stop());

const virtual = () => world.virtual.get('endpoints', 'default', 'web') as KubeObject;
const host = () => world.copy('web') as KubeObject;

function set(side: 'virtual' | 'host', map: MapName, changes: Texts): Promise<void> {
  return world.change(() =>
    edit(world[side], side === 'virtual' ? virtual() : host(), (draft) => {
      const all = Object.entries({ ...draft.metadata[map], ...changes });
      draft.metadata[map] = Object.fromEntries(all.filter((one): one is [string, string] => one[1] !== undefined));
    }),
  );
}

/** The keys that the tenant and the host's people know, without our own. */
function keysOf({ metadata }: KubeObject, map: MapName): Texts {
  return Object.fromEntries(Object.entries(metadata[map] ?? {}).filter(([key]) => !key.includes('/')));
}

describe.each([
  { map: 'annotations' as const, patch: { path: 'metadata.annotations', ...renaming } },
  { map: 'labels' as const, patch: { path: 'metadata.labels', ...renaming } },
  { map: 'annotations' as const, patch: { path: '', ...wholeObject('annotations') } },
])('a pair of "$patch.path" that renames the keys of $map', ({ map, patch }) => {
  it.each([
    { edited: 'sets a renamed key', change: { 'h-a': '2' }, key: 'h-a' },
    { edited: 'adds a key of its own', change: { 'h-b': '3' }, key: 'h-b' },
    { edited: 'removes a renamed key', change: { 'h-a': undefined }, key: 'h-a' },
  ])('leaves it as it is and says so when the host $edited', async ({ change, key }) => {
    world = new FakeWorld({ patches: [entry(patch)] });
    putPair(world, 'web', '10.0.0.1', { [map]: { a: '1' } });
    await world.run();
    await set('host', map, change);
    const { [key]: wanted } = change as Texts;
    expect([keysOf(virtual(), map), keysOf(host(), map)[key]]).toEqual([{ a: '1' }, wanted]);
    const failures = world.sync.ledger.backflowFailures.get('default/web');
    expect([...(failures?.[map].values() ?? [])].map(({ message }) => message)).toEqual([
      `the virtual object has no metadata.${map}["${key}"], and the reverse expression of patch 0 gives none`,
    ]);
    // Another key still flows forward, and a new value of the tenant wins.
    await set('virtual', map, { a: '5', c: '6' });
    expect(keysOf(host(), map)).toEqual({ ...(key === 'h-b' && { 'h-b': '3' }), 'h-a': '5', 'h-c': '6' });
  });
});

it('one expression forward and one back in two entries are such a pair too', async () => {
  const { expression, reverseExpression } = renaming;
  const path = 'metadata.annotations';
  world = new FakeWorld({ patches: [entry({ path, expression }), entry({ path, reverseExpression })] });
  putPair(world, 'web', '10.0.0.1', { annotations: { a: '1' } });
  await world.run();
  await set('host', 'annotations', { 'h-b': '3' });
  expect(keysOf(host(), 'annotations')).toEqual({ 'h-a': '1', 'h-b': '3' });
  expect(keysOf(virtual(), 'annotations')).toEqual({ a: '1' });
});
