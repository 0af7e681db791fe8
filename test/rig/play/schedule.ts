// Makes the schedule of a seed. Several seeds share a scenario: it is learned once without faults, and each seed then places other faults at
// requests that were seen. The first fault of a seed goes through all cells of the table in turn, and two more through all pairs of classes.
import type { FaultVerb, PlacedFault } from '../faults/placed.ts';
import type { Recipe } from '../faults/recipes/recipe.ts';
import { recipes } from '../faults/recipes/recipes.ts';
import { type RigSide, rigSides } from '../stage/rig-cluster.ts';
import { drawScenario } from '../traffic/draw.ts';
import { Chance } from './random.ts';
import type { Played, Schedule } from './run.ts';

/** A learned scenario serves so many seeds in a row. */
export const seedsOfScenario = 4;
/** Seeds are whole numbers up to this one, so that they survive JSON and a command line. */
export const greatestSeed = 2 ** 32 - 1;

/** The first seed of those that share a scenario. */
export function scenarioOf(seed: number): number {
  return seed - (seed % seedsOfScenario);
}

export interface Cell {
  recipe: Recipe;
  side: RigSide;
  verb: FaultVerb;
}

/** Where a recipe can strike: the daemon has its lease on the host, and makes and deletes nothing of the tenant's but imports. */
export const cells: readonly Cell[] = recipes.flatMap((recipe) =>
  (recipe.sides ?? rigSides).flatMap((side) =>
    recipe.verbs.filter((verb) => side === 'host' || verb !== 'lease').map((verb) => ({ recipe, side, verb })),
  ),
);

export const classes: readonly string[] = [...new Set(recipes.map((one) => one.class))];

/** Nearly every fault found by hand needed two at once: every seed has one of these pairs placed, and seeds in a row go through all. */
export const pairs: readonly (readonly [string, string])[] = classes.flatMap((one, at) =>
  classes.slice(at + 1).map((other) => [one, other] as const),
);

/** A class that needs two daemons, whom one scenario in five has: half of those have it placed. */
const ofTwoDaemons = 'F41';
const shareOfTwo = 0.5;

/** Strides without a common divisor with the number of cells, or of pairs, visit all of them. */
const stride = 101;
const pairStride = 236;

export function learnedSchedule(seed: number): Schedule {
  const first = scenarioOf(seed);
  return { seed: first, scenario: drawScenario(new Chance(first, 'scenario')), faults: [] };
}

export function placedSchedule(seed: number, learned: Schedule, { seen }: Pick<Played, 'seen'>): Schedule {
  const chance = new Chance(seed, 'faults');
  const possible = cells.filter(({ side, verb }) => (seen.get(`${side} ${verb}`) ?? 0) > 0);
  const faults: PlacedFault[] = [];
  const turn = (seed * stride) % cells.length;
  const first = [...cells.slice(turn), ...cells.slice(0, turn)].find((cell) => possible.includes(cell));
  if (first !== undefined) faults.push(placed(first, chance, seen));
  const [one, other] = pairOf(seed, learned.scenario.daemons, chance);
  for (const name of [one, other]) {
    const fitting = possible.filter(({ recipe }) => recipe.class === name);
    if (fitting.length > 0 && faults.every((fault) => fault.class !== name))
      faults.push(placed(chance.pick(fitting), chance, seen));
  }
  return { seed: learned.seed, scenario: learned.scenario, faults };
}

export function pairOf(seed: number, daemons: number, chance: Chance): readonly [string, string] {
  const [one, other] = pairs[(seed * pairStride) % pairs.length] as readonly [string, string];
  if (daemons > 1 && chance.isHit(shareOfTwo))
    return [ofTwoDaemons, one === ofTwoDaemons ? other : chance.isHit(0.5) ? one : other];
  return [one, other];
}

function placed({ recipe, side, verb }: Cell, chance: Chance, seen: Played['seen']): PlacedFault {
  return {
    class: recipe.class,
    recipe: recipe.name,
    side,
    verb,
    // Other faults cost requests, and a late one of the trace may never come.
    nth: Math.ceil((seen.get(`${side} ${verb}`) ?? 1) * chance.next() ** 2) || 1,
    times: chance.pick(recipe.times ?? [1]),
    ms: chance.pick(recipe.ms ?? [0]),
    size: chance.pick(recipe.size ?? [1]),
  };
}
