// A scene has a phase of its own between two calm moments, and objects that nothing else touches: so the model knows what must become of it. Each puts
// objects into a state from which only one thing leads on: news about another object, a count that ends, a mark, a switch.
import type { Chance } from '../play/random.ts';
import type { Act, At, Synced } from './acts.ts';
import type { Features, Variant } from './features.ts';

type Way = readonly [needs: Partial<Variant>, acts: () => Act[]];

const shortCalm: Act = { do: 'calm', isShort: true };
const wait = (ms: number): Act => ({ do: 'wait', ms });
const service = (at: At, hasSelector = false): Act => ({ do: 'service', at, hasSelector, isCopied: true });
const uncopied = (at: At): Act => ({ do: 'service', at, hasSelector: false, isCopied: false });
const removed = (side: 'virtual' | 'host', resource: Synced | 'services', at: At): Act => ({
  ...{ do: 'remove', side, resource, at },
});
const annotated = (
  side: 'virtual' | 'host',
  about: { resource: Synced; at: At; key: string },
  value: string | null,
): Act => ({
  ...{ do: 'edit', side, field: 'annotations', value },
  ...about,
});
/** A value that makes the patch "fail" throw. */
const failing = { note: 'boom' };

export interface SceneOptions {
  chance: Chance;
  features: Features;
  make(at: At, kind: Synced): Act;
  version(): number;
}

export interface Scene {
  acts: readonly Act[];
  /** The same features, with what the scene needs in each configuration. */
  features: Features;
}

export function drawScene(options: SceneOptions): Scene {
  return new Stage(options).scene();
}

class Stage {
  readonly #options: SceneOptions;
  readonly #chance: Chance;

  constructor(options: SceneOptions) {
    this.#options = options;
    this.#chance = options.chance;
  }

