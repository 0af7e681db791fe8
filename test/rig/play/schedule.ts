// Makes the schedule of a seed. Several seeds share a scenario: it is learned once without faults, and each seed then places other faults at
// requests that were seen. The first fault of a seed goes through all cells of the table in turn, and two more complete the pairs of classes.
import type { FaultVerb, PlacedFault } from '../faults/placed.ts';
import type { Recipe } from '../faults/recipes/recipe.ts';
import { recipes } from '../faults/recipes/recipes.ts';
import { type RigSide, rigSides } from '../stage/rig-cluster.ts';
import { drawScenario } from '../traffic/draw.ts';
import { drawFeatures, type Features } from '../traffic/features.ts';
import { furtherNames, withFurtherScene, withSmallPages } from '../traffic/further-scenes.ts';
import { lateNames, withFarewell, withLateScene, withWatchLag } from '../traffic/late-scenes.ts';
import { withSlowExpressions } from '../traffic/slow-expressions.ts';
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

/** Nearly every fault found by hand needed two at once. */
export const pairs: readonly (readonly [string, string])[] = classes.flatMap((one, at) =>
  classes.slice(at + 1).map((other) => [one, other] as const),
);

/** So many seeds in a row, from a multiple of it on, place every pair: as many as a landing plays. */
export const seedsOfPlan = 500;
/** What a scenario must have for a class, beyond a request that it can strike. */
const needs: Readonly<Record<string, (features: Features) => boolean>> = {
  F40: ({ variants }) => variants[0]?.leaderElection === 'always',
  F41: ({ daemons }) => daemons > 1,
};
/** Few scenarios have what these need, so such a scenario places them first. */
const rarity: Readonly<Record<string, number>> = { F40: 3, F41: 9 };

/** How many times as often a recipe is drawn in its own scene. */
const inSceneTimes = 8;
/** A stride without a common divisor with the number of cells visits all of them. */
const stride = 101;
/** Where the search for a pair begins: so that equal ones do not always give the first. */
const pairStride = 236;

export function learnedSchedule(seed: number): Schedule {
  const first = scenarioOf(seed);
  const scenario = drawScenario(new Chance(first, 'scenario'));
  const lagging = withWatchLag(scenario, new Chance(first, 'watch lag'));
  const late = withLateScene(lagging, new Chance(first, 'late scene'));
  const further = withFurtherScene(late, new Chance(first, 'further scene'));
  const paged = withSmallPages(further, new Chance(first, 'small pages'));
  const left = withFarewell(paged, new Chance(first, 'farewell'));
  return { seed: first, scenario: withSlowExpressions(left, new Chance(first, 'expressions')), faults: [] };
}

export function placedSchedule(seed: number, learned: Schedule, { seen }: Pick<Played, 'seen'>): Schedule {
  const chance = new Chance(seed, 'faults');
  const possible = cells.filter(({ side, verb }) => (seen.get(`${side} ${verb}`) ?? 0) > 0);
  const faults: PlacedFault[] = [];
  const [one, other, own] = trioOf(seed);
  // Where the cell that is due cannot strike, another one of its class keeps the planned pairs.
  const aiming = new Chance(seed, 'aim');
  const first =
    meantCell(possible, { of: own, learned, aiming }) ??
    firstCell(seed, (cell) => possible.includes(cell) && cell.recipe.class === own) ??
    firstCell(seed, (cell) => possible.includes(cell));
  const aims = aimsOf(learned);
  const place = (cell: Cell): void => void faults.push(aimed(placed(cell, chance, seen), aims, aiming));
  if (first !== undefined) place(first);
  for (const name of [one, other]) {
    const fitting = possible.filter(({ recipe }) => recipe.class === name);
    if (fitting.length > 0 && faults.every((fault) => fault.class !== name))
      place(chance.weigh(fitting.map((cell) => [weightOf(cell, learned), cell])));
  }
  return { seed: learned.seed, scenario: learned.scenario, faults };
}

/** The objects of scenes: what only they bring about is struck by chance too seldom. */
function aimsOf({ scenario }: Schedule): readonly string[] {
  const names = scenario.acts.flatMap((act) => ('at' in act && act.do !== 'content' ? [act.at.name] : []));
  return [...new Set(names.filter((name) => sceneNames.some((one) => name.startsWith(one))))];
}

const sceneNames = [
  'held',
  's-x-b',
  'source',
  'names',
  'edited',
  'marked',
  'switched',
  ...Object.values(lateNames),
  ...furtherNames,
];
const aimedShare = 0.4;

/** Some faults of writes strike the first writes of one object. */
function aimed(fault: PlacedFault, aims: readonly string[], chance: Chance): PlacedFault {
  if (aims.length === 0 || !['create', 'update', 'delete'].includes(fault.verb)) return fault;
  const [isAimed, one, nth] = [chance.isHit(aimedShare), chance.pick(aims), chance.pick([1, 1, 2])];
  const { scene } = recipes.find(({ name }) => name === fault.recipe) ?? {};
  const own = aims.find((name) => scene !== undefined && isOf(name, scene));
  return isAimed || own !== undefined ? { ...fault, about: own ?? one, nth } : fault;
}

