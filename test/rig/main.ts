// `npm run rig`: plays many seeds on all cores, or one step by step. Exit code 0: nothing was found and everything was reached; 1: a violation, or
// a class of faults that was hardly reached; 2: wrong usage.
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { countFinders } from './mutants/count-finders.ts';
import { type Mutant, mutants } from './mutants/mutants.ts';
import { playMutants } from './mutants/play-mutants.ts';
import { boundariesOf } from './play/boundaries.ts';
import { measuredBounds } from './play/bounds.ts';
import { playPoints } from './play/points.ts';
import { playProcesses } from './play/real/play-processes.ts';
import { play } from './play/run.ts';
import { greatestSeed, placedSchedule, scenarioOf, seedsOfScenario } from './play/schedule.ts';
import { type SoakRound, soak } from './play/soak.ts';
import { learn } from './play/worker.ts';
import { WorkerProcess } from './play/worker-process.ts';
import { MistakeReport, ReportFault, ReportFile } from './report/report-file.ts';
import { type SeedLine, Tally } from './report/tally.ts';
import { storyNames } from './traffic/stories.ts';

const usage = `npm run rig -- --seeds N [--from SEED] [--report FILE] [--jobs N]   plays N seeds
npm run rig -- --replay SEED                                         plays one seed and says each step
npm run rig -- --boundaries [--story NAME]                           kills the daemon at every boundary of every write
npm run rig -- --points [--story NAME] [--jobs N]                     places each fault at each request of each story
npm run rig -- --bounds                                              each bound of the daemon, measured beside its limit
npm run rig -- --processes N [--from SEED] [--jobs N]                plays N scenarios with daemons as processes, signals and TCP, in real time
npm run rig -- --soak SEED [--minutes N] [--seconds N]               an hour of virtual time with reloads: memory and handles
npm run rig -- --mutants [--report FILE]                             plants mistakes in src/sync/plan: the model must disagree with each
npm run rig -- --holes [--report FILE]                               puts holes back that were mended, and others: each is found within 500 seeds
npm run rig -- --mutant NAME                                         plants one of them
npm run rig -- --finders SECONDS [--mutant NAME]                     how many of the seeds find each hole, so many seconds for each
`;
/** Minimising takes a minute, and the first failures say most. */
const minimisedFailures = 3;
const progressEveryMs = 10_000;

class UsageFault extends Error {}

async function command(words: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...words],
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      seeds: { type: 'string' },
      from: { type: 'string', default: '0' },
      report: { type: 'string' },
      replay: { type: 'string' },
      processes: { type: 'string' },
      boundaries: { type: 'boolean', default: false },
      points: { type: 'boolean', default: false },
      bounds: { type: 'boolean', default: false },
      story: { type: 'string' },
      first: { type: 'boolean', default: false },
      soak: { type: 'string' },
      minutes: { type: 'string' },
      seconds: { type: 'string' },
      mutants: { type: 'boolean', default: false },
      mutant: { type: 'string' },
      holes: { type: 'boolean', default: false },
      finders: { type: 'string' },
      jobs: { type: 'string' },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  if (values.replay !== undefined) return replay(wholeNumber('--replay', values.replay, 0, greatestSeed));
  if (values.processes !== undefined) {
    const scenarios = wholeNumber('--processes', values.processes, 1, 10_000);
    const from = wholeNumber('--from', values.from, 0, greatestSeed - scenarios * seedsOfScenario);
    // They wait most of the time.
    return playProcesses({ scenarios, from, jobs: wholeNumber('--jobs', values.jobs ?? '4', 1, 64), tell: print });
  }
  const jobs = wholeNumber('--jobs', values.jobs ?? String(availableParallelism()), 1, 256);
  const report = values.report === undefined ? undefined : () => new MistakeReport(values.report ?? '', commit());
  if (values.finders !== undefined) {
    const chosen =
      values.mutant === undefined ? mutants.filter(({ kind }) => kind !== 'plan') : mutantsNamed(values.mutant);
    return countFinders({ jobs, chosen, seconds: wholeNumber('--finders', values.finders, 1, 100_000), tell: print });
  }
  if (values.mutant !== undefined)
    return playMutants({ jobs, chosen: mutantsNamed(values.mutant), report: report?.() });
  if (values.holes || values.mutants) {
    const chosen = mutants.filter(({ kind }) => (kind === 'plan') === values.mutants);
    return playMutants({ jobs, chosen, report: report?.() });
  }
  if (values.soak !== undefined) return playSoak(values.soak, values);
  if (values.bounds) return playBounds();
  const stories = storiesNamed(values.story);
  if (values.points) return playPoints({ stories, jobs, tell: print });
  if (values.boundaries) return playBoundaries(stories);
  if (values.seeds === undefined) throw new UsageFault('say --seeds N, --replay SEED or --boundaries');
  const seeds = wholeNumber('--seeds', values.seeds, 1, greatestSeed);
  const from = wholeNumber('--from', values.from, 0, greatestSeed - seeds + 1);
  return playMany({ seeds, from, jobs, path: values.report, stopsAtFirst: values.first });
}

