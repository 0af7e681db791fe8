// Plays seeds with each mistake until one of them finds it. In: mistakes. Out: which of them live on, which is a hole in the net. A mistake in the
// plan must make the model disagree with the daemon in a story or a scenario without faults; any other may be found by any oracle and under any fault.
// What is red without the mistake too is no finding: the sound product plays each seed again that seems to find something.
import type { Violation } from '../oracles/board.ts';
import { classesOf, learnedSchedule, seedsOfScenario } from '../play/schedule.ts';
import type { ToWorker } from '../play/worker.ts';
import { WorkerProcess } from '../play/worker-process.ts';
import type { MistakeLine, MistakeReport } from '../report/report-file.ts';
import { meetingNames, storyNames } from '../traffic/stories.ts';
import { lastFoundBy, mattersWith } from './found-by.ts';
import type { Mutant } from './mutants.ts';

/** A mistake that so many seeds do not find is not found by a landing's gate. */
const seeds = 500;

/** A run that was stopped goes on from here. */
const triesOfLine = 10;

export interface MutantsOptions {
  jobs: number;
  chosen: readonly Mutant[];
  /** Goes on where an earlier run has stopped. */
  report: MistakeReport | undefined;
}

export async function playMutants({ jobs, chosen, report }: MutantsOptions): Promise<number> {
  const left = [...chosen];
  const living: string[] = [];
  const startedMs = performance.now();
  const playNext = async (): Promise<void> => {
    const sound = new WorkerProcess();
    for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
      const { found, beside, tried } = await playMutant(mutant, { report, sound });
      if (found === undefined) living.push(mutant.name);
      const other = beside === undefined ? '' : `, but ${beside}`;
      process.stdout.write(
        `${found === undefined ? 'LIVES' : 'found'}  ${mutant.kind}: ${mutant.name}  ${found ?? `${tried} stories and seeds${other}`}\n`,
      );
    }
    sound.end();
  };
  await Promise.all(Array.from({ length: Math.min(jobs, chosen.length) }, playNext));
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
  process.stdout.write(
    `${chosen.length - living.length} of ${chosen.length} mistakes were found within ${seeds} seeds, ${seconds} s\n`,
  );
  return living.length === 0 ? 0 : 1;
}

interface Given {
  report: MistakeReport | undefined;
  sound: WorkerProcess;
}

async function playMutant({ name, kind }: Mutant, { report, sound }: Given): Promise<MistakeLine> {
  const known = report?.done.get(name);
  if (known?.isOver === true) return known;
  const worker = new WorkerProcess(name);
  const isOfPlan = kind === 'plan';
  let line: MistakeLine = known ?? { mistake: name, tried: 0, isOver: false };
  try {
    for (const message of triesOf(name, isOfPlan).slice(line.tried)) {
      const violations = await violationsOf(worker, message);
      const isRedAnyway = violations.length > 0 && (await violationsOf(sound, message)).length > 0;
      if (isRedAnyway) violations.length = 0;
      const one = isOfPlan ? violations.find(({ oracle }) => oracle === 'model') : violations[0];
      const where = message.do === 'story' ? `"${message.name}"` : `seed ${message.seed}`;
      line = { ...line, tried: line.tried + 1 };
      if (violations[0] !== undefined) line = { beside: said(where, violations[0]), ...line };
      if (one !== undefined) line = { ...line, isOver: true, found: said(where, one) };
      if (line.isOver) break;
      if (line.tried % triesOfLine === 0) report?.add(line);
    }
    line = { ...line, isOver: true };
    report?.add(line);
    return line;
  } finally {
    worker.end();
  }
}

async function violationsOf(worker: WorkerProcess, message: ToWorker): Promise<Violation[]> {
  const answer = await worker.ask(message);
  if (answer.did === 'fail') throw new Error(`play seed ${message.seed}: ${answer.error}`);
  return answer.did === 'play' ? [...answer.line.violations] : [];
}

/** All seeds of a landing, for the plan also the stories; and first what has found the mistake before, be it a story. */
function triesOf(name: string, isOfPlan: boolean): readonly ToWorker[] {
  const step = isOfPlan ? seedsOfScenario : 1;
  const played = Array.from({ length: seeds / step }, (_, nth): ToWorker => {
    return { do: isOfPlan ? 'learn' : 'play', seed: nth * step };
  });
  const last = lastFoundBy[name];
  const told = [...meetingNames, ...storyNames]
    .filter((story) => isOfPlan || story === last)
    .map((story): ToWorker => ({ do: 'story', seed: 1, name: story }));
  const all = [...told, ...byChance(played, name)];
  const isLast = (one: ToWorker): boolean => (one.do === 'story' ? one.name === last : one.seed === last);
  return [...all.filter(isLast), ...all.filter((one) => !isLast(one))];
}

/** Those first that have what the mistake needs: all are asked before it is said to live. */
function byChance(seeds: readonly ToWorker[], name: string): readonly ToWorker[] {
  const { classes = [], words = [] } = mattersWith[name] ?? {};
  const chanceOf = ({ seed }: { seed: number }): number => {
    const isPlaced = classesOf(seed).some((one) => classes.includes(one));
    const text = words.length === 0 ? '' : JSON.stringify(learnedSchedule(seed).scenario);
    return (isPlaced ? 2 : 0) + words.filter((word) => word.test(text)).length;
  };
  const chances = new Map(seeds.map((one) => [one, chanceOf(one)]));
  return seeds.toSorted((one, other) => (chances.get(other) ?? 0) - (chances.get(one) ?? 0));
}

function said(where: string, { oracle, kind, what }: Violation): string {
  return `${where}, ${oracle} (${kind}): ${what}`.slice(0, 200);
}
