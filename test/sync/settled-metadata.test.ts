// What is left out of a pass where only the payload has changed must make no difference: every write is the same, letter by
// letter, as without the memory of settled metadata. And it is left out.
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { PatchEntry } from '../../src/config/settings.ts';
import type { JsonObject } from '../../src/object/json.ts';
import type { KubeObject } from '../../src/object/object.ts';
import type { OpenedPatcher } from '../../src/sync/patch/open-patcher.ts';
import { createRules, type RuleSettings } from '../../src/sync/rules.ts';
import { patchedObjectStatus } from '../../src/sync/status.ts';
import { baseKey, markerLabel, objectKeys } from '../../src/sync/words.ts';
import { defaultSettings, edit, endpoints, ipOf, PaperWorld, putPair } from './paper-sync.ts';
import { entry } from './patch/paper-patch.ts';

const create = { onMissing: 'create' as const };
const menu: readonly PatchEntry[] = [
  entry({ path: 'metadata.labels.one', expression: 'value + "-p"' }),
  entry({ path: 'metadata.labels.two', expression: '"q" + value', reverseExpression: 'value.slice(1)' }),
  entry({
    path: 'metadata.annotations.two',
    expression: 'value.length > 1 ? value.no.no : value + "!"',
    onError: 'skip',
  }),
  entry({ path: 'metadata.annotations.one', expression: 'value === "bb" ? value.no.no : value', onError: 'keepLast' }),
  entry({ path: 'metadata.labels["made"]', expression: 'context.virtualObject.metadata.name', ...create }),
  entry({ path: 'metadata.labels["ips"]', expression: 'context.virtualObject.subsets[0].addresses[0].ip', ...create }),
  entry({
    path: 'metadata.labels["host"]',
    expression: 'context.hostObject === null ? "none" : context.hostObject.subsets[0].addresses[0].ip',
    ...create,
  }),
  entry({ path: 'metadata.annotations["all"]', expression: 'JSON.stringify(context.virtualObject)', ...create }),
  entry({ path: 'metadata.annotations[*]', labels: {} } as never),
  entry({ path: 'metadata.labels', expression: '({ ...value, whole: "w" })' }),
  entry({ path: 'metadata.labels.two', reverseExpression: 'value' }),
  entry({ path: 'subsets[*].addresses[*].ip', expression: 'value.replace("10.0.", "10.9.")' }),
  entry({
    path: 'subsets[*].addresses[*].hostname',
    expression: '"h" + (context.virtualObject.metadata.labels?.one ?? "")',
    ...create,
  }),
  entry({ path: 'subsets[*].ports[*].name', expression: 'value === "http" ? "web" : value.no.no', onError: 'skip' }),
];

type Side = 'virtual' | 'host';
type Act =
  | { do: 'address'; side: Side; last: number }
  | { do: 'text'; side: Side; map: 'labels' | 'annotations'; key: string; value: string | null }
  | { do: 'damage'; key: string }
  | { do: 'disown' }
  | { do: 'loseCopy' | 'recreate' | 'newOwner' | 'reload' | 'repatch' | 'restart' | 'relist' | 'audit' };

const side = fc.constantFrom<Side>('virtual', 'host');
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('address' as const),
      side: fc.constantFrom<Side>('virtual', 'virtual', 'host'),
      last: fc.nat(5),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('text' as const),
      side,
      map: fc.constantFrom('labels' as const, 'annotations' as const),
      key: fc.constantFrom('one', 'two', 'made', 'free'),
      value: fc.constantFrom('a', 'b', 'bb', 'qa', 'a-p', null),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('damage' as const),
      key: fc.constantFrom(baseKey, markerLabel, objectKeys.uid, objectKeys.kind),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom(
        ...(['disown', 'loseCopy', 'recreate', 'newOwner', 'reload', 'repatch', 'restart', 'relist', 'audit'] as const),
      ),
    }),
  },
);

/** Whatever is not settled shows in the next write. */
const lastly: readonly Act[] = [6, 7].map((last) => ({ do: 'address', side: 'virtual', last }));

/** Two worlds to which the same happens; the second never remembers. */
class Twins {
  readonly worlds: [PaperWorld, PaperWorld];
  hits = 0;
  #reloads = 0;

