// Draws a scenario from a seed: a configuration out of all features together, what is there before the daemon starts, and what people do
// then. Faults found by hand nearly always needed two features at once, so none is kept apart from the others.
import type { Chance } from '../play/random.ts';
import { type Act, type At, type Pairs, type Scenario, type Synced, tenantNamespaces } from './acts.ts';
import { configurationsOf, drawFeatures, type Features, pathOf, turned } from './features.ts';
import { drawScene, type Scene } from './scenes.ts';

/** Few names, so that acts meet; the last pair meets on one host name, the long one is hashed there. */
const names = ['web', 'api', 'a', 'a-x-b', `long-${'n'.repeat(50)}`];
const sharing: readonly At[] = [
  { namespace: 't1', name: 'a-x-b' },
  { namespace: 'b-x-t1', name: 'a' },
];
const labelKeys = ['app', 'tier', 'team', 'release'];
const annotationKeys = ['note', 'example.com/tier', 'example.com/secret', 'hidden'];
const values = ['one', 'two', 'x-three', 'secret-a', 'boom'];
const marks = [
  'vcluster.loft.sh/managed-by',
  'vcluster.loft.sh/object-name',
  'vcluster.loft.sh/object-uid',
  'vcluster.loft.sh/object-host-name',
  'hostward.dev/base',
];
/** A burst, a short pause, one that outlasts a retry, one that outlasts a proof. */
const pausesMs = [0, 0, 0, 5, 40, 300, 2_000, 12_000, 70_000];
const phaseCount = 2;
const actsInPhase = 9;

export function drawScenario(chance: Chance): Scenario {
  const drawn = drawFeatures(chance);
  const draw = new Draw(chance, drawn);
  const before = Array.from({ length: chance.between(2, 5) }, () => draw.founding()).flat();
  const phases = Array.from({ length: phaseCount }, () =>
    Array.from({ length: chance.between(3, actsInPhase) }, () => {
      const acts = draw.act();
      const ms = chance.pick(pausesMs);
      return ms > 0 ? [...acts, { do: 'wait', ms } as Act] : acts;
    }).flat(),
  );
  const last = [...draw.importBehindSlice(), ...draw.unseen()];
  const { acts: scene, features } = draw.scene();
  const { features: more, patch } = chance.isHit(0.4) ? turned(features, chance) : { features, patch: undefined };
  const turn = more === features ? [] : draw.turn(more, patch);
  const [first = [], second = []] = phases;
  const lastChance: Act = { do: 'lastChance' };
  const calm = { do: 'calm' } as const;
  const [short, middle]: [Act, Act] = [
    { ...calm, isShort: true },
    { ...calm, isShort: 'withFaults' },
  ];
  const acts = [...first, short, ...scene, middle, ...second, lastChance, ...last, ...turn, calm];
  const { daemons, isMapped, isTls, kinds } = features;
  return { configurations: configurationsOf(more), daemons, isMapped, isTls, kinds, before, acts };
}

export class Draw {
  readonly #chance: Chance;
  readonly #features: Features;
  readonly #known: At[] = [];
  #version = 0;

  constructor(chance: Chance, features: Features) {
    this.#chance = chance;
    this.#features = features;
  }

  #at(): At {
    const isKnown = this.#known.length > 0 && this.#chance.isHit(0.8);
    if (isKnown) return this.#chance.pick(this.#known);
    const at = { namespace: this.#chance.pick(tenantNamespaces), name: this.#chance.pick(names) };
    this.#known.push(at);
    return at;
  }

  #pairs(keys: readonly string[]): Pairs {
    return Object.fromEntries(
      keys.filter(() => this.#chance.isHit(0.3)).map((key) => [key, this.#chance.pick(values)]),
    );
  }

