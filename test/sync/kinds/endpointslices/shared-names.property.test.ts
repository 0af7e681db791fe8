// Random acts on two Services of one host name, with both kinds, patches that throw or make refused addresses, slow writes,
// reloads and restarts: the addresses of both never mix, and in the end one Service has everything behind the name.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Clock } from '../../../../src/clock.ts';
import type { Writer } from '../../../../src/cluster/write/writer.ts';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { endpointsKind } from '../../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { createRules } from '../../../../src/sync/loop/pass/rules.ts';
import type { ForwardInput } from '../../../../src/sync/patch/entry/pass.ts';
import type { Patched, Patcher } from '../../../../src/sync/patch/run/patcher.ts';
import type { FakeServer } from '../../fake-cluster.ts';
import { defaultSettings } from '../../fake-sync.ts';
import { service } from './fake-slices.ts';
import { both, type TwinService, TwinWorld } from './two-services.ts';

const settings = { ...defaultSettings, addressPolicy: { allow: [], deny: ['10.99.0.0/16'] } };
const mirroring = 'endpointslicemirroring-controller.k8s.io';

/** What becomes of an address: the patches leave it, make it an allowed one, make it a refused one, or throw. */
const plain = '10.0.0.1';
const mended = '10.99.0.7';
const spoilt = '10.0.0.8';
const thrown = '10.0.0.9';
const loopback = '127.0.0.1';

const of = fc.constantFrom(...both);
const ip = fc.constantFrom(plain, plain, mended, spoilt, thrown, loopback);
const name = fc.constantFrom('one', 'two');
const act = fc.oneof(
  fc.record({ do: fc.constant('endpoints' as const), of, ip }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant('slice' as const), of, ip, name, isMirrored: fc.boolean() }) },
  fc.record({ do: fc.constant('gone' as const), of, name: fc.option(name, { nil: undefined }) }),
  fc.record({ do: fc.constantFrom('service' as const, 'selector' as const, 'noService' as const), of }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.oneof(fc.integer({ min: 1, max: 25 }), fc.constant(600)) }),
  fc.record({ do: fc.constantFrom('restart' as const, 'reload' as const, 'removeCopies' as const) }),
  fc.record({ do: fc.constant('switch' as const), kind: fc.constantFrom('endpoints' as const, 'slices' as const) }),
);
type Act = typeof act extends fc.Arbitrary<infer One> ? One : never;

/** Patches with chosen results, so that a thousand worlds need no sandbox. */
function patcherOf(clock: Clock, lagMs: () => number): Patcher {
  const run = ({ draft }: ForwardInput): Patched => {
    const text = JSON.stringify(draft.payload);
    const failure = { at: '', class: 'throws', message: 'the patch throws' };
    if (text.includes(thrown)) return { kind: 'failed', failure, references: [] };
    const payload = JSON.parse(text.replaceAll(mended, '10.0.0.7').replaceAll(spoilt, '10.99.0.8'));
    return { kind: 'patched', draft: { ...draft, payload }, references: [] };
  };
  const forward = (input: ForwardInput): Promise<Patched> => lag(clock, lagMs()).then(() => run(input));
  return { set: { patches: [] }, digests: { ofSet: 'x', ofKey: () => '' }, forward } as never;
}

const lag = (clock: Clock, ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));

class Game {
  readonly world = new TwinWorld({ mirrored: 'withEndpoints', settings });
  readonly #isOn = { endpoints: true, slices: true };
  #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
    this.world.how.patcher = patcherOf(this.world.clock, () => this.#lagMs());
    this.world.neverMixed();
    this.world.putServices();
  }

