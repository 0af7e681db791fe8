// `npm run mutants`: plants small faults, one at a time, in a copy of the house, and says which of them no suite notices. Exit code 0: at least 95 of a
// hundred are noticed, and each other one is known with a reason; 1: more live, or one that nobody has looked at; 2: wrong usage.
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { whyNoFile } from '../../bench/blackbox/output-place.ts';
import { HouseCopy, hangsMs, neverEnds, type Verdict } from './copy.ts';
import { drawn, faultsByRule } from './drawn.ts';
import { type Mutant, rooms } from './mutant.ts';
import { playedOn, suiteIn } from './played-code.ts';
import { changedSince, metOf, readRecord, recordOf } from './record.ts';
import { SuiteFinder } from './suites.ts';
import { survivors } from './survivors.ts';
import { type Met, verdictOf } from './verdict.ts';

const usage = `npm run mutants                    plants all of them
npm run mutants -- --list          names them, one a line, and says which were played on other sources than these
npm run mutants -- --changed       plants those that were never played, or on other sources
npm run mutants -- --short         those whose suite is known: the gate of a landing
npm run mutants -- --report FILE   goes on where the file ends
options:
  --living     plays those of the report again that lived without a reason
  --record     adds what the report says of the present sources to test/mutants/played.json, and plays nothing
  --room R     ${rooms.join(', ')}      --only TEXT  those with this in their name
  --seed N     draws other faults by rule       --each N     how many by rule in each room (11)
  --minutes N  stops after so long; with --report the next call goes on
  --patience N gives suites N times the time that a quiet machine needs (1)
  --workers N  so many processes of suites at once (2)
  --near       asks the nearest suites alone: what they do not notice stays unplayed, for a later run
  --deep       asks every suite that reaches the fault, not only the nearest
`;
const root = fileURLToPath(new URL('../..', import.meta.url));
const recordPath = fileURLToPath(new URL('./played.json', import.meta.url));
/** The suite that noticed a fault the last time is asked first. */
const lastRecord = readRecord(recordPath);
const lastNoticedBy = new Map(Object.entries(lastRecord.noticedBy));
/** The suites next to a fault answer in this time, or others are asked. */
const nearMs = 10_000;
/** Suites of one call: many enough to pay for the start, few enough to stop early. */
const chunk = 15;
/** Suites that are farther away notice little that the near ones do not. */
const mostRoom = 40;
const mostWide = 12;

class UsageFault extends Error {}

async function command(words: readonly string[]): Promise<number> {
  if (words.some((word) => word === '--help' || word === '-h')) {
    process.stdout.write(usage);
    return 0;
  }
  const { values } = parse(words);
  const seed = whole('seed', values.seed);
  const each = whole('each', values.each);
  const patience = whole('patience', values.patience);
  const minutes = Number(values.minutes ?? Number.POSITIVE_INFINITY);
  if (values.room !== undefined && !(rooms as readonly string[]).includes(values.room))
    throw new UsageFault(`--room is one of ${rooms.join(', ')}, found "${values.room}"`);
  const every = drawn(values.short ? [] : faultsByRule(root), { seed, each });
  const changed = new Set(changedSince(lastRecord, every, root));
  const all = every
    .filter((mutant) => !values.changed || changed.has(mutant))
    .filter(({ room }) => values.room === undefined || room === values.room)
    .filter(({ name }) => name.includes(values.only ?? ''))
    .filter(({ noticedBy }) => !values.short || noticedBy !== undefined);
  if (values.list) {
    for (const mutant of all) print(`${mutant.name}${changed.has(mutant) ? '  (not played on these sources)' : ''}`);
    return 0;
  }
  const why = values.report === undefined ? undefined : whyNoFile(values.report);
  if (why !== undefined) throw new UsageFault(`--report "${values.report}"${why}`);
  const done = readReport(values.report);
  if (values.record) {
    const met = metOf(lastRecord, every, done, root);
    writeFileSync(recordPath, recordOf(every, met, { commit: commitOf(root), survivors }));
    return 0;
  }
  const excused = new Set(survivors.map(({ name }) => name));
  const lines: Met[] = [];
  const finder = new SuiteFinder(root);
  const copy = new HouseCopy(root, { workers: whole('workers', values.workers) });
  const startMs = performance.now();
  let unplayed = 0;
  const lost: string[] = [];
  try {
    for (const mutant of all) {
      if (!copy.canPlant(mutant)) {
        lost.push(mutant.name);
        continue;
      }
      // A line of other sources says nothing of these.
      const told = done.get(mutant.name);
      const before = told?.played === playedOn(copy.folder, mutant, told?.by) ? told : undefined;
      const isAskedAgain = values.living && before?.by === undefined && !excused.has(mutant.name);
      const known = isAskedAgain ? undefined : before;
      if (known === undefined && performance.now() - startMs > minutes * 60_000) {
        unplayed++;
        continue;
      }
      const { near: isNear, deep: isDeep, short: isShort } = values;
      const line = known ?? (await meet(mutant, { copy, finder, isNear, isDeep, isShort, patience }));
      if (isNear && line.by === undefined) {
        print(`not by the nearest  ${line.name}${line.late === undefined ? '' : `  (late: ${line.late})`}`);
        unplayed++;
        continue;
      }
      lines.push(line);
      if (known !== undefined) continue;
      print(
        `${line.by === undefined ? 'LIVES  ' : 'noticed'} ${line.seconds.toFixed(0).padStart(4)} s  ${line.name}${line.by === undefined ? '' : `  (${line.by})`}${line.late === undefined ? '' : `  (late: ${line.late})`}`,
      );
      if (values.report !== undefined) appendFileSync(values.report, `${JSON.stringify(line)}\n`);
    }
  } finally {
    copy.close();
  }
  const verdict = verdictOf(lines, { survivors, unplayed });
  for (const sentence of verdict.sentences) print(sentence);
  if (changed.size > 0 && !values.changed)
    print(`${changed.size} of the recorded were played on other sources, or never: npm run mutants -- --changed`);
  for (const name of lost) print(`its line is no longer in the sources, adapt it: ${name}`);
  return verdict.isGood && lost.length === 0 ? 0 : 1;
}