  constructor(patches: readonly PatchEntry[]) {
    this.worlds = [new PaperWorld({ patches }), new PaperWorld({ patches })];
    for (const world of this.worlds) {
      putPair(world, 'web', '10.0.0.1', { labels: { one: 'a', two: 'b' }, annotations: { one: 'a', two: 'b' } });
    }
  }

  async run(): Promise<void> {
    for (const world of this.worlds) {
      await world.run();
      this.#watch(world);
    }
  }

  async stop(): Promise<void> {
    for (const world of this.worlds) await world.stop();
  }

  #watch(world: PaperWorld): void {
    const inner = world.sync.world;
    if (world === this.worlds[1]) {
      inner.noteSettledMetadata = () => {};
      return;
    }
    const look = inner.look.bind(inner);
    inner.look = (...args) => {
      const facts = look(...args);
      if (facts.isMetadataSettled) this.hits++;
      return facts;
    };
  }

  async play(one: Act): Promise<void> {
    if (one.do === 'reload') this.#reloads++;
    for (const world of this.worlds) await this.#playIn(world, one);
    const [remembering, other] = this.worlds;
    expect(remembering.host.writes).toEqual(other.host.writes);
    expect(remembering.virtual.writes).toEqual(other.virtual.writes);
    expect([...remembering.host.objects.values()]).toEqual([...other.host.objects.values()]);
    expect([...remembering.virtual.objects.values()]).toEqual([...other.virtual.objects.values()]);
    const outcomes = this.worlds.map(({ sync }) => sync.ledger.entry('default/web')?.outcome);
    expect(outcomes[0]).toEqual(outcomes[1]);
  }

  #reload(world: PaperWorld, settings: Partial<RuleSettings>): void {
    world.sync.setRules(createRules({ ...defaultSettings, ...settings }, undefined, world.patches?.patcher));
  }

  async #playIn(world: PaperWorld, one: Act): Promise<void> {
    const tenants = world.virtual.get('endpoints', 'default', 'web');
    switch (one.do) {
      case 'restart':
        await world.restart();
        this.#watch(world);
        break;
      case 'repatch':
        world.options = { ...world.options, patches: (world.options.patches ?? []).slice(1) };
        await world.restart();
        this.#watch(world);
        break;
      case 'reload':
        this.#reload(world, { exclude: { labels: this.#reloads % 2 === 0 ? [] : ['two'], annotations: [] } });
        break;
      case 'recreate':
        world.virtual.remove('endpoints', 'default', 'web');
        world.virtual.put('endpoints', endpoints('web', '10.0.0.7', { labels: { one: 'a' } }));
        break;
      case 'loseCopy':
        world.host.remove('endpoints', 'vcluster-vc', 'web-x-default-x-vc');
        break;
      case 'newOwner':
        world.host.remove('services', 'vcluster-vc', 'vc');
        world.host.put('services', {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'vc', namespace: 'vcluster-vc' },
        });
        break;
      case 'relist':
        await world.windows.host.relist();
        await world.windows.virtual.relist();
        break;
      case 'audit':
        world.sync.enqueueAll();
        break;
      case 'address':
      case 'text': {
        const object = one.side === 'virtual' ? tenants : world.copy('web');
        if (object === undefined) break;
        edit(one.side === 'virtual' ? world.virtual : world.host, object, (draft) => change(draft, one));
        break;
      }
      case 'disown':
      case 'damage': {
        const copy = world.copy('web');
        // Without its marker and one of the six it would be foreign, and stay so.
        if (copy?.metadata.labels?.[markerLabel] !== 'vc') break;
        edit(world.host, copy, (draft) => {
          if (one.do === 'disown') delete draft.metadata.ownerReferences;
          else for (const map of [draft.metadata.labels, draft.metadata.annotations]) delete map?.[one.key];
        });
        break;
      }
      default:
        one satisfies never;
    }
    await world.quiet();
    await world.clock.advance(5_000);
    await world.quiet();
  }
}

function change(draft: KubeObject, one: Extract<Act, { do: 'address' | 'text' }>): void {
  if (one.do === 'address') {
    draft['subsets'] = endpoints('web', `10.0.0.${one.last}`)['subsets'];
    return;
  }
  const map = { ...draft.metadata[one.map] };
  if (one.value === null) delete map[one.key];
  else map[one.key] = one.value;
  draft.metadata[one.map] = map;
}