function wholeNumber(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new UsageFault(`${option} is a whole number from ${least} to ${most}, found "${text}"`);
}

function mutantsNamed(name: string): readonly Mutant[] {
  const found = mutants.filter((one) => one.name === name);
  if (found.length > 0) return found;
  throw new UsageFault(`--mutant is one of: ${mutants.map((one) => one.name).join('; ')}; found "${name}"`);
}

function storiesNamed(only: string | undefined): readonly string[] {
  if (only === undefined) return storyNames;
  if (storyNames.includes(only)) return [only];
  throw new UsageFault(`--story is one of: ${storyNames.join('; ')}; found "${only}"`);
}

/** One process plays them, since most of them take a quarter of a second. */
async function playBoundaries(stories: readonly string[]): Promise<number> {
  let [all, bad] = [0, 0];
  for (const story of stories) {
    let count = 0;
    for await (const { nth, moment, faults } of boundariesOf(story)) {
      count++;
      if (faults.length === 0) continue;
      bad++;
      print(`${story}, write ${nth}, ${moment}:\n  ${faults.join('\n  ')}`);
    }
    print(`${story}: ${count} boundaries`);
    if (count === 0) bad++;
    all += count;
  }
  print(`${all} boundaries in ${stories.length} stories, ${bad} do not converge`);
  return bad === 0 ? 0 : 1;
}

async function playBounds(): Promise<number> {
  let bad = 0;
  for await (const { what, limitMs, tookMs, faults } of measuredBounds()) {
    print(
      `${String(tookMs).padStart(7)} ms of ${String(limitMs).padStart(6)}  ${what}${faults.map((one) => `\n  ${one}`).join('')}`,
    );
    if (faults.length > 0) bad++;
  }
  print(`${bad} bounds do not hold`);
  return bad === 0 ? 0 : 1;
}

/** An hour of virtual time takes a minute, and a time on the wall as many virtual minutes as it has room for. */
async function playSoak(
  seedText: string,
  times: { minutes?: string | undefined; seconds?: string | undefined },
): Promise<number> {
  const seed = wholeNumber('--soak', seedText, 0, greatestSeed);
  const seconds = times.seconds === undefined ? undefined : wholeNumber('--seconds', times.seconds, 1, 1_000_000);
  const minutes = wholeNumber('--minutes', times.minutes ?? (seconds === undefined ? '60' : '100000'), 35, 100_000);
  const tell = (round: SoakRound): void => print(JSON.stringify(round));
  const { faults, rounds, bytesInMinute } = await soak({ seed, minutes, seconds, tell });
  for (const fault of faults) print(fault);
  print(
    `${rounds.at(-1)?.minute ?? 0} minutes, the heap grows by ${Math.round(bytesInMinute)} bytes a minute, ${faults.length} faults`,
  );
  return faults.length === 0 ? 0 : 1;
}

async function replay(seed: number): Promise<number> {
  const { schedule, played } = await learn(seed);
  const placed = placedSchedule(seed, schedule, played);
  print(`seed ${seed} at commit ${commit()}`);
  print(JSON.stringify(placed, undefined, 1));
  const { violations, struck } = await play(placed, { faultless: played, tell: print });
  for (const one of struck) print(`struck: ${JSON.stringify(one)}`);
  const all = [...played.violations.map((one) => ({ ...one, what: `without faults: ${one.what}` })), ...violations];
  for (const { oracle, kind, what, atMs } of all) print(`${oracle} (${kind}) at ${atMs / 1000} s: ${what}`);
  print(all.length === 0 ? 'no violation' : `${all.length} violations`);
  return all.length === 0 ? 0 : 1;
}

