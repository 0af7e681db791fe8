import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PatchEntry } from '../../../../src/config/settings/settings.ts';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { edit, endpoints, FakeWorld, ipOf, putPair } from '../../fake-sync.ts';
import { entry } from '../fake-patch.ts';
import { type Pair, pairs, patchesOf, type Shape, shapes } from './two-way-pairs.ts';

type Side = 'virtual' | 'host';
type Edit =
  | { kind: 'set'; side: Side; key: string; value: string; isSpelledForHost: boolean }
  | { kind: 'drop'; side: Side; key: string }
  | { kind: 'address'; last: number }
  | { kind: 'loseCopy' }
  | { kind: 'restart' };

/** The last one is reached by no patch that names a single key. */
const keys = ['one', 'two', 'three'];

const key = fc.constantFrom(...keys);
const side = fc.constantFrom<Side>('virtual', 'host');
const values = {
  labels: fc.oneof(fc.stringMatching(/^[a-d]{1,4}$/), fc.constant('P-a')),
  annotations: fc.oneof(
    fc.stringMatching(/^[a-d]{1,4}$/),
    fc.constantFrom('P-a', '%', 'no JSON', '{"a":1}', '"', 'YQ=='),
  ),
};
const edits = (map: 'labels' | 'annotations') =>
  fc.array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          kind: fc.constant('set' as const),
          side,
          key,
          value: values[map],
          isSpelledForHost: fc.boolean(),
        }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('drop' as const), side, key }) },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant('address' as const), last: fc.integer({ min: 2, max: 9 }) }),
      },
      { weight: 1, arbitrary: fc.constantFrom<Edit>({ kind: 'loseCopy' }, { kind: 'restart' }) },
    ),
    { minLength: 1, maxLength: 10 },
  );

/** One patched key after another, as the rules say that both sides end up. */
class Model {
  readonly virtual = new Map<string, string>();
  readonly host = new Map<string, string>();
  readonly #pairOf: (key: string) => Pair | undefined;

  constructor(pairOf: (key: string) => Pair | undefined) {
    this.#pairOf = pairOf;
  }