interface Table {
  copy: HouseCopy;
  finder: SuiteFinder;
  isNear: boolean;
  isDeep: boolean;
  isShort: boolean;
  patience: number;
}

/** The suites meet the fault, nearest first, until one notices it. */
async function meet(mutant: Mutant, { copy, finder, isNear, isDeep, isShort, patience }: Table): Promise<Met> {
  const startMs = performance.now();
  const line = (by: string | undefined, late?: string): Met => ({
    name: mutant.name,
    room: mutant.room,
    by,
    ...(by === undefined && late !== undefined && { late }),
    seconds: (performance.now() - startMs) / 1000,
  });
  const met = await copy.with(mutant, async () => {
    const known = mutant.noticedBy ?? suiteIn(lastNoticedBy.get(mutant.name));
    if (known !== undefined && copy.has(known)) {
      const verdict = await copy.meets([known], hangsMs);
      if (verdict.kind === 'failed') return line(verdict.by);
      if (isShort) return line(undefined, lateIn(verdict));
    }
    const { near, room, wide } = finder.of(mutant.file);
    const first = await copy.meets(near, nearMs * patience);
    if (first.kind === 'failed') return line(first.by);
    if (isNear) return line(undefined, lateIn(first));
    // What was late is asked again with the others, in peace.
    const rest = [
      ...(first.kind === 'late' ? near : []),
      ...room.slice(0, isDeep ? undefined : mostRoom),
      ...wide.slice(0, isDeep ? undefined : mostWide),
    ];
    let late: string | undefined;
    for (let at = 0; at < rest.length; at += chunk) {
      const verdict = await copy.meets(rest.slice(at, at + chunk), hangsMs);
      if (verdict.kind === 'failed') return line(verdict.by);
      late ??= lateIn(verdict);
      // Where nothing ends, more suites take minutes each and say no more.
      if (late === neverEnds) break;
    }
    return line(undefined, late);
  });
  return { ...met, played: playedOn(copy.folder, mutant, met.by) };
}

function lateIn(verdict: Verdict): string | undefined {
  return verdict.kind === 'late' ? verdict.by : undefined;
}

function readReport(path: string | undefined): Map<string, Met> {
  if (path === undefined || !existsSync(path)) return new Map();
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((text) => text !== '');
  return new Map(lines.map((text) => JSON.parse(text) as Met).map((line) => [line.name, line]));
}

function commitOf(folder: string): string {
  return execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { cwd: folder, encoding: 'utf8' }).trim();
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      options: {
        list: { type: 'boolean', default: false },
        short: { type: 'boolean', default: false },
        living: { type: 'boolean', default: false },
        changed: { type: 'boolean', default: false },
        record: { type: 'boolean', default: false },
        near: { type: 'boolean', default: false },
        deep: { type: 'boolean', default: false },
        report: { type: 'string' },
        room: { type: 'string' },
        only: { type: 'string' },
        seed: { type: 'string', default: '1' },
        each: { type: 'string', default: '11' },
        minutes: { type: 'string' },
        patience: { type: 'string', default: '1' },
        workers: { type: 'string', default: '2' },
      },
    });
  } catch (error) {
    throw new UsageFault((error as Error).message);
  }
}

function whole(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageFault(`--${name} is a whole number, found "${text}"`);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

try {
  process.exitCode = await command(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageFault)) throw error;
  process.stderr.write(`mutants: ${error.message}\n\n${usage}`);
  process.exitCode = 2;
}
