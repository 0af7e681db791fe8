// Adds up what a run of many seeds has reached and found. Data, so that a long run can stop and go on.
import type { FaultVerb, PlacedFault } from '../faults/placed.ts';
import { faultVerbs } from '../faults/placed.ts';
import { recipes } from '../faults/recipes/recipes.ts';
import type { Violation } from '../oracles/board.ts';
import { classes, pairName, pairs, seedsOfPlan } from '../play/schedule.ts';
import { type RigSide, rigSides } from '../stage/rig-cluster.ts';
import { sightNames } from '../traffic/sights.ts';
import { pairsApart } from './pairs-apart.ts';

/** One seed's line in a report. */
export interface SeedLine {
  seed: number;
  placed: readonly PlacedFault[];
  struck: readonly PlacedFault[];
  violations: readonly Violation[];
  sights: readonly string[];
  requests: number;
  virtualMs: number;
  cpuMs: number;
}

export interface CellCount {
  schedules: number;
  reached: number;
  violations: number;
}

/** In how many schedules both were placed, and both struck; and which of the two had nothing to strike, how often. */
interface PairCount {
  placed: number;
  met: number;
  idle: Map<string, number>;
}

/** A class counts as tried when such a share of the schedules has reached it: three of the 500 of a landing. */
const leastShare = 0.006;
/** At least this share of the pairs must strike: 95 of a hundred do, and a change of the daemon moves a few. */
const leastPairShare = 0.9;
/** Only a run that is long enough for all classes is judged. */
const judgedSeeds = 250;
/** The gate of a landing. */
const landingSeeds = 500;
/** So many pairs that were not met are told with a line each. */
const namedPairs = 100;
/** The plan places every pair; a scenario in which nothing asks for one of the two requests leaves it out. */
const mostUnplaced = 0.02;

export class Tally {
  readonly #cells = new Map<string, CellCount>();
  /** By pair of classes. */
  readonly #pairs = new Map<string, PairCount>();
  /** By recipe and by sight: in how many schedules. */
  readonly #recipes = new Map<string, number>();
  readonly #sights = new Map<string, number>();
  /** By the first seed of a plan: how many of its seeds were played. */
  readonly #plans = new Map<number, number>();
  readonly failures: SeedLine[] = [];
  seeds = 0;
  requests = 0;
  virtualMs = 0;
  cpuMs = 0;

