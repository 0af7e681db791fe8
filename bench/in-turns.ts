// What has a bench of this checkout become beside another one? Plays both in turns, since a machine drifts within the hour, and prints
// the median of each figure: `--other FOLDER [--turns "A B B A"] BENCH... -- OPTIONS OF THE BENCH`. A is the other checkout.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Figure } from './report.ts';
import { median, round } from './statistics.ts';

const arguments_ = process.argv.slice(2);
const end = arguments_.indexOf('--');
const own = end === -1 ? arguments_ : arguments_.slice(0, end);
const passedOn = end === -1 ? [] : arguments_.slice(end + 1);
const usage = `Usage: node bench/in-turns.ts --other FOLDER [--turns "A B B A"] BENCH... [-- OPTIONS OF THE BENCH]

A is the checkout in FOLDER, with its packages installed, B is this one. BENCH is the name of a file, like management
for bench/management.bench.ts.
`;

/** Of a mistake in the words of the command. */
function wrong(why: string): never {
  process.stderr.write(`${why}\n\n${usage}`);
  process.exit(2);
}

const { values, positionals } = asked();
if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}
if (values.other === undefined || positionals.length === 0) wrong('wanted --other FOLDER and a bench, like management');
if (!existsSync(join(values.other, 'bench')))
  wrong(`--other wants a checkout, and ${values.other} has no folder bench`);
if (!/^[AB]( [AB])*$/.test(values.turns))
  wrong(`--turns wants A and B with spaces between them, found "${values.turns}"`);
const folders: Record<string, string> = { A: values.other, B: join(import.meta.dirname, '..') };

/** By the name of the figure, then by the side. */
const found = new Map<string, Record<string, number[]>>();
for (const side of values.turns.split(' '))
  for (const bench of positionals)
    for (const { name, value, unit } of play(folders[side] as string, bench)) {
      const figure = `${bench}: ${name}${unit === '' ? '' : `, ${unit}`}`;
      const sides = found.get(figure) ?? { A: [], B: [] };
      found.set(figure, sides);
      sides[side]?.push(value);
    }
for (const [figure, { A: other = [], B: here = [] }] of found) {
  const [a, b] = [median(other), median(here)];
  const change = a === 0 ? '' : `${round((b / a - 1) * 100, 1)} %`;
  process.stdout.write(
    `${figure.padEnd(70)} ${String(round(a, 3)).padStart(10)} ${String(round(b, 3)).padStart(10)} ${change}\n`,
  );
}

function asked() {
  const options = {
    other: { type: 'string' },
    turns: { type: 'string', default: 'A B B A B A A B' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  try {
    return parseArgs({ args: own, allowPositionals: true, options });
  } catch (error) {
    return wrong((error as Error).message);
  }
}

function play(folder: string, bench: string): Figure[] {
  const command = ['src/launcher/with-node.mjs', `bench/${bench}.bench.ts`, ...passedOn];
  // A gate that trips ends with 1 and has its figures all the same.
  const { stdout, stderr } = spawnSync(process.execPath, command, { cwd: folder, encoding: 'utf8' });
  const path = /\/\S*\/bench\/results\/\S+\.json/.exec(stdout)?.[0];
  if (path === undefined) wrong(`${folder}: bench/${bench}.bench.ts saved no figures: ${stderr.slice(-500)}`);
  return (JSON.parse(readFileSync(path, 'utf8')) as { figures: Figure[] }).figures;
}