async function playMany(given: {
  seeds: number;
  from: number;
  jobs: number;
  path: string | undefined;
  stopsAtFirst: boolean;
}): Promise<number> {
  const { seeds, from, jobs, path, stopsAtFirst } = given;
  const file = path === undefined ? undefined : new ReportFile(path);
  file?.open({ commit: commit(), from, seeds });
  if (file?.note !== undefined) print(file.note);
  const tally = new Tally();
  for (const line of file?.done.values() ?? []) tally.add(line);
  const taken = new Set<number>();
  const left = Array.from({ length: seeds }, (_, nth) => from + nth).filter((seed) => !file?.done.has(seed));
  const startedMs = performance.now();
  const progress = setInterval(() => print(`… ${tally.sentence()}`), progressEveryMs);
  const broken: string[] = [];
  const isTold: number[] = [];
  const most = stopsAtFirst ? 0 : minimisedFailures;
  /** A process goes on with the scenario that it has learned; a new one begins where nobody is. */
  const next = (last: number | undefined): number | undefined => {
    const own = left.findIndex((seed) => last !== undefined && scenarioOf(seed) === scenarioOf(last));
    if (own >= 0) return left.splice(own, 1)[0];
    const free = left.findIndex((seed) => !taken.has(scenarioOf(seed)));
    const [seed] = left.splice(Math.max(0, free), 1);
    if (seed !== undefined) taken.add(scenarioOf(seed));
    return seed;
  };
  const ended = (line: SeedLine): void => {
    tally.add(line);
    file?.add(line);
    if (line.violations.length === 0) return;
    if (stopsAtFirst) left.length = 0;
    print(
      `seed ${line.seed}: ${line.violations.map(({ oracle, kind, what }) => `${oracle} (${kind}): ${what}`).join('\n  ')}`,
    );
  };
  await Promise.all(
    Array.from({ length: Math.min(jobs, left.length) }, async () => {
      const worker = new WorkerProcess();
      for (let seed = next(undefined); seed !== undefined; seed = next(seed)) {
        const answer = await worker.ask({ do: 'play', seed });
        if (answer.did === 'play') ended(answer.line);
        if (answer.did === 'fail') {
          broken.push(`seed ${seed}: ${answer.error}`);
          print(broken.at(-1) ?? '');
        }
        if (answer.did === 'play' && answer.line.violations.length > 0 && isTold.length < most) {
          isTold.push(seed);
          await tellShort(worker, answer.line);
        }
      }
      worker.end();
    }),
  );
  clearInterval(progress);
  print([tally.table(), ...tally.countLines(), ...tally.pairLines()].join('\n'));
  print(
    `${tally.sentence()}; ${((performance.now() - startedMs) / 1000).toFixed(0)} s on ${jobs} processes, commit ${commit()}`,
  );
  const missed = tally.missed();
  if (missed.length > 0) print(`reached in fewer than ${tally.least} schedules: ${missed.join(', ')}`);
  const pairFaults = [...(tally.fewPairs === undefined ? [] : [tally.fewPairs]), ...tally.pairFaults()];
  for (const fault of pairFaults) print(fault);
  for (const { seed } of tally.failures.slice(0, 20)) print(`npm run rig -- --replay ${seed}`);
  return tally.failures.length + missed.length + broken.length + pairFaults.length === 0 ? 0 : 1;
}

async function tellShort(worker: WorkerProcess, { seed, violations }: SeedLine): Promise<void> {
  const [{ oracle, kind } = { oracle: '', kind: '' }] = violations;
  const answer = await worker.ask({ do: 'minimise', seed, oracle, kind });
  if (answer.did !== 'minimise') return;
  const { before, acts } = answer.schedule.scenario;
  const steps = [...before, 'the daemon starts', ...acts].map(
    (one) => `    ${typeof one === 'string' ? one : JSON.stringify(one)}`,
  );
  const faults = answer.schedule.faults.map((one) => `    ${JSON.stringify(one)}`);
  print([`seed ${seed}, ${oracle} (${kind}), cut down in ${answer.runs} runs to`, ...faults, ...steps].join('\n'));
}

/** The commit, and whether anything differs from it. */
function commit(): string {
  try {
    const git = (...words: string[]): string =>
      execFileSync('git', ['-c', 'safe.directory=*', ...words], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim();
    return `${git('rev-parse', 'HEAD')}${git('status', '--porcelain') === '' ? '' : ' with changes'}`;
  } catch {
    return 'unknown';
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

try {
  process.exitCode = await command(process.argv.slice(2));
} catch (error) {
  const isUsage =
    error instanceof UsageFault ||
    (error instanceof TypeError && String((error as { code?: string }).code).startsWith('ERR_PARSE_ARGS'));
  if (!isUsage && !(error instanceof ReportFault)) throw error;
  process.stderr.write(`rig: ${(error as Error).message}\n${isUsage ? usage : ''}`);
  process.exitCode = 2;
}