  add(line: SeedLine): void {
    this.seeds++;
    const from = line.seed - (line.seed % seedsOfPlan);
    this.#plans.set(from, (this.#plans.get(from) ?? 0) + 1);
    this.requests += line.requests;
    this.virtualMs += line.virtualMs;
    this.cpuMs += line.cpuMs;
    if (line.violations.length > 0) this.failures.push(line);
    for (const one of line.placed) this.#cell(one).schedules++;
    for (const one of line.struck) {
      this.#cell(one).reached++;
      if (line.violations.length > 0) this.#cell(one).violations++;
    }
    for (const name of new Set(line.struck.map(({ recipe }) => recipe))) count(this.#recipes, name);
    for (const name of line.sights) count(this.#sights, name);
    for (const pair of pairsOf(line.struck)) this.#pair(pair).met++;
    const idle = line.placed.filter((one) => !line.struck.some((other) => other.class === one.class));
    for (const pair of pairsOf(line.placed)) {
      this.#pair(pair).placed++;
      for (const one of idle)
        if (pair.split(' ').includes(one.class))
          count(this.#pair(pair).idle, `${one.recipe} (${one.side} ${one.verb})`);
    }
  }

  #pair(name: string): PairCount {
    const pair = this.#pairs.get(name) ?? { placed: 0, met: 0, idle: new Map() };
    this.#pairs.set(name, pair);
    return pair;
  }

  #cell({ class: name, side, verb }: Pick<PlacedFault, 'class' | 'side' | 'verb'>): CellCount {
    const key = `${name} ${side} ${verb}`;
    const count = this.#cells.get(key) ?? { schedules: 0, reached: 0, violations: 0 };
    this.#cells.set(key, count);
    return count;
  }

  /** Schedules that reached a class. */
  reached(name: string): number {
    return [...this.#cells].reduce((sum, [key, one]) => (key.startsWith(`${name} `) ? sum + one.reached : sum), 0);
  }

  get least(): number {
    return Math.max(1, Math.floor(this.seeds * leastShare));
  }

  /** Classes and features that were hardly tried, and recipes that never struck. */
  missed(): string[] {
    if (this.seeds < judgedSeeds) return [];
    const names = recipes.map(({ name }) => name).filter((name) => !this.#recipes.has(name));
    return [
      ...classes.filter((name) => this.reached(name) < this.least),
      ...sightNames.filter((name) => (this.#sights.get(name) ?? 0) < this.least),
      // So many seeds place each recipe once; half of them may miss the rarest.
      ...(this.seeds < landingSeeds ? [] : names),
    ];
  }

  /** How often each recipe of the table has struck, and each feature was met. */
  countLines(): string[] {
    const shown = (names: readonly string[], counts: ReadonlyMap<string, number>): string =>
      names.map((name) => `${name} ${counts.get(name) ?? 0}`).join(', ');
    return [
      `recipes: ${shown(
        recipes.map(({ name }) => name),
        this.#recipes,
      )}`,
      `features: ${shown(sightNames, this.#sights)}`,
    ];
  }

  get metPairs(): number {
    return [...this.#pairs.values()].filter(({ met }) => met > 0).length;
  }

  /** Why too few pairs of classes were met; undefined when enough were. */
  get fewPairs(): string | undefined {
    const least = leastPairShare * Math.min(1, this.seeds / landingSeeds) * pairs.length;
    if (this.seeds < judgedSeeds || this.metPairs >= least) return undefined;
    return `${this.metPairs} of ${pairs.length} pairs of classes were met, wanted ${Math.ceil(least)}`;
  }

  /** What a whole plan of seeds has not placed without a reason, and what it has met although a reason says that nobody can. */
  pairFaults(): string[] {
    if (![...this.#plans.values()].some((played) => played >= seedsOfPlan)) return [];
    const of = (isFault: (pair: string) => boolean): string[] =>
      pairs.map(([one, other]) => pairName(one, other)).filter(isFault);
    const unplaced = of((pair) => (this.#pairs.get(pair)?.placed ?? 0) === 0 && !(pair in pairsApart));
    const met = of((pair) => (this.#pairs.get(pair)?.met ?? 0) > 0 && pair in pairsApart);
    return [
      ...(unplaced.length > pairs.length * mostUnplaced
        ? unplaced.map((pair) => `${pair}: no seed has placed this pair`)
        : []),
      ...met.map((pair) => `${pair}: these seeds have met this pair; take it off the list`),
    ];
  }

  /** The pairs that were not met, and why: which fault was placed and had nothing to strike. */
  pairLines(): string[] {
    const counts = pairs.map(([one, other]) => {
      const name = pairName(one, other);
      return { name: `${one}+${other}`, ...this.#pair(name), apart: pairsApart[name] };
    });
    const missing = counts.filter(({ met }) => met === 0);
    const never = missing.filter(({ placed }) => placed === 0).length;
    const told = missing.slice(0, namedPairs).map(({ name, placed, idle, apart }) => {
      if (apart !== undefined) return `${name}: ${apart}`;
      if (placed === 0) return `${name}: not placed by these seeds`;
      const why = [...idle].map(([fault, times]) => `${fault} ${times}`).join(', ');
      return `${name}: placed ${placed} times, and these found nothing to strike: ${why}`;
    });
    const more = missing.length > namedPairs ? [`and ${missing.length - namedPairs} more`] : [];
    return [
      `${this.metPairs} of ${pairs.length} pairs of classes met; ${never} not placed by these seeds`,
      ...(this.seeds < judgedSeeds ? [] : [...told, ...more]),
    ];
  }

  table(): string {
    const columns = rigSides.flatMap((side) => faultVerbs.map((verb) => [side, verb] as [RigSide, FaultVerb]));
    const head = [
      'class'.padEnd(6),
      ...columns.map(([side, verb]) => `${side[0]}:${verb}`.padStart(12)),
      'all'.padStart(8),
    ];
    const rows = classes.map((name) => {
      const texts = columns.map(([side, verb]) => {
        const count = this.#cells.get(`${name} ${side} ${verb}`);
        if (count !== undefined)
          return `${count.schedules}/${count.reached}${count.violations > 0 ? `!${count.violations}` : ''}`;
        return isPossible(name, side, verb) ? '0/0' : '–';
      });
      return [name.padEnd(6), ...texts.map((text) => text.padStart(12)), String(this.reached(name)).padStart(8)].join(
        '',
      );
    });
    return [head.join(''), ...rows, 'schedules placed / reached ! with a violation; – cannot happen there'].join('\n');
  }

  sentence(): string {
    const seconds = (ms: number): string => (ms / 1000).toFixed(0);
    const each = this.seeds === 0 ? 0 : this.cpuMs / this.seeds;
    return (
      `${this.seeds} seeds, ${this.failures.length} with violations; ${this.requests} requests, ` +
      `${seconds(this.virtualMs)} s of virtual time, ${(each / 1000).toFixed(2)} s of CPU a seed, ` +
      `${this.metPairs} of ${pairs.length} pairs of classes met`
    );
  }
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function pairsOf(faults: readonly PlacedFault[]): Set<string> {
  const names = [...new Set(faults.map((one) => one.class))].sort();
  return new Set(names.flatMap((one, at) => names.slice(at + 1).map((other) => pairName(one, other))));
}

function isPossible(name: string, side: RigSide, verb: FaultVerb): boolean {
  if (side === 'virtual' && verb === 'lease') return false;
  return recipes.some(
    (one) => one.class === name && one.verbs.includes(verb) && (one.sides ?? rigSides).includes(side),
  );
}