describe('a pass over metadata that are settled', () => {
  let world: PaperWorld;
  afterEach(() => {
    ip = simple;
    return world.stop();
  });

  const simple = entry({ path: 'subsets[*].addresses[*].ip', expression: 'value.replace("10.0.", "10.9.")' });
  let ip = simple;
  const open = async (...patches: PatchEntry[]) => {
    world = new PaperWorld({ patches: [ip, ...patches] });
    putPair(world, 'web', '10.0.0.1', { labels: { one: 'a' } });
    await world.run();
  };
  const move = (last: number) =>
    world.change(() => {
      edit(world.virtual, world.virtual.get('endpoints', 'default', 'web'), (draft) => {
        draft['subsets'] = endpoints('web', `10.0.0.${last}`)['subsets'];
      });
    });
  const valuesOf = (patch: number) => world.patches?.counts.totals()[patch]?.values;

  it.each([
    ['where they stand', simple],
    [
      'in the sandbox',
      entry({ path: simple.path, expression: 'value.split(".").map((n, i) => i === 1 ? 9 : n).join(".")' }),
    ],
  ])('runs the patches of its payload only, %s, until something else has changed', async (_, moved) => {
    ip = moved;
    await open(entry({ path: 'metadata.labels.one', expression: 'value + "-p"' }));
    await move(2);
    const before = valuesOf(1);
    for (const last of [3, 4, 5]) {
      await move(last);
      expect(ipOf(world.copy('web'))).toBe(`10.9.0.${last}`);
    }
    expect([valuesOf(0), valuesOf(1)]).toEqual([5, before]);
    // As when this process becomes the leader.
    await world.change(() => world.sync.enqueueAll());
    expect([valuesOf(0), valuesOf(1)]).toEqual([6, (before ?? 0) + 1]);
    await world.change(() => {
      edit(world.virtual, world.virtual.get('endpoints', 'default', 'web'), (draft) => {
        draft.metadata.labels = { one: 'b' };
      });
    });
    expect(world.copy('web')?.metadata.labels?.['one']).toBe('b-p');
    await world.change(() => {
      edit(world.host, world.copy('web'), (draft) => {
        draft.metadata.labels = { ...draft.metadata.labels, one: 'edited' };
      });
    });
    expect(world.copy('web')?.metadata.labels?.['one']).toBe('b-p');
  });

  it.each([
    ['the payload', 'metadata.labels["ip"]', 'context.virtualObject.subsets', 4],
    [
      'the whole of the context',
      'metadata.labels["ip"]',
      'JSON.parse(JSON.stringify(context)).virtualObject.subsets',
      4,
    ],
    [
      'the host copy, as it was before',
      'metadata.labels["ip"]',
      '(context.hostObject ?? context.virtualObject).subsets',
      5,
    ],
    ['the whole object', '', 'value.subsets', 4],
  ])('runs all of them where a label is made of %s', async (_, path, subsets, seenAt) => {
    const made = `(${subsets}[0].addresses[0].ip.endsWith("4") ? "four" : "few")`;
    const whole = `({ ...value, metadata: { ...value.metadata, labels: { ip: ${made} } } })`;
    await open(entry({ path, expression: path === '' ? whole : made, ...create }));
    const label = () => world.copy('web')?.metadata.labels?.['ip'];
    // The label stays as it is while the addresses change, and then it does not.
    for (const last of [2, 3]) await move(last);
    expect(label()).toBe('few');
    for (let last = 4; last <= seenAt; last++) await move(last);
    expect(label()).toBe('four');
  });

  it('still tells of a patch that failed, where its policy lets that pass', async () => {
    await open(entry({ path: 'metadata.labels.one', expression: 'value.no.no', onError: 'skip' }));
    for (const last of [2, 3, 4]) await move(last);
    expect(world.sync.ledger.entry('default/web')).toBeUndefined();
    const status = await patchedObjectStatus(world.sync, 'default/web');
    expect(status?.patchFailure?.message).toMatch(/the value is left as it is/);
    const failures = world.patches?.counts.totals()[1]?.failures;
    await move(5);
    expect(world.patches?.counts.totals()[1]?.failures).toBe((failures ?? 0) + 1);
  });

  it('is not left to rules that came while its patches ran', async () => {
    await open(entry({ path: 'metadata.labels.one', expression: 'value + "-p"' }));
    const { patcher } = world.patches as OpenedPatcher;
    const forward = patcher.forward.bind(patcher);
    const without = createRules(defaultSettings, undefined, undefined);
    vi.spyOn(patcher, 'forward').mockImplementationOnce(async (input) => {
      const patched = await forward(input);
      world.sync.setRules(without);
      return patched;
    });
    await move(2);
    expect(world.copy('web')).toMatchObject({ metadata: { labels: { one: 'a' } } });
    expect(ipOf(world.copy('web'))).toBe('10.0.0.2');
  });

  it('puts the same damage right each time', async () => {
    await open();
    for (const last of [2, 3]) await move(last);
    for (const _ of [1, 2, 3]) {
      await world.change(() =>
        edit(world.host, world.copy('web'), (draft) => delete draft.metadata.labels?.[markerLabel]),
      );
      await world.clock.advance(2_000);
      await world.quiet();
      expect(world.copy('web')?.metadata.labels?.[markerLabel]).toBe('vc');
    }
  });

  it('is told in whole by status, as if nothing were settled', async () => {
    await open(entry({ path: 'metadata.labels.one', expression: 'value + "-p"' }));
    for (const last of [2, 3]) await move(last);
    const status = await patchedObjectStatus(world.sync, 'default/web');
    expect(status?.keys).toEqual([{ map: 'labels', key: 'one', verdict: 'same' }]);
  });
});

