// Prints results as a table and saves them as JSON. Every figure comes with its goal and with the state of the machine, because
// a figure alone misleads.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { round } from './statistics.ts';

export interface Figure {
  name: string;
  value: number;
  unit: string;
  /** The project's goal; undefined for figures that only explain other figures. */
  wanted?: { atMost: number } | { atLeast: number };
  note?: string;
}

export class Report {
  readonly figures: Figure[] = [];
  readonly details: Record<string, unknown> = {};
  readonly #question: string;
  readonly #loadAtStart: number;

  constructor(question: string, loadAtStart: number) {
    this.#question = question;
    this.#loadAtStart = loadAtStart;
  }

  add(figure: Figure): void {
    this.figures.push({ ...figure, value: round(figure.value, 3) });
    process.stdout.write(`${lineOf(this.figures.at(-1) as Figure)}\n`);
  }

  missed(): Figure[] {
    return this.figures.filter((figure) => !isReached(figure));
  }

  /** Saves outside the repository, because figures belong to one machine and one day. */
  save(loadAtEnd: number): string {
    const folder = fileURLToPath(new URL('results', import.meta.url));
    mkdirSync(folder, { recursive: true });
    const date = new Date().toISOString();
    const path = `${folder}/${this.#question}-${date.replace(/[:.]/g, '-')}.json`;
    const machine = { cores: cpus().length, platform: process.platform, node: process.version };
    const load = { atStart: this.#loadAtStart, atEnd: loadAtEnd };
    const result = { question: this.#question, date, commit: commit(), machine, load, figures: this.figures };
    writeFileSync(path, `${JSON.stringify({ ...result, details: this.details }, undefined, 2)}\n`);
    return path;
  }
}

export function isReached({ value, wanted }: Figure): boolean {
  if (wanted === undefined) return true;
  return 'atMost' in wanted ? value <= wanted.atMost : value >= wanted.atLeast;
}

export function lineOf(figure: Figure): string {
  const { name, value, unit, wanted, note } = figure;
  const goal = wanted === undefined ? '' : 'atMost' in wanted ? `<= ${wanted.atMost}` : `>= ${wanted.atLeast}`;
  const verdict = wanted === undefined ? '' : isReached(figure) ? 'reached' : 'MISSED';
  const columns = [name.padEnd(46), String(value).padStart(10), unit.padEnd(8), goal.padEnd(9), verdict.padEnd(8)];
  return `${columns.join(' ')} ${note ?? ''}`.trimEnd();
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}