  #lagMs(): number {
    this.#seed = (this.#seed * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return (this.#seed >>> 16) % 12;
  }

  #slow(server: FakeServer): Writer {
    const writer = server.writer();
    const late =
      <Given extends unknown[], Answer>(send: (...given: Given) => Promise<Answer>) =>
      async (...given: Given): Promise<Answer> => {
        await lag(this.world.clock, this.#lagMs());
        const answer = await send(...given);
        await lag(this.world.clock, this.#lagMs());
        return answer;
      };
    return { ...writer, create: late(writer.create), patch: late(writer.patch), remove: late(writer.remove) };
  }

  async start(): Promise<void> {
    const { world } = this;
    const writers = { virtualWriter: this.#slow(world.virtual), hostWriter: this.#slow(world.host) };
    const rules = createRules(endpointsKind, settings, { patcher: world.how.patcher });
    await world.run({ ...writers, rules, awaits: 'EndpointSlice', isLeader: () => this.#isOn.endpoints });
    await world.runSlices({ ...writers, isBeside: true, isLeader: () => this.#isOn.slices });
  }

  async stop(): Promise<void> {
    const stopped = this.world.stopBoth();
    await this.world.clock.advance(200);
    await stopped;
  }

  #reload(): void {
    for (const sync of [this.world.sync, this.world.slices]) sync.setRules({ ...sync.world.rules });
  }

  async play(one: Act): Promise<void> {
    const { world } = this;
    switch (one.do) {
      case 'endpoints':
        world.putEndpoints(one.of, one.ip);
        break;
      case 'slice':
        world.virtual.remove('endpointslices', one.of.namespace, one.isMirrored ? one.name : '');
        world.putSlice(one.of, { name: one.name, addresses: [one.ip], ...(one.isMirrored && { manager: mirroring }) });
        break;
      case 'gone':
        if (one.name === undefined) world.virtual.remove('endpoints', one.of.namespace, one.of.name);
        else world.virtual.remove('endpointslices', one.of.namespace, one.name);
        break;
      case 'service':
      case 'selector':
        world.put(service(one.of.name, one.of.namespace, one.do === 'selector' ? { selector: { a: 'b' } } : {}));
        break;
      case 'noService':
        world.virtual.remove('services', one.of.namespace, one.of.name);
        break;
      case 'wait':
        await world.clock.advance(one.ms);
        break;
      case 'restart':
        await this.stop();
        await this.start();
        break;
      case 'reload':
        this.#reload();
        break;
      case 'removeCopies':
        world.removeCopies();
        break;
      case 'switch':
        this.#isOn[one.kind] = !this.#isOn[one.kind];
        this.#reload();
        break;
      default:
        one satisfies never;
    }
    await world.rest();
  }

  async settle(): Promise<void> {
    this.#isOn.endpoints = true;
    this.#isOn.slices = true;
    this.#reload();
    await this.world.clock.advance(5000);
  }

  /** The objects of a Service that must be on the host when the Service has the name. */
  wanted({ namespace, name: serviceName }: TwinService): KubeObject[] {
    const { virtual } = this.world;
    const found = virtual.get('services', namespace, serviceName);
    if (found === undefined || 'selector' in (found['spec'] as object)) return [];
    const pair = virtual.get('endpoints', namespace, serviceName);
    const isPairFine = pair !== undefined && isAllowed(pair);
    const slices = virtual.list('endpointslices').filter((one) => {
      const isMirrored = one.metadata.labels?.['endpointslice.kubernetes.io/managed-by'] === mirroring;
      return one.metadata.namespace === namespace && isAllowed(one) && (!isMirrored || isPairFine);
    });
    return isPairFine ? [pair, ...slices] : slices;
  }

  /** Addresses on which the patches throw keep their copies, and their claim to the name. */
  get hasThrown(): boolean {
    const { virtual } = this.world;
    return JSON.stringify([virtual.list('endpoints'), virtual.list('endpointslices')]).includes(thrown);
  }
}

function isAllowed(object: KubeObject): boolean {
  return ![spoilt, thrown, loopback].some((address) => JSON.stringify(object).includes(address));
}

const runs = Number(process.env['HOSTWARD_FC_RUNS'] ?? 40);

it('the addresses of two Services never mix, and one of them has the name in the end', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 16 }), fc.nat(), async (acts, seed) => {
      const game = new Game(seed);
      await game.start();
      for (const one of acts) await game.play(one);
      await game.settle();
      const { world } = game;
      const candidates = both.filter((one) => game.wanted(one).length > 0);
      if (candidates.length > 0 && !game.hasThrown) {
        const holder = candidates.find(({ namespace }) => world.behind()[0] === namespace);
        expect(holder, `one of ${candidates.map((one) => one.namespace)} has the name`).toBeDefined();
        expect(world.copies().map(originOf).sort()).toEqual(
          game
            .wanted(holder as TwinService)
            .map(nameOf)
            .sort(),
        );
      }
      world.host.writes.length = 0;
      await game.stop();
      await game.start();
      await world.clock.advance(100_000);
      expect(world.host.writes).toEqual([]);
      await game.stop();
    }),
    { numRuns: runs },
  );
}, 60_000);

const nameOf = ({ kind, metadata: { namespace, name: own } }: KubeObject) => `${kind} ${namespace}/${own}`;
const originOf = ({ kind, metadata: { annotations = {} } }: KubeObject) =>
  `${kind} ${annotations['vcluster.loft.sh/object-namespace']}/${annotations['vcluster.loft.sh/object-name']}`;