describe('a webhook of the host that changes what is written', () => {
  /** `over`: what it makes of the metadata of a patch. */
  const begin = async (over: { now: (metadata: JsonObject) => JsonObject }): Promise<PaperWorld> => {
    const world = new PaperWorld();
    putPair(world, 'web', '10.0.0.1', { labels: { one: 'a' } });
    const writer = world.host.writer();
    const patch: typeof writer.patch = (ref, place, body) => {
      const { metadata, ...rest } = body as { metadata: JsonObject };
      return writer.patch(ref, place, { ...rest, metadata: over.now(metadata) });
    };
    return world.run({ hostWriter: { ...writer, patch } });
  };
  const put = (world: PaperWorld, last: number, one: string) =>
    world.change(() => putPair(world, 'web', `10.0.0.${last}`, { labels: { one } }));

  it('is noticed where only the payload was written', async () => {
    const over = { now: (metadata: JsonObject) => metadata };
    const world = await begin(over);
    for (const last of [2, 3]) await put(world, last, 'a');
    over.now = (metadata) => ({ ...metadata, labels: { one: 'hook' } });
    await put(world, 4, 'a');
    expect(world.virtual.get('endpoints', 'default', 'web')?.metadata.labels).toEqual({ one: 'hook' });
    await world.stop();
  });

  it('is noticed where it leaves the metadata as they were', async () => {
    const over = { now: (metadata: JsonObject) => metadata };
    const world = await begin(over);
    for (const last of [2, 3]) await put(world, last, 'a');
    over.now = ({ uid, resourceVersion }) => ({ uid, resourceVersion }) as JsonObject;
    await put(world, 4, 'b');
    expect(ipOf(world.copy('web'))).toBe('10.0.0.4');
    expect(world.sync.ledger.entry('default/web')?.outcome).toMatchObject({ kind: 'waiting', reason: 'Contested' });
    await world.stop();
  });
});

describe('settled metadata', () => {
  it('make a pass write what it would write if it looked at them again, whatever has happened and whatever the patches see', async () => {
    let hits = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.subarray([...menu], { maxLength: 5 }),
        fc.array(act, { minLength: 3, maxLength: 14 }),
        async (patches, acts) => {
          const twins = new Twins(patches);
          try {
            await twins.run();
            for (const one of [...acts, ...lastly]) await twins.play(one);
          } finally {
            await twins.stop();
          }
          hits += twins.hits;
        },
      ),
      { numRuns: Number(process.env['HOSTWARD_SETTLED_RUNS'] ?? 150) },
    );
    expect(hits).toBeGreaterThan(100);
  }, 600_000);
});