  to(key: string, text: string | undefined): string | undefined {
    return text === undefined ? undefined : (this.#pairOf(key)?.to(text) ?? text);
  }

  /** Undefined where it cannot be reversed. */
  from(key: string, text: string): string | undefined {
    const pair = this.#pairOf(key);
    return pair === undefined ? text : pair.from(text);
  }

  play(one: Exclude<Edit, { kind: 'address' | 'restart' }>): void {
    if (one.kind === 'loseCopy') {
      for (const each of keys) put(this.host, each, this.to(each, this.virtual.get(each)));
      return;
    }
    const text = one.kind === 'set' ? this.textOf(one) : undefined;
    const before = this.virtual.get(one.key);
    if (one.side === 'virtual') {
      // The same again is no change, and what the host holds stays.
      if (text === before) return;
      put(this.virtual, one.key, text);
      put(this.host, one.key, this.to(one.key, text));
      return;
    }
    put(this.host, one.key, text);
    const reversed = text === undefined ? undefined : this.from(one.key, text);
    if (text !== undefined && reversed === undefined) return;
    put(this.virtual, one.key, reversed);
    put(this.host, one.key, this.to(one.key, reversed));
  }

  /** What is written: for the host mostly something that it could have got from us. */
  textOf({ key: on, value: text, side: where, isSpelledForHost }: Extract<Edit, { kind: 'set' }>): string {
    return where === 'host' && isSpelledForHost ? (this.to(on, text) as string) : text;
  }
}

function put(map: Map<string, string>, on: string, text: string | undefined): void {
  if (text === undefined) map.delete(on);
  else map.set(on, text);
}

const tenants = (world: FakeWorld) => world.virtual.get('endpoints', 'default', 'web') as KubeObject;
const copy = (world: FakeWorld) => world.copy('web') as KubeObject;

function act(world: FakeWorld, one: Exclude<Edit, { kind: 'restart' }>, model: Model, map: 'labels' | 'annotations') {
  if (one.kind === 'loseCopy') {
    world.host.remove('endpoints', 'vcluster-vc', 'web-x-default-x-vc');
    return;
  }
  const isVirtual = one.kind === 'address' || one.side === 'virtual';
  const object = isVirtual ? tenants(world) : world.copy('web');
  if (object === undefined) return;
  edit(isVirtual ? world.virtual : world.host, object, (draft) => {
    if (one.kind === 'address') {
      draft['subsets'] = endpoints('web', `10.0.0.${one.last}`)['subsets'];
      return;
    }
    const texts = { ...draft.metadata[map] };
    if (one.kind === 'set') texts[one.key] = model.textOf(one);
    else delete texts[one.key];
    draft.metadata[map] = texts;
  });
}

const textsOf = (object: KubeObject, map: 'labels' | 'annotations') =>
  Object.fromEntries(keys.map((each) => [each, object.metadata[map]?.[each]]));
const writes = (world: FakeWorld) =>
  [...world.virtual.writes, ...world.host.writes].filter((one) => one.includes('endpoints')).length;

interface Play {
  pair: Pair;
  shape: Shape;
  isSplit: boolean;
  all: readonly Edit[];
  /** One edit after the other; otherwise all of them at once. */
  isCalm: boolean;
}

async function play({ pair, shape, isSplit, all, isCalm }: Play): Promise<void> {
  const map = pair.map;
  const ip: PatchEntry = entry({ path: 'subsets[*].addresses[*].ip', expression: 'value.replace("10.0.", "10.9.")' });
  const world = new FakeWorld({ patches: [...patchesOf(pair, shape, isSplit), ip] });
  const model = new Model((on) => (shape.reaches(on) ? pair : undefined));
  model.virtual.set('one', 'a');
  model.play({ kind: 'loseCopy' });
  putPair(world, 'web', '10.0.0.1', { [map]: { one: 'a' } });
  await world.run();
  try {
    for (const one of all) {
      if (one.kind === 'restart') await world.restart();
      else {
        act(world, one, model, map);
        if (isCalm) await world.quiet();
        // Quicker edits on both sides would be held back for a while, as a contest.
        if (isCalm) await world.clock.advance(11_000);
      }
      if (!isCalm) continue;
      if (one.kind !== 'address' && one.kind !== 'restart') model.play(one);
      expect(ipOf(copy(world))).toBe(ipOf(tenants(world))?.replace('10.0.', '10.9.'));
    }
    await world.quiet();
    // Longer than the brake on an object that both sides keep changing.
    await world.clock.advance(90_000);
    await world.quiet();
    expect(ipOf(copy(world))).toBe(ipOf(tenants(world))?.replace('10.0.', '10.9.'));
    const [virtual, host] = [textsOf(tenants(world), map), textsOf(copy(world), map)];
    const held = world.sync.ledger.backflowFailures.get('default/web')?.[map];
    for (const each of keys) {
      const [tenantsText, hostText] = [virtual[each], host[each]];
      const isReversible = hostText === undefined || model.from(each, hostText) !== undefined;
      const agrees = hostText === model.to(each, tenantsText);
      expect({ each, tenantsText, hostText, isHeld: held?.has(each) ?? false }).toEqual({
        each,
        tenantsText,
        hostText: isReversible ? model.to(each, tenantsText) : hostText,
        isHeld: !agrees,
      });
    }
    if (isCalm) {
      expect(virtual).toEqual(Object.fromEntries(keys.map((each) => [each, model.virtual.get(each)])));
      expect(host).toEqual(Object.fromEntries(keys.map((each) => [each, model.host.get(each)])));
    }
    const settled = writes(world);
    await world.clock.advance(120_000);
    await world.restart();
    await world.clock.advance(120_000);
    expect(writes(world)).toBe(settled);
  } finally {
    await world.stop();
  }
}

/** CI plays 25 of each pair. */
const runs = Number(process.env['HOSTWARD_TWO_WAY_RUNS'] ?? 6);

describe('two-way patches', () => {
  it.each(pairs.flatMap((pair) => shapes.map((shape) => [pair.name, shape.name, pair, shape] as const)))(
    '%s on %s: both sides agree on all that can be reversed, the rest stays, and addresses arrive',
    async (_pair, _shape, pair, shape) => {
      await fc.assert(
        fc.asyncProperty(fc.boolean(), edits(pair.map), fc.boolean(), (isSplit, all, isCalm) =>
          play({ pair, shape, isSplit, all: all as Edit[], isCalm }),
        ),
        { numRuns: runs },
      );
    },
    60_000,
  );
});