  scene(): Scene {
    const { features } = this.#options;
    const kind = this.#chance.weigh<() => Scene>([
      [7, () => this.#with(this.#released())],
      [4, () => this.#with([{ patches: ['reference'] }, () => this.#content()])],
      [2, () => this.#with([{}, () => this.#marked()])],
      [3, () => this.#with([{ backSync: 'all', excluded: [] }, () => this.#editedAgain()])],
      [features.kinds.length > 1 ? 2 : 0, () => this.#switched()],
    ]);
    return kind();
  }

  #with([needs, acts]: Way): Scene {
    const { features } = this.#options;
    const { patches = [], ...others } = needs;
    const variants = features.variants.map((one) => ({
      ...{ ...one, ...others },
      patches: [...one.patches, ...patches.filter((name) => !one.patches.includes(name))],
    }));
    const hasReferences = features.hasReferences || patches.includes('reference');
    return { acts: acts(), features: { ...features, variants, hasReferences } };
  }

  #kind(): Synced {
    return this.#chance.pick(this.#options.features.kinds);
  }

  /** Nothing but what the scene says keeps it from the host. */
  #made(at: At, kind: Synced, more: object = {}): Act {
    const made: Record<string, unknown> = { ...this.#options.make(at, kind) };
    for (const field of ['isHostile', 'managedBy']) delete made[field];
    return { ...made, ...more } as unknown as Act;
  }

  /** An object may not be on the host, and then it may, while nothing happens to itself; or the other way round. */
  #released(): Way {
    const { features } = this.#options;
    const kind = this.#kind();
    const at: At = { namespace: 't1', name: 'held' };
    const held = (block: readonly Act[], release: readonly Act[]): Act[] => [
      ...[...block, this.#made(at, kind), wait(2_000)],
      ...[...release, wait(4_000)],
    ];
    const ways: (readonly [number, () => Way])[] = [
      [1, () => [{}, () => held([service(at, true)], [service(at)])]],
      [1, () => [{}, () => held([], [service(at)])]],
      [1, () => [{}, () => held([service(at), this.#stranger(kind, at)], [removed('host', kind, at)])]],
      [1, () => [{}, () => held([service(at), { do: 'owner', exists: false }], [{ do: 'owner', exists: true }])]],
      [features.isMapped ? 0 : 6, () => [{ patches: ['fail'] }, () => this.#rivals(features.kinds.at(-1) ?? kind)]],
      [features.kinds.length > 1 ? 6 : 0, () => [{ patches: ['fail'], isMirrored: true }, () => this.#sources()]],
    ];
    return this.#chance.weigh(ways)();
  }

  #stranger(resource: Synced, at: At): Act {
    return { do: 'stranger', resource, at, marks: 'otherCluster' };
  }

  /** Two objects want one name of the host. The first one often fails, so that no copy of it says when the name is free. */
  #rivals(kind: Synced): Act[] {
    const chance = this.#chance;
    const [one, other]: [At, At] = [
      { namespace: 't1', name: 's-x-b' },
      { namespace: 'b-x-t1', name: 's' },
    ];
    // Slices may meet on a name while their Services do not.
    const isApart = kind === 'endpointslices' && chance.isHit(0.8);
    const serviceOf = (at: At): At => (isApart ? { ...at, name: at === one ? 'web' : 'api' } : at);
    const founded = (at: At, more: object): Act[] => [
      uncopied(serviceOf(at)),
      this.#made(at, kind, kind === 'endpoints' ? more : { ...more, service: serviceOf(at).name }),
    ];
    const first = founded(one, chance.isHit(0.7) ? { annotations: failing } : {});
    const goes = chance.pick<Act>([
      ...Array.from({ length: 4 }, () => removed('virtual', kind, one)),
      removed('virtual', 'services', serviceOf(one)),
      { do: 'service', at: serviceOf(one), hasSelector: true, isCopied: false },
    ]);
    return [...first, wait(1_100), ...founded(other, {}), wait(2_000), goes, wait(4_000)];
  }

  /** A slice that was made from an Endpoints goes and comes with it. */
  #sources(): Act[] {
    const at: At = { namespace: 't1', name: 'source' };
    const managedBy = 'endpointslicemirroring-controller.k8s.io';
    const fine = (): Act => this.#made(at, 'endpoints', { annotations: {} });
    const wrong = (): Act =>
      this.#made(at, 'endpoints', this.#chance.isHit(0.5) ? { annotations: failing } : { isHostile: true });
    const slice = this.#made({ ...at, name: 'source-1' }, 'endpointslices', { service: at.name, managedBy });
    const [first, second] = this.#chance.isHit(0.5) ? [wrong(), fine()] : [fine(), wrong()];
    const third = this.#chance.isHit(0.3) ? [removed('virtual', 'endpoints', at), wait(3_000)] : [];
    return [service(at), first, slice, wait(3_000), second, wait(4_000), ...third];
  }

  /** Content is named, changes, is named by others, and at the end by nobody. */
  #content(): Act[] {
    const chance = this.#chance;
    const namespace = 't1';
    const side = chance.isHit(0.7) ? 'virtual' : 'host';
    const content = (on: 'virtual' | 'host', name = 'own'): Act => ({
      ...{ do: 'content', side: on, resource: 'secrets', at: { namespace, name } },
      ...{ value: `content-${this.#options.version()}`, isImportable: true },
    });
    const referrers = ['names', 'names-too'].map((name) => ({ resource: this.#kind(), at: { namespace, name } }));
    const name = (nth: number, value: string | null, on: 'virtual' | 'host' = 'virtual'): Act => {
      const about = referrers[nth] as (typeof referrers)[number];
      return annotated(on, { ...about, key: 'example.com/secret' }, value);
    };
    const founded = referrers.flatMap(({ at, resource }): Act[] => [
      service(at),
      this.#made(at, resource, { annotations: {} }),
    ]);
    const possible: (() => Act)[] = [
      () => content(side),
      () => content(side),
      () => content('virtual', 'two'),
      () => name(1, 'own'),
      () => name(0, 'two'),
      () => name(0, 'own'),
      () => ({ do: chance.isHit(0.5) ? 'restart' : 'kill', daemon: 0 }),
      () => ({ do: 'reload', configuration: 0 }),
    ];
    const changes = Array.from({ length: chance.between(2, 4) }, () => [chance.pick(possible)(), wait(2_000)]).flat();
    const ends = [0, 1].map((nth) => (chance.isHit(0.3) ? this.#goes(referrers[nth]) : name(nth, null)));
    const last = chance.isHit(0.8) ? ends : ends.slice(0, 1);
    return [content(side), ...founded, name(0, 'own'), wait(2_000), ...changes, ...last, wait(4_000)];
  }

  #goes(referrer: { resource: Synced; at: At } | undefined): Act {
    return removed('virtual', referrer?.resource ?? 'endpoints', referrer?.at ?? { namespace: 't1', name: 'names' });
  }

  /** The host edits a key, and again while the first edit may be half on its way back: a failure then must not make it the tenant's. */
  #editedAgain(): Act[] {
    const chance = this.#chance;
    const at: At = { namespace: 't1', name: 'edited' };
    const resource = this.#kind();
    const edit = (key: string, value: string): Act => ({
      ...{ do: 'edit', side: 'host', resource, at, field: 'labels', key, value },
    });
    const twice = ['tier', 'app', 'own'].flatMap((key): Act[] => [
      ...[edit(key, 't-one'), wait(chance.pick([20, 200, 600, 1_500])), edit(key, 't-two'), wait(3_000)],
    ]);
    // Behind a calm moment the model knows what both sides held.
    return [service(at), this.#made(at, resource), shortCalm, ...twice];
  }

  /** A mark on the copy tells the daemon to keep its hands off, or to let the copy stay; one that the tenant has set means nothing. */
  #marked(): Act[] {
    const chance = this.#chance;
    const at: At = { namespace: 't1', name: 'marked' };
    const resource = this.#kind();
    const [key, value] = chance.pick([
      ['vcluster.loft.sh/skip-backsync', 'true'],
      ['vcluster.loft.sh/controlled-by', 'other'],
      ['service.kubernetes.io/headless', 'h'],
    ] as const);
    const isTenants = chance.isHit(0.3);
    const first = this.#made(at, resource, { annotations: isTenants ? { [key]: value } : {} });
    const mark = isTenants ? [] : [annotated('host', { resource, at, key }, value), wait(2_000)];
    const possible: (() => Act)[] = [
      () => removed('virtual', resource, at),
      () => removed('virtual', 'services', at),
      () => this.#made(at, resource, { annotations: {} }),
      () => ({ do: 'payload', resource, at }),
      () => annotated('host', { resource, at, key }, null),
    ];
    const later = Array.from({ length: chance.between(1, 2) }, () => [chance.pick(possible)(), wait(3_000)]).flat();
    return [service(at), first, wait(2_000), ...mark, ...later];
  }

  /** A kind is switched off, both sides go on, and it is switched on again. */
  #switched(): Scene {
    const { features } = this.#options;
    const chance = this.#chance;
    const off = this.#kind();
    const at: At = { namespace: 't1', name: 'switched' };
    const resource = chance.isHit(0.8) ? off : this.#kind();
    const [first] = features.variants as readonly [Variant];
    const variants = [...features.variants, { ...first, off: [off] }];
    const load = (configuration: number): Act[] => [{ do: 'reload', configuration }, wait(4_000)];
    const possible: (() => Act)[] = [
      () => this.#made(at, resource),
      () => this.#made({ ...at, name: 'switched-too' }, resource, resource === 'endpoints' ? {} : { service: at.name }),
      () => removed('virtual', resource, at),
      () => removed('host', resource, at),
      () => ({ do: 'payload', resource, at }),
      () => removed('virtual', 'services', at),
    ];
    const unseen = Array.from({ length: chance.between(1, 3) }, () => [chance.pick(possible)(), wait(1_000)]).flat();
    const acts: Act[] = [
      ...[...load(0), service(at), service({ ...at, name: 'switched-too' }), this.#made(at, resource), wait(3_000)],
      ...[shortCalm, ...load(variants.length - 1), ...unseen, shortCalm],
      ...load(0),
    ];
    return { acts, features: { ...features, variants } };
  }
}