/** The objects of a scene are numbered. */
const isOf = (name: string, scene: string): boolean => name === scene || name.startsWith(`${scene}-`);

function weightOf({ recipe }: Cell, learned: Schedule): number {
  return (recipe.weight ?? 1) * (isMeant(recipe, learned) ? inSceneTimes : 1);
}

function isMeant({ scene }: Recipe, { scenario }: Schedule): boolean {
  return scene !== undefined && scenario.acts.some((act) => 'at' in act && isOf(act.at.name, scene));
}

/** Where a scene waits for one fault of the class that is due, that one often goes before the cell that is due. */
function meantCell(
  possible: readonly Cell[],
  { of, learned, aiming }: { of: string; learned: Schedule; aiming: Chance },
): Cell | undefined {
  const meant = possible.filter(
    ({ recipe, side, verb }) => recipe.class === of && side === 'host' && verb === 'update' && isMeant(recipe, learned),
  );
  return meant.length > 0 && aiming.isHit(meantShare) ? aiming.pick(meant) : undefined;
}

const meantShare = 0.6;

function firstCell(seed: number, isPossible: (cell: Cell) => boolean): Cell | undefined {
  const turn = (seed * stride) % cells.length;
  return [...cells.slice(turn), ...cells.slice(0, turn)].find(isPossible);
}

/** The two classes that a seed places beside its first fault. */
export function pairOf(seed: number): readonly [string, string] {
  const [one, other] = trioOf(seed);
  return [one, other];
}

/** With the class of the first fault. */
function trioOf(seed: number): Trio {
  const from = seed - (seed % seedsOfPlan);
  if (plan?.from !== from) plan = { from, trios: planOf(from) };
  return plan.trios[seed - from] as Trio;
}

type Trio = readonly [string, string, string];

/** The fault classes that a seed is about to place, as far as they are known before its scenario is played. */
export function classesOf(seed: number): readonly string[] {
  const first = firstCell(seed, () => true)?.recipe.class;
  return [...(first === undefined ? [] : [first]), ...pairOf(seed)];
}

let plan: { from: number; trios: readonly Trio[] } | undefined;

/**
 * Three faults of a seed make three pairs. Each seed takes the two classes that, with each other and with the class of its first fault, bring
 * most of what its forerunners have not placed, and its scenario can have.
 */
function planOf(from: number): Trio[] {
  const counts = new Map<string, number>();
  const worth = (one: string, other: string): number =>
    one === other ? 0 : ((rarity[one] ?? 1) + (rarity[other] ?? 1)) * 4 ** -(counts.get(pairName(one, other)) ?? 0);
  const count = (one: string, other: string): void =>
    void counts.set(pairName(one, other), (counts.get(pairName(one, other)) ?? 0) + 1);
  return Array.from({ length: seedsOfPlan }, (_, nth) => {
    const seed = from + nth;
    const features = featuresOf(seed);
    const isFit = (name: string): boolean => needs[name]?.(features) ?? true;
    const hasLease = needs['F40']?.(features) === true;
    const first = firstCell(seed, ({ recipe, verb }) => (verb !== 'lease' || hasLease) && isFit(recipe.class));
    const name = first?.recipe.class ?? '';
    const others = new Map(classes.map((other) => [other, worth(name, other)]));
    const turn = (seed * pairStride) % pairs.length;
    let best: { pair: readonly [string, string]; gain: number } | undefined;
    for (let at = 0; at < pairs.length; at++) {
      const pair = pairs[(turn + at) % pairs.length] as readonly [string, string];
      const [one, other] = pair;
      if (one === name || other === name || !isFit(one) || !isFit(other)) continue;
      const gain = worth(one, other) + (others.get(one) ?? 0) + (others.get(other) ?? 0);
      if (best === undefined || gain > best.gain) best = { pair, gain };
    }
    const [one, other] = best?.pair ?? (pairs[0] as readonly [string, string]);
    for (const [a, b] of [
      [name, one],
      [name, other],
      [one, other],
    ] as const)
      count(a, b);
    return [one, other, name];
  });
}

/** The same for both orders. */
export function pairName(one: string, other: string): string {
  return one < other ? `${one} ${other}` : `${other} ${one}`;
}

/** The first that a scenario draws. */
function featuresOf(seed: number): Features {
  const scenario = scenarioOf(seed);
  if (drawn?.scenario !== scenario) drawn = { scenario, features: drawFeatures(new Chance(scenario, 'scenario')) };
  return drawn.features;
}

let drawn: { scenario: number; features: Features } | undefined;

/** At one of the requests that were seen, the early ones more often. */
export function placed({ recipe, side, verb }: Cell, chance: Chance, seen: Played['seen']): PlacedFault {
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
