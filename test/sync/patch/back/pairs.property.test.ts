import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PatchEntry } from '../../../../src/config/settings/settings.ts';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { sampled } from '../../../sampled.ts';
import { edit, endpoints, FakeWorld, putPair } from '../../fake-sync.ts';
import { entry } from '../fake-patch.ts';

/** Each undoes itself on every text, and gives labels for labels. */
const pairs: Record<string, { expression: string; reverseExpression: string; to(value: string): string }> = {
  prefix: { expression: '"P" + value', reverseExpression: 'value.slice(1)', to: (value) => `P${value}` },
  mirror: {
    expression: 'value.split("").reverse().join("")',
    reverseExpression: 'value.split("").reverse().join("")',
    to: (value) => value.split('').reverse().join(''),
  },
  swap: {
    expression: 'value.replace(/[ab]/g, (c) => ({ a: "b", b: "a" })[c])',
    reverseExpression: 'value.replace(/[ab]/g, (c) => ({ a: "b", b: "a" })[c])',
    to: (value) => value.replace(/[ab]/g, (c) => (c === 'a' ? 'b' : 'a')),
  },
};

type MapName = 'labels' | 'annotations';
type Config = Record<string, string>;

const keys = ['one', 'two', 'plain'];
const spellings = [
  (map: string, key: string) => `metadata.${map}.${key}`,
  (map: string, key: string) => `metadata.${map}["${key}"]`,
  (map: string, key: string) => `metadata["${map}"]['${key}']`,
];

/** For each map and key the pair that is on it; `plain` never has one. */
const configs = fc.record(
  Object.fromEntries(
    (['labels', 'annotations'] as const).flatMap((map) =>
      keys.slice(0, 2).map((key) => [`${map} ${key}`, fc.constantFrom('none', ...Object.keys(pairs))]),
    ),
  ),
);

function patchesOf(config: Config, spelling: number, isSplit: boolean): PatchEntry[] {
  const entries = Object.entries(config).flatMap(([place, name]) => {
    const [map = '', key = ''] = place.split(' ');
    const pair = pairs[name];
    if (pair === undefined) return [];
    const path = (spellings[spelling] as (typeof spellings)[0])(map, key);
    const { expression, reverseExpression } = pair;
    if (!isSplit) return [entry({ path, expression, reverseExpression })];
    return [entry({ path, expression }), entry({ path: `metadata.${map}['${key}']`, reverseExpression })];
  });
  // Patches that go one way only run beside them.
  const ip = entry({ path: 'subsets[*].addresses[*].ip', expression: 'value.replace("10.0.", "10.9.")' });
  return [...entries, ip, entry({ path: 'metadata.annotations.hidden', expression: 'null' })];
}

type Edit =
  | { kind: 'set'; side: 'virtual' | 'host'; map: MapName; key: string; value: string }
  | { kind: 'drop'; side: 'virtual' | 'host'; map: MapName; key: string }
  | { kind: 'address'; side: 'virtual' | 'host'; last: number }
  | { kind: 'loseCopy' }
  | { kind: 'restart' };

const side = fc.constantFrom('virtual' as const, 'host' as const);
const place = { side, map: fc.constantFrom('labels' as const, 'annotations' as const) };
const edits = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        ...place,
        kind: fc.constant('set' as const),
        key: fc.constantFrom(...keys, 'hidden'),
        value: fc.stringMatching(/^[abP][abP1]{0,4}$/),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ ...place, kind: fc.constant('drop' as const), key: fc.constantFrom(...keys, 'hidden') }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('address' as const), side, last: fc.integer({ min: 1, max: 9 }) }),
    },
    { weight: 1, arbitrary: fc.constantFrom({ kind: 'loseCopy' as const }, { kind: 'restart' as const }) },
  ),
  { minLength: 1, maxLength: 8 },
);

const tenants = (world: FakeWorld) => world.virtual.get('endpoints', 'default', 'web') as KubeObject;

function act(world: FakeWorld, one: Exclude<Edit, { kind: 'restart' }>): void {
  if (one.kind === 'loseCopy') {
    world.host.remove('endpoints', 'vcluster-vc', 'web-x-default-x-vc');
    return;
  }
  const server = one.side === 'virtual' ? world.virtual : world.host;
  const object = one.side === 'virtual' ? tenants(world) : world.copy('web');
  if (object === undefined) return;
  edit(server, object, (draft) => {
    if (one.kind === 'address') {
      draft['subsets'] = endpoints('web', `10.0.0.${one.last}`)['subsets'];
      return;
    }
    const map = { ...draft.metadata[one.map] };
    if (one.kind === 'set') map[one.key] = one.value;
    else delete map[one.key];
    draft.metadata[one.map] = map;
  });
}

const writes = (world: FakeWorld) => world.virtual.writes.length + world.host.writes.length;

function expectAgreement(world: FakeWorld, config: Config): void {
  const [virtual, host] = [tenants(world), world.copy('web') as KubeObject];
  for (const map of ['labels', 'annotations'] as const) {
    for (const key of keys) {
      const value = virtual.metadata[map]?.[key];
      const wanted = value === undefined ? undefined : (pairs[config[`${map} ${key}`] ?? '']?.to(value) ?? value);
      expect({ map, key, host: host.metadata[map]?.[key] }).toEqual({ map, key, host: wanted });
    }
  }
  const before = JSON.stringify(virtual['subsets']).replaceAll('10.0.', '10.9.');
  expect(JSON.stringify(host['subsets'])).toBe(before);
}

describe('pairs that are inverses', () => {
  it('settle after any edits on either side, with both sides agreeing, and then write nothing more', async () => {
    await fc.assert(
      fc.asyncProperty(
        configs,
        fc.nat(2),
        fc.boolean(),
        edits,
        fc.boolean(),
        async (config, spelling, isSplit, all, isCalm) => {
          const world = new FakeWorld({ patches: patchesOf(config, spelling, isSplit) });
          putPair(world, 'web', '10.0.0.1', { labels: { one: 'a' }, annotations: { two: 'b', hidden: 'h' } });
          await world.run();
          try {
            for (const one of all as Edit[]) {
              if (one.kind === 'restart') await world.restart();
              else if (isCalm) await world.change(() => act(world, one));
              else act(world, one);
            }
            await world.quiet();
            await world.clock.advance(10_000);
            await world.quiet();
            expectAgreement(world, config);
            const settled = writes(world);
            await world.clock.advance(120_000);
            await world.restart();
            expect(writes(world)).toBe(settled);
          } finally {
            await world.stop();
          }
        },
      ),
      { numRuns: sampled(30) },
    );
  }, 60_000);
});