  #kind(): Synced {
    return this.#chance.pick(this.#features.kinds);
  }

  /** A Service with what it has behind it, in any order. */
  founding(): Act[] {
    const at = this.#at();
    const service: Act = {
      do: 'service',
      at,
      hasSelector: this.#chance.isHit(0.08),
      isCopied: this.#chance.isHit(0.8),
    };
    const content = this.#features.hasReferences && this.#chance.isHit(0.6) ? [this.#content('virtual')] : [];
    const acts = [...content, service, this.#make(at, this.#kind())];
    if (this.#features.kinds.length > 1 && this.#chance.isHit(0.5)) acts.push(this.#make(at, this.#kind()));
    return this.#chance.isHit(0.3) ? acts.reverse() : acts;
  }

  #make(at: At, kind: Synced): Act {
    const version = ++this.#version;
    const labels = this.#pairs(labelKeys);
    if (kind === 'endpoints') {
      const annotations = this.#pairs(annotationKeys);
      const isHostile = this.#chance.isHit(0.06);
      return { do: 'endpoints', at, version, labels, annotations, ...(isHostile && { isHostile: true }) };
    }
    const managedBy = this.#chance.weigh<string | undefined>([
      [6, undefined],
      [2, 'tenant.example.com'],
      [
        this.#features.variants.some(({ isMirrored }) => isMirrored) ? 6 : 2,
        'endpointslicemirroring-controller.k8s.io',
      ],
      [1, 'endpointslice-controller.k8s.io'],
    ]);
    const type = this.#chance.isHit(0.15) ? 'IPv6' : 'IPv4';
    return { do: 'slice', at, service: at.name, version, labels, type, ...(managedBy !== undefined && { managedBy }) };
  }

  #content(side: 'virtual' | 'host'): Act {
    const name = this.#chance.pick(['secret-a', 'two']);
    const resource = this.#chance.isHit(0.7) ? 'secrets' : 'configmaps';
    const namespace = this.#chance.pick(tenantNamespaces);
    const value = `content-${++this.#version}`;
    return { do: 'content', side, resource, at: { namespace, name }, value, isImportable: this.#chance.isHit(0.6) };
  }

  act(): Act[] {
    const at = this.#at();
    const resource = this.#kind();
    const chance = this.#chance;
    const field = chance.isHit(0.5) ? 'labels' : 'annotations';
    const key = chance.pick(field === 'labels' ? labelKeys : annotationKeys);
    const value = chance.isHit(0.25) ? null : chance.pick(values);
    const acts = chance.weigh<() => Act[]>([
      [14, () => [this.#make(at, resource)]],
      [6, () => this.founding()],
      [8, () => [{ do: 'edit', side: 'virtual', resource, at, field, key, value }]],
      [10, () => [{ do: 'edit', side: 'host', resource, at, field, key, value }]],
      [5, () => [{ do: 'payload', resource, at }]],
      [4, () => [{ do: 'remove', side: 'virtual', resource, at }]],
      [5, () => [{ do: 'remove', side: 'host', resource, at }]],
      [3, () => [{ do: 'remove', side: 'virtual', resource: 'services', at }]],
      [4, () => [{ do: 'service', at, hasSelector: chance.isHit(0.4), isCopied: chance.isHit(0.7) }]],
      [2, () => [{ do: 'copyService', at }]],
      [4, () => [{ do: 'recreate', resource, at, version: ++this.#version }]],
      [4, () => [{ do: 'damage', resource, at, mark: chance.pick(marks), value: chance.isHit(0.5) ? null : 'wrong' }]],
      [
        3,
        () => [{ do: 'stranger', resource, at, marks: chance.pick(['none', 'otherCluster', 'otherObject'] as const) }],
      ],
      [
        1,
        () => [
          { do: 'owner', exists: false },
          { do: 'wait', ms: chance.pick([10, 5_000]) },
          { do: 'owner', exists: true },
        ],
      ],
      [3, () => [{ do: 'reload', configuration: chance.whole(this.#features.reloads + 1) }]],
      [2, () => [{ do: chance.isHit(0.5) ? 'restart' : 'kill', daemon: chance.whole(this.#features.daemons) }]],
      [2, () => this.#rival(at, resource)],
      [3, () => this.#contest(resource)],
      [4, () => this.#editsAgain({ resource, at, field, key })],
      [3, () => this.#editsUnseen({ resource, at, field, key })],
      ...(this.#features.hasReferences
        ? ([
            [6, () => [this.#content(chance.isHit(0.6) ? 'virtual' : 'host')]],
            [
              3,
              () => [
                {
                  do: 'removeContent',
                  side: chance.isHit(0.6) ? 'virtual' : 'host',
                  resource: 'secrets',
                  at: { namespace: at.namespace, name: chance.pick(['secret-a', 'two']) },
                },
              ],
            ],
            [
              5,
              () => [
                {
                  do: 'edit',
                  side: chance.isHit(0.6) ? 'virtual' : 'host',
                  resource,
                  at,
                  field: 'annotations',
                  key: 'example.com/secret',
                  value: chance.pick(['secret-a', 'two', 'one', null]),
                },
              ],
            ],
          ] as [number, () => Act[]][])
        : []),
    ]);
    return acts();
  }

  /** Both sides change one key while no daemon looks: the host first, so that only the rule decides who wins. */
  #editsUnseen(edited: { resource: Synced; at: At; field: 'labels' | 'annotations'; key: string }): Act[] {
    const chance = this.#chance;
    const edit = (side: 'virtual' | 'host'): Act => {
      const value = chance.isHit(0.2) ? null : chance.pick(values);
      return { do: 'edit', side, ...edited, value };
    };
    return [...this.#downs(), edit('host'), { do: 'wait', ms: 10 }, edit('virtual'), { do: 'wait', ms: 4_000 }];
  }

  scene(): Scene {
    const [chance, features] = [this.#chance, this.#features];
    const version = (): number => ++this.#version;
    return drawScene({ chance, features, version, make: (at, kind) => this.#make(at, kind) });
  }

  #downs(): Act[] {
    return Array.from({ length: this.#features.daemons }, (_, daemon): Act => ({ do: 'down', daemon, ms: 3_000 }));
  }

  /** Several things happen to one object while no daemon looks, so that it finds them together: a rule that holds for each may fail for two. */
  unseen(): Act[] {
    const chance = this.#chance;
    const at = this.#at();
    const resource = this.#kind();
    const object = this.#make(at, resource) as Extract<Act, { do: 'endpoints' | 'slice' }>;
    const made: Act[] = [{ do: 'service', at, hasSelector: false, isCopied: true }, object];
    const field = chance.isHit(0.5) || object.do === 'slice' ? 'labels' : 'annotations';
    const edit = (side: 'virtual' | 'host', value = chance.isHit(0.3) ? null : chance.pick(values)): Act => {
      const own = Object.keys(field === 'labels' || object.do === 'slice' ? object.labels : object.annotations);
      const all = field === 'labels' ? labelKeys : annotationKeys;
      return { do: 'edit', side, resource, at, field, key: chance.pick(own.length > 0 ? own : all), value };
    };
    const stripped: Act = { do: 'damage', resource, at, mark: 'hostward.dev/base', value: null };
    const possible: (() => Act)[] = [
      () => edit('host'),
      () => edit('virtual'),
      () => edit('virtual'),
      () => stripped,
      () => ({ do: 'damage', resource, at, mark: chance.pick(marks), value: chance.isHit(0.7) ? null : 'wrong' }),
      () => ({ do: 'recreate', resource, at, version: ++this.#version }),
      () => ({ do: 'remove', side: 'virtual', resource, at }),
      () => ({ do: 'remove', side: 'host', resource, at }),
      () => ({ do: 'payload', resource, at }),
    ];
    if (this.#features.hasReferences && chance.isHit(0.6)) this.#addReference({ at, resource, made, possible });
    // Without a base only the rules say what a missing key means.
    const acts = chance.isHit(0.25)
      ? [stripped, edit('virtual', null)]
      : Array.from({ length: chance.between(2, 3) }, () => chance.pick(possible)());
    const apart = acts.flatMap((act): Act[] => [act, { do: 'wait', ms: 10 }]);
    return [...made, { do: 'wait', ms: 2_000 }, ...this.#downs(), ...apart, { do: 'wait', ms: 4_000 }];
  }

  /** Loads the last configuration: often while no daemon runs, and after a host edit of a key whose patches it changes. */
  turn({ variants }: Features, patch: string | undefined): Act[] {
    const chance = this.#chance;
    const [, field, key] = /^metadata\.(labels|annotations)\["(.*)"\]$/.exec(pathOf(patch ?? '')) ?? [];
    const load: Act[] = [
      { do: 'reload', configuration: variants.length - 1 },
      { do: 'wait', ms: 4_000 },
    ];
    if (field === undefined || key === undefined || !chance.isHit(0.9)) return load;
    const isOwn = chance.isHit(0.75);
    const about = { resource: this.#kind(), at: isOwn ? { namespace: 't1', name: 'turned' } : this.#at() };
    const made = isOwn ? this.#turned(about, { field: field as 'labels' | 'annotations', key }) : [];
    const value = chance.pick(values);
    const edit: Act = { do: 'edit', side: 'host', ...about, field: field as 'labels' | 'annotations', key, value };
    const downs = chance.isHit(0.85) ? this.#downs() : [];
    return [...made, ...downs, edit, { do: 'wait', ms: chance.pick([0, 10]) }, ...load];
  }

  /** An object that has the key on both sides, when somebody leads again: what the old patches made of it stands on the host when the new ones come. */
  #turned(
    { resource, at }: { resource: Synced; at: At },
    edited: { field: 'labels' | 'annotations'; key: string },
  ): Act[] {
    const { field, key } = edited;
    const version = ++this.#version;
    const keys = { labels: {}, annotations: {}, [field]: { [key]: this.#chance.pick(values) } };
    const object: Act =
      resource === 'endpoints'
        ? { do: 'endpoints', at, version, ...keys }
        : { do: 'slice', at, service: at.name, version, type: 'IPv4', ...keys };
    return [{ do: 'service', at, hasSelector: false, isCopied: true }, object, { do: 'wait', ms: 20_000 }];
  }

  /** The object names a Secret, which changes or goes meanwhile, or the name does. */
  #addReference(given: { at: At; resource: Synced; made: Act[]; possible: (() => Act)[] }): void {
    const { at, resource, made, possible } = given;
    const chance = this.#chance;
    const [side, other] = chance.isHit(0.5) ? (['virtual', 'host'] as const) : (['host', 'virtual'] as const);
    const secret = { namespace: at.namespace, name: 'secret-a' };
    const content = (on: 'virtual' | 'host'): Act => ({
      do: 'content',
      side: on,
      resource: 'secrets',
      at: secret,
      value: `content-${++this.#version}`,
      isImportable: chance.isHit(0.8),
    });
    const name = (on: 'virtual' | 'host', value: string | null): Act => ({
      ...{ do: 'edit', side: on, resource, at, field: 'annotations' },
      ...{ key: 'example.com/secret', value },
    });
    made.push(content(side), name('virtual', 'secret-a'));
    possible.push(
      () => content(side),
      () => content(side),
      () => content(other),
      () => name(chance.pick(['virtual', 'host']), chance.pick(['secret-a', 'two', null])),
      () => ({ do: 'removeContent', side: chance.pick(['virtual', 'host']), resource: 'secrets', at: secret }),
    );
  }

  /** Too rare by chance, and without chance, so that it leaves all other acts as they are. */
  importBehindSlice(): Act[] {
    const { kinds, hasReferences } = this.#features;
    if (kinds.length < 2 || !hasReferences) return [];
    const at = { namespace: 't1', name: 'imports' };
    const content = `content-${++this.#version}`;
    const annotations = { 'example.com/secret': 'imported' };
    return [
      { do: 'service', at, hasSelector: false, isCopied: false },
      { do: 'slice', at, service: at.name, version: ++this.#version, labels: {}, annotations, type: 'IPv4' },
      {
        do: 'content',
        side: 'host',
        resource: 'secrets',
        at: { ...at, name: 'imported' },
        value: content,
        isImportable: true,
      },
      { do: 'wait', ms: 4_000 },
    ];
  }

  /** The host changes one key twice, the second time while the first change may be on its way back. */
  #editsAgain(edited: { resource: Synced; at: At; field: 'labels' | 'annotations'; key: string }): Act[] {
    const [one, other] = [this.#chance.pick(values), this.#chance.pick(values)];
    const edit = (value: string): Act => ({ do: 'edit', side: 'host', ...edited, value });
    return [edit(one), { do: 'wait', ms: this.#chance.pick([0, 300, 2_000]) }, edit(other)];
  }

  /** Two objects want one name of the host, a second apart, and vCluster has copied neither Service: only age and place decide. */
  #contest(resource: Synced): Act[] {
    const chance = this.#chance;
    const [one, other] = (chance.isHit(0.5) ? sharing : [...sharing].reverse()) as [At, At];
    // Slices may meet on a name while their Services do not.
    const isApart = resource === 'endpointslices' && chance.isHit(0.5);
    const founded = (at: At): Act[] => {
      const own = isApart ? { ...at, name: at === one ? 'web' : 'api' } : at;
      const service: Act = { do: 'service', at: own, hasSelector: false, isCopied: false };
      const object = this.#make(at, resource);
      const acts = [service, object.do === 'slice' ? { ...object, service: own.name } : object];
      return chance.isHit(0.5) ? acts : acts.reverse();
    };
    // A daemon that was away finds both at once.
    const downs = chance.isHit(0.5) ? this.#downs() : [];
    const acts = [...founded(one), { do: 'wait', ms: 1_100 } as Act, ...founded(other)];
    return [...downs, ...(chance.isHit(0.5) ? this.#failing(acts, { at: one, resource }) : acts)];
  }

  /** The one with the better claim fails, so that it has no copy; and then it goes: the other has to hear of it. */
  #failing(acts: readonly Act[], { at, resource }: { at: At; resource: Synced }): Act[] {
    const failing = acts.map((act): Act => {
      const isMeant = (act.do === 'endpoints' || act.do === 'slice') && act.at === at;
      return isMeant ? { ...act, annotations: { ...act.annotations, note: 'boom' } } : act;
    });
    const gone: Act = { do: 'remove', side: 'virtual', resource, at };
    return [...failing, { do: 'wait', ms: 2_000 }, gone, { do: 'wait', ms: 2_000 }];
  }

  /** A program of the host that undoes our writes, several times in a second. */
  #rival(at: At, resource: Synced): Act[] {
    return Array.from({ length: this.#chance.between(4, 9) }, () => [
      { do: 'payload', resource, at } as Act,
      { do: 'wait', ms: this.#chance.pick([100, 400]) } as Act,
    ]).flat();
  }
}
