// What is left out of a pass where only the payload has changed must make no difference: every write is the same, letter by
// letter, as without the memory of settled metadata. And it is left out.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Writer } from '../../src/cluster/writer.ts';
import type { PatchEntry } from '../../src/config/settings.ts';
import type { KubeObject } from '../../src/object/object.ts';
import { createRules, type RuleSettings } from '../../src/sync/rules.ts';
import { baseKey, markerLabel, objectKeys } from '../../src/sync/words.ts';
import { defaultSettings, edit, endpoints, PaperWorld, putPair } from './paper-sync.ts';
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
  entry({ path: 'metadata.labels', expression: '({ one: value.one ?? "x" })' }),
  entry({ path: 'metadata.labels', expression: '"free" in value ? ({ ...value, free: "y" }) : value' }),
  entry({
    path: 'metadata.labels',
    reverseExpression: 'context.hostObject.subsets[0].addresses[0].ip.endsWith("3") ? value.no.no : value',
  }),
  entry({ path: '*.labels.one', expression: 'value + "s"' }),
  entry({ path: '*[*].addresses[*].ip', expression: 'value.replace("10.0.", "10.8.")' }),
  entry({ path: 'metadata', expression: '({ ...value, annotations: { ...value.annotations, m: "m" } })' }),
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
  readonly requests: [unknown[], unknown[]] = [[], []];
  hits = 0;
  #reloads = 0;

  constructor(patches: readonly PatchEntry[]) {
    this.worlds = [new PaperWorld({ patches }), new PaperWorld({ patches })];
    for (const world of this.worlds) {
      putPair(world, 'web', '10.0.0.1', { labels: { one: 'a', two: 'b' }, annotations: { one: 'a', two: 'b' } });
    }
  }

  async run(): Promise<void> {
    for (const world of this.worlds) await this.#begin(world);
  }

  async stop(): Promise<void> {
    for (const world of this.worlds) await world.stop();
  }

  async #begin(world: PaperWorld): Promise<void> {
    const told = (writer: Writer): Writer => ({
      ...writer,
      create: (ref, object) => this.#tell(world, [ref, object], () => writer.create(ref, object)),
      patch: (ref, place, body) => this.#tell(world, [ref, place, body], () => writer.patch(ref, place, body)),
      remove: (ref, place, conditions) =>
        this.#tell(world, [ref, place, conditions], () => writer.remove(ref, place, conditions)),
    });
    await world.run({ hostWriter: told(world.host.writer()), virtualWriter: told(world.virtual.writer()) });
    this.#watch(world);
  }

  #tell<T>(world: PaperWorld, request: unknown, send: () => T): T {
    (this.requests[this.worlds.indexOf(world)] as unknown[]).push(structuredClone(request));
    return send();
  }

  #watch(world: PaperWorld): void {
    const inner = world.sync.world;
    const look = inner.look.bind(inner);
    inner.look = (key, circumstances, options) => {
      const facts = look(key, circumstances, world === this.worlds[0] ? options : {});
      if (facts.isMetadataSettled) this.hits++;
      return facts;
    };
  }

  async play(one: Act): Promise<void> {
    if (one.do === 'reload') this.#reloads++;
    for (const world of this.worlds) await this.#playIn(world, one);
    const [remembering, other] = this.worlds;
    expect(this.requests[0]).toEqual(this.requests[1]);
    expect([...remembering.host.objects.values()]).toEqual([...other.host.objects.values()]);
    expect([...remembering.virtual.objects.values()]).toEqual([...other.virtual.objects.values()]);
    const told = this.worlds.map(({ sync: { ledger } }) => [ledger.entry('default/web')?.outcome, [...ledger.lapses]]);
    expect(told[0]).toEqual(told[1]);
  }

  #reload(world: PaperWorld, settings: Partial<RuleSettings>): void {
    world.sync.setRules(createRules({ ...defaultSettings, ...settings }, undefined, world.patches?.patcher));
  }

  async #playIn(world: PaperWorld, one: Act): Promise<void> {
    const tenants = world.virtual.get('endpoints', 'default', 'web');
    switch (one.do) {
      case 'restart':
        await world.stop();
        await this.#begin(world);
        break;
      case 'repatch':
        world.options = { ...world.options, patches: (world.options.patches ?? []).slice(1) };
        await world.stop();
        await this.#begin(world);
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
