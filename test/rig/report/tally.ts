// Adds up what a run of many seeds has reached and found. Data, so that a long run can stop and go on.
import type { FaultVerb, PlacedFault } from '../faults/placed.ts';
import { faultVerbs } from '../faults/placed.ts';
import { recipes } from '../faults/recipes.ts';
import type { Violation } from '../oracles/board.ts';
import { type RigSide, rigSides } from '../stage/rig-cluster.ts';

/** One seed's line in a report. */
export interface SeedLine {
  seed: number;
  placed: readonly PlacedFault[];
  struck: readonly PlacedFault[];
  violations: readonly Violation[];
  requests: number;
  virtualMs: number;
  cpuMs: number;
}

export interface CellCount {
  schedules: number;
  reached: number;
  violations: number;
}

/** A class counts as tried when so many schedules in a hundred have reached it. */
const leastShare = 0.004;

export class Tally {
  readonly #cells = new Map<string, CellCount>();
  readonly #pairs = new Set<string>();
  readonly failures: SeedLine[] = [];
  seeds = 0;
  requests = 0;
  virtualMs = 0;
  cpuMs = 0;

  add(line: SeedLine): void {
    this.seeds++;
    this.requests += line.requests;
    this.virtualMs += line.virtualMs;
    this.cpuMs += line.cpuMs;
    if (line.violations.length > 0) this.failures.push(line);
    for (const one of line.placed) this.#cell(one).schedules++;
    for (const one of line.struck) {
      this.#cell(one).reached++;
      if (line.violations.length > 0) this.#cell(one).violations++;
      for (const other of line.struck) if (one.class < other.class) this.#pairs.add(`${one.class} ${other.class}`);
    }
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

  /** Classes that were hardly tried; only a run that is long enough for all of them is judged. */
  missed(): string[] {
    if (this.seeds < 250) return [];
    return classes.filter((name) => this.reached(name) < this.least);
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
    const all = (classes.length * (classes.length - 1)) / 2;
    return (
      `${this.seeds} seeds, ${this.failures.length} with violations; ${this.requests} requests, ` +
      `${seconds(this.virtualMs)} s of virtual time, ${(each / 1000).toFixed(2)} s of CPU a seed, ` +
      `${this.#pairs.size} of ${all} pairs of classes met`
    );
  }
}

export const classes: readonly string[] = [...new Set(recipes.map((one) => one.class))];

function isPossible(name: string, side: RigSide, verb: FaultVerb): boolean {
  if (side === 'virtual' && verb === 'lease') return false;
  return recipes.some(
    (one) => one.class === name && one.verbs.includes(verb) && (one.sides ?? rigSides).includes(side),
  );
}
