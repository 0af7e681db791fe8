// Makes the schedule of a seed. Several seeds share a scenario: it is learned once without faults, and each seed then places other faults at
// requests that were seen. The first fault of a seed goes through all cells of the table in turn, the others are drawn.
import type { FaultVerb, PlacedFault } from './faults/placed.ts';
import { type Recipe, recipes } from './faults/recipes.ts';
import { Chance } from './random.ts';
import type { Played, Schedule } from './run.ts';
import { type RigSide, rigSides } from './stage/rig-cluster.ts';
import { drawScenario } from './traffic/draw.ts';

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

/** Faults that few scenarios can meet, or that seldom find a line to strike, are placed beside the others too. */
const rare = [
  { class: 'F41', share: 0.1, daemons: 2 },
  { class: 'F8', share: 0.02, daemons: 1 },
  { class: 'F40', share: 0.04, daemons: 1 },
] as const;

/** A stride without a common divisor with the number of cells visits all of them. */
const stride = 101;

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
  const more = chance.weigh([
    [4, 0],
    [4, 1],
    [2, 2],
  ] as const);
  for (let nth = 0; nth < more && possible.length > 0; nth++) faults.push(placed(chance.pick(possible), chance, seen));
  for (const { class: of, share, daemons } of rare) {
    const draw = new Chance(seed, of);
    const cell = draw.isHit(share) ? possible.find(({ recipe }) => recipe.class === of) : undefined;
    if (cell !== undefined && learned.scenario.daemons >= daemons) faults.push(placed(cell, draw, seen));
  }
  return { seed: learned.seed, scenario: learned.scenario, faults };
}

function placed({ recipe, side, verb }: Cell, chance: Chance, seen: Played['seen']): PlacedFault {
  return {
    class: recipe.class,
    recipe: recipe.name,
    side,
    verb,
    nth: chance.between(1, seen.get(`${side} ${verb}`) ?? 1),
    times: chance.pick(recipe.times ?? [1]),
    ms: chance.pick(recipe.ms ?? [0]),
    size: chance.pick(recipe.size ?? [1]),
  };
}
