// Asks the model at every calm moment what must be in both clusters, and says each difference. In: the world. The model is the one in model/,
// written by somebody who has not seen the daemon.
import { existsSync } from 'node:fs';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import type { CalmPoint, Deed, Holding, InForce, Model, PlainObject } from '../model/words/types.ts';
import { kindOfResource, type RigSide, registry, rigSides } from '../stage/rig-cluster.ts';
import { hostNamespace, virtualCluster } from '../traffic/acts.ts';
import type { Board } from './board.ts';
import { HalfBacks, type Observed } from './half-back.ts';
import { type Difference, judge } from './judge.ts';

const file = new URL('../model/model.ts', import.meta.url);

/** Undefined as long as nobody has written it. */
export async function loadModel(): Promise<Model | undefined> {
  if (!existsSync(file)) return undefined;
  const { expectationOf } = (await import(file.href)) as { expectationOf: Model };
  return expectationOf;
}

const ofKubernetes: readonly string[] = ['kube-system', 'kube-public', 'kube-node-lease', 'default'];
type Resource = keyof typeof kindOfResource;
const resources = Object.keys(kindOfResource) as Resource[];

export class ModelOracle {
  readonly #world: Observed;
  readonly #board: Board;
  readonly #model: Model;
  readonly #hasSeenAll: () => boolean;
  readonly #halfBacks: HalfBacks;
  #before: Holding = { virtual: [], host: [] };
  #from: Record<RigSide, number> = { virtual: 0, host: 0 };
  #configurations = 0;

  constructor(world: Observed, board: Board, options: { model: Model; hasSeenAll: () => boolean }) {
    this.#world = world;
    this.#board = board;
    this.#model = options.model;
    this.#hasSeenAll = options.hasSeenAll;
    this.#halfBacks = new HalfBacks(world);
    world.ears.push(this.#halfBacks);
  }

  /** Called before a daemon starts. */
  begin(): void {
    this.#turn(this.#now());
  }

  #turn(now: Holding): void {
    this.#before = now;
    for (const side of rigSides) this.#from[side] = this.#world.clusters[side].store.written.length;
    this.#configurations = Math.max(0, this.#world.configurations.length - 1);
  }

  /** To be called when everything has been still for long enough. */
  check(): void {
    const now = this.#now();
    for (const { kind, what } of this.differences(now)) this.#board.say('model', kind, what);
    this.#turn(now);
  }

  /** Of this moment, without a verdict. */
  differences(now: Holding = this.#now()): Difference[] {
    const point: CalmPoint = {
      virtualCluster,
      hostNamespace,
      configurations: this.#world.configurations.slice(this.#configurations) as unknown as CalmPoint['configurations'] &
        [InForce, ...InForce[]],
      before: this.#before,
      deeds: this.#deeds(),
      now,
      hasSeenAll: this.#hasSeenAll(),
      absences: this.#world.absences,
      halfBacks: this.#halfBacks.since(this.#from.virtual),
    };
    return judge(this.#model(structuredClone(point)), now);
  }

  #now(): Holding {
    const holding = (side: RigSide): PlainObject[] =>
      resources.flatMap((resource) =>
        this.#world.clusters[side]
          .objects(resource)
          .filter(({ metadata }) => isPeoples(metadata.namespace ?? metadata.name ?? ''))
          .map((object) => plain(resource, object)),
      );
    return { virtual: holding('virtual'), host: holding('host') };
  }

  #deeds(): Deed[] {
    return rigSides.flatMap((side) =>
      this.#world.clusters[side].store.written
        .slice(this.#from[side])
        .flatMap(({ key, by, before, after, atMs }): Deed[] => {
          const resource = resources.find((one) => key.startsWith(`${registry[one]}/`));
          const namespace = key.split('/').at(-2) ?? '';
          if (resource === undefined || by?.daemon !== undefined || !isPeoples(namespace)) return [];
          const verb = before === undefined ? 'create' : after === undefined ? 'delete' : 'change';
          return [
            {
              side,
              verb,
              atMs,
              ...(before && { before: plain(resource, before) }),
              ...(after && { after: plain(resource, after) }),
            },
          ];
        }),
    );
  }
}

function isPeoples(namespace: string): boolean {
  return !ofKubernetes.includes(namespace);
}

function plain(resource: Resource, object: KubeObject): PlainObject {
  return { ...kindOfResource[resource], ...object, ...kindOfResource[resource] } as unknown as PlainObject;
}
