// Random acts on both sides, with lagging watches, wrong lists and restarts of the daemon, must end in one state: the host
// matches the virtual side, the writes stop, and tenants' objects were written only to carry an edit of the host back.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type KubeObject, keyOf } from '../../../src/object/meta/object.ts';
import { endpointsKind } from '../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import {
  isNeverBack,
  markerLabel,
  namespaceLabel,
  objectKeys,
  theSix,
} from '../../../src/sync/plan/keys/reserved-keys.ts';
import { sampled } from '../../sampled.ts';
import { edit, endpoints, FakeWorld, ipOf, service } from '../fake-sync.ts';
import { bury, Fuse, live } from '../fuse.ts';

/** The last two keys claim the same host name. */
const keys = [
  { namespace: 'default', name: 'web' },
  { namespace: 'default', name: 'api-x-default' },
  { namespace: 'default-x-default', name: 'api' },
];
type At = (typeof keys)[number];

const at = fc.constantFrom(...keys);
const ip = fc.constantFrom('10.0.0.1', '10.0.0.2', '10.0.0.3', '127.0.0.1');
const labelKey = fc.constantFrom('app', 'release', 'service.kubernetes.io/headless', 'vcluster.loft.sh/managed-by');
const value = fc.constantFrom('1', '2', null);
const windowName = fc.constantFrom('virtual', 'services', 'host');

type Act =
  | { do: 'put'; at: At; ip: string; created: string }
  | { do: 'editTenants'; at: At; ip: string | undefined; key: string; value: string | null }
  | { do: 'removeTenants' | 'removeService' | 'putService' | 'select'; at: At }
  | { do: 'editCopy'; at: At; key: string; value: string | null; ip: string | undefined }
  | { do: 'damageCopy'; at: At; mark: string }
  | { do: 'removeCopy'; at: At }
  | { do: 'hold' | 'deliver' | 'relist'; window: 'virtual' | 'services' | 'host' }
  | { do: 'restart' }
  | { do: 'crash'; writes: number; moment: 'before' | 'after' }
  | { do: 'wait'; ms: number };

const tenantsAct: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('put' as const),
      at,
      ip,
      created: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('editTenants' as const),
      at,
      ip: fc.option(ip, { nil: undefined }),
      key: labelKey,
      value,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('removeTenants' as const, 'removeService' as const, 'putService' as const, 'select' as const),
      at,
    }),
  },
);
const disturbance: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('hold' as const, 'deliver' as const, 'relist' as const),
      window: windowName,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('crash' as const),
      writes: fc.integer({ min: 1, max: 3 }),
      moment: fc.constantFrom('before' as const, 'after' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(100, 2000, 70_000) }) },
);
const hostAct: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('editCopy' as const),
      at,
      key: labelKey,
      value,
      ip: fc.option(ip, { nil: undefined }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('removeCopy' as const), at }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('damageCopy' as const),
      at,
      mark: fc.constantFrom(objectKeys.kind, objectKeys.uid, objectKeys.hostName, objectKeys.name),
    }),
  },
);

class Game {
  readonly world: FakeWorld;
  /** Places whose copy was damaged while the daemon could not see the damage, or had to delay its repair. */
  readonly damagedUnseen = new Set<string>();
  #fuse = new Fuse(() => undefined);

  constructor({ isHostRecent }: { isHostRecent: boolean }) {
    this.world = new FakeWorld({ isHostRecent });
  }

  async begin(): Promise<void> {
    await live(this.world, this.#fuse);
  }

  async play(act: Act): Promise<void> {
    const { world } = this;
    switch (act.do) {
      case 'put': {
        const { namespace, name } = act.at;
        if (world.virtual.get('services', namespace, name) === undefined)
          world.virtual.put('services', service(name, namespace));
        const before = world.virtual.get('endpoints', namespace, name);
        const metadata = before?.metadata ?? { namespace, creationTimestamp: act.created, labels: {} };
        world.virtual.put('endpoints', endpoints(name, act.ip, metadata));
        break;
      }
      case 'editTenants':
        this.#edit('virtual', act.at, act);
        break;
      case 'editCopy':
        this.#edit('host', act.at, act);
        break;
      case 'damageCopy': {
        const copy = this.copyOf(act.at);
        // Without its marker and one of the six, the copy would count as foreign for the rest of the run.
        if (copy?.metadata.labels?.[markerLabel] !== 'vc') break;
        if (world.windows.host.isHeld || this.#isDelayed(act.at)) this.damagedUnseen.add(placeName(act.at));
        edit(world.host, copy, (draft) => delete draft.metadata.annotations?.[act.mark]);
        break;
      }
      case 'removeCopy':
        world.host.remove('endpoints', 'vcluster-vc', placeName(act.at));
        break;
      case 'removeTenants':
        world.virtual.remove('endpoints', act.at.namespace, act.at.name);
        break;
      case 'removeService':
        world.virtual.remove('services', act.at.namespace, act.at.name);
        break;
      case 'putService':
      case 'select':
        world.virtual.put(
          'services',
          service(act.at.name, act.at.namespace, act.do === 'select' ? { selector: { a: 'b' } } : {}),
        );
        break;
      case 'hold':
        world.windows[act.window].isHeld = true;
        break;
      case 'deliver':
        world.windows[act.window].isHeld = false;
        world.windows[act.window].deliver();
        break;
      case 'relist':
        await world.windows[act.window].relist();
        break;
      case 'restart':
        await bury(world);
        await live(world, this.#fuse);
        break;
      case 'crash': {
        const dies = this.#fuse.written.length + act.writes;
        this.#fuse = new Fuse((nth) => (nth === dies ? act.moment : undefined));
        await bury(world);
        await live(world, this.#fuse);
        break;
      }
      case 'wait':
        await world.clock.advance(act.ms);
        break;
      default:
        act satisfies never;
    }
    await world.quiet();
    await this.#revive();
  }

  async #revive(): Promise<void> {
    if (!this.#fuse.isBlown) return;
    this.#fuse = new Fuse(() => undefined);
    await bury(this.world);
    await live(this.world, this.#fuse);
  }

  #edit(
    side: 'virtual' | 'host',
    where: At,
    change: { key: string; value: string | null; ip: string | undefined },
  ): void {
    const server = this.world[side];
    const object = side === 'host' ? this.copyOf(where) : server.get('endpoints', where.namespace, where.name);
    if (object === undefined) return;
    const isWhole = theSix.every((key) => object.metadata.annotations?.[key] !== undefined);
    if (side === 'host' && change.key === markerLabel && !isWhole) return;
    edit(server, object, (draft) => {
      const labels = { ...draft.metadata.labels };
      if (change.value === null) delete labels[change.key];
      else labels[change.key] = change.value;
      draft.metadata.labels = labels;
      if (change.ip !== undefined) draft['subsets'] = endpoints('', change.ip)['subsets'];
    });
  }

  #isDelayed(where: At): boolean {
    const { contest } = this.world.sync;
    const rivals = keys.filter((one) => placeName(one) === placeName(where));
    return rivals.some(({ namespace, name }) => contest.delayBeforeRepair(keyOf(namespace, name)) > 0);
  }

  copyOf(where: At): KubeObject | undefined {
    return this.world.host.get('endpoints', 'vcluster-vc', placeName(where));
  }

  async settle(): Promise<void> {
    for (const window of ['virtual', 'services', 'host'] as const) await this.play({ do: 'deliver', window });
    for (let second = 0; second < 4; second++) await this.play({ do: 'wait', ms: 20_000 });
  }

  async end(): Promise<void> {
    await this.world.stop();
  }

  /** The keys that may hold the host name now; among several, the incumbent decides. */
  candidates(where: At): At[] {
    return keys.filter((one) => placeName(one) === placeName(where) && this.#isEligible(one));
  }

  #isEligible({ namespace, name }: At): boolean {
    const object = this.world.virtual.get('endpoints', namespace, name);
    const found = this.world.virtual.get('services', namespace, name);
    const selector = (found?.['spec'] as { selector?: object } | undefined)?.selector;
    return object !== undefined && found !== undefined && selector === undefined && ipOf(object) !== '127.0.0.1';
  }
}

function placeName({ namespace, name }: At): string {
  return `${name}-x-${namespace}-x-vc`;
}

function expectFunction(game: Game): void {
  for (const where of keys) {
    const copy = game.copyOf(where);
    const candidates = game.candidates(where);
    const annotations = copy?.metadata.annotations ?? {};
    if (candidates.length === 0) {
      // A damaged copy that no longer names its virtual object is never deleted.
      if (game.damagedUnseen.has(placeName(where)) && annotations[objectKeys.name] === undefined) continue;
      expect(copy, `${where.name} must have no host copy`).toBeUndefined();
      continue;
    }
    const holder = candidates.find(
      (one) => one.name === annotations[objectKeys.name] && one.namespace === annotations[objectKeys.namespace],
    );
    expect(holder, `one of ${candidates.map(({ name }) => name)} holds ${placeName(where)}`).toBeDefined();
    const virtual = game.world.virtual.get('endpoints', (holder as At).namespace, (holder as At).name) as KubeObject;
    expect(copy?.['subsets']).toEqual(virtual['subsets']);
    expect(annotations[objectKeys.uid]).toBe(virtual.metadata.uid);
    expect(theSix.filter((key) => annotations[key] === undefined)).toEqual([]);
    expect(labelsOf(copy)).toEqual(labelsOf(virtual));
    expect(copy?.metadata.labels?.[markerLabel]).toBe('vc');
    expect(copy?.metadata.labels?.[namespaceLabel]).toBe((holder as At).namespace);
  }
}

const rewritten: Record<string, string> = {
  'vcluster.loft.sh/label-vc-x-a4d451ec23': 'release',
  'vcluster.loft.sh/label-vc-x-e5f1b28ab2': markerLabel,
};

/** The labels in virtual spelling, without those that never flow back. */
function labelsOf(object: KubeObject | undefined): [string, string][] {
  const isHost = object?.metadata.annotations?.[objectKeys.uid] !== undefined;
  return Object.entries(object?.metadata.labels ?? {})
    .filter(([key]) => !isHost || (key !== markerLabel && key !== namespaceLabel && key !== 'release'))
    .map(([key, text]): [string, string] => [(isHost ? rewritten[key] : undefined) ?? key, text])
    .filter(([key]) => key === markerLabel || !isNeverBack(key, endpointsKind))
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

async function expectSilence(game: Game): Promise<void> {
  const { virtual, host } = game.world;
  host.writes.length = 0;
  virtual.writes.length = 0;
  await game.play({ do: 'restart' });
  await game.play({ do: 'wait', ms: 3_600_000 });
  expect([...host.writes, ...virtual.writes].filter((one) => !one.includes(' events '))).toEqual([]);
}

/** A copy vanishes unseen while its object becomes ineligible: only our delete request tells the rival that the name is free. */
const goneUnseen: Act[] = [
  { do: 'put', at: keys[2] as At, ip: '10.0.0.1', created: '2026-01-01T00:00:00Z' },
  { do: 'hold', window: 'services' },
  { do: 'hold', window: 'host' },
  { do: 'removeCopy', at: keys[2] as At },
  { do: 'select', at: keys[2] as At },
  { do: 'put', at: keys[1] as At, ip: '10.0.0.1', created: '2026-01-01T00:00:00Z' },
];

/** A copy is damaged unseen, and then the address policy refuses its object. */
const damagedUnseen: Act[] = [
  { do: 'put', at: keys[2] as At, ip: '10.0.0.1', created: '2026-01-01T00:00:00Z' },
  { do: 'hold', window: 'host' },
  { do: 'damageCopy', at: keys[2] as At, mark: objectKeys.name },
  { do: 'editTenants', at: keys[2] as At, ip: '127.0.0.1', key: 'app', value: '1' },
];

const runs = Number(process.env['HOSTWARD_FC_RUNS'] ?? sampled(120));

describe('sync converges', () => {
  it('the host matches the virtual side in the end, and the writes stop', async () => {
    const act = fc.oneof(
      { weight: 4, arbitrary: tenantsAct },
      { weight: 3, arbitrary: hostAct },
      { weight: 3, arbitrary: disturbance },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 30 }), fc.boolean(), async (acts, isHostRecent) => {
        const game = new Game({ isHostRecent });
        await game.begin();
        for (const one of acts) await game.play(one);
        await game.settle();
        expectFunction(game);
        await expectSilence(game);
        await game.end();
      }),
      { numRuns: runs, examples: [goneUnseen, damagedUnseen].map((acts): [Act[], boolean] => [acts, false]) },
    );
  }, 60_000);

  it('never writes to the tenant without an edit on the host, even when copies are lost', async () => {
    const losing = fc.record({ do: fc.constant('removeCopy' as const), at });
    const act = fc.oneof(
      { weight: 4, arbitrary: tenantsAct },
      { weight: 2, arbitrary: losing },
      { weight: 3, arbitrary: disturbance },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 30 }), fc.boolean(), async (acts, isHostRecent) => {
        const game = new Game({ isHostRecent });
        await game.begin();
        for (const one of acts) await game.play(one);
        await game.settle();
        expectFunction(game);
        expect(game.world.virtual.writes.filter((one) => !one.includes(' events '))).toEqual([]);
        await game.end();
      }),
      { numRuns: runs },
    );
  }, 60_000);

  it('never deletes or creates a tenant’s object because of an act on the host', async () => {
    const act = fc.oneof(
      { weight: 3, arbitrary: tenantsAct },
      { weight: 4, arbitrary: hostAct },
      { weight: 2, arbitrary: disturbance },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 20 }), fc.boolean(), async (acts, isHostRecent) => {
        const game = new Game({ isHostRecent });
        await game.begin();
        for (const one of acts) await game.play(one);
        await game.settle();
        const others = game.world.virtual.writes.filter(
          (one) => !one.includes(' events ') && !one.startsWith('patch endpoints '),
        );
        expect(others).toEqual([]);
        await game.end();
      }),
      { numRuns: Math.ceil(runs / 2) },
    );
  }, 60_000);
});
