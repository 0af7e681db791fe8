// Places each fault at each request that a story was seen to make, one at a time: first, second and every later request of a side and a verb, for
// every recipe that can strike there. The oracles are those of a seed. In: stories. Out: the points whose runs broke a rule, and how many struck.
import type { PlacedFault } from '../faults/placed.ts';
import { storyOf } from '../traffic/stories.ts';
import { Chance } from './random.ts';
import { type Played, type PlayOptions, play, type Schedule } from './run.ts';
import { type Cell, cells, classes, placed } from './schedule.ts';
import { WorkerProcess } from './worker-process.ts';

export interface Points {
  /** Requests at which a fault of the class was placed. */
  placed: number;
  /** Of them, those whose run came as far. */
  struck: number;
  /** Each with its fault, and what the oracles said. */
  broken: readonly { fault: PlacedFault; said: readonly string[] }[];
}

let learned: { story: string; schedule: Schedule; whole: Played } | undefined;

async function learn(story: string): Promise<{ schedule: Schedule; whole: Played }> {
  if (learned?.story !== story) {
    const schedule: Schedule = { seed: 1, scenario: storyOf(story), faults: [] };
    learned = { story, schedule, whole: await play(schedule) };
  }
  return learned;
}

/** Every request of a story, with the faults of one class. */
export async function pointsOf(
  story: string,
  ofClass: string,
  options: Pick<PlayOptions, 'corrupt'> = {},
): Promise<Points> {
  const { schedule, whole } = await learn(story);
  const broken: { fault: PlacedFault; said: readonly string[] }[] = [];
  let [all, struck] = [0, 0];
  for (const fault of faultsAt(
    cells.filter(({ recipe }) => recipe.class === ofClass),
    whole,
  )) {
    const played = await play({ ...schedule, faults: [fault] }, { faultless: whole, ...options });
    all++;
    if (played.struck.length > 0) struck++;
    const said = [...whole.violations, ...played.violations].map(({ oracle, what }) => `${oracle}: ${what}`);
    if (said.length > 0) broken.push({ fault, said });
  }
  return { placed: all, struck, broken };
}

function faultsAt(possible: readonly Cell[], { seen }: Pick<Played, 'seen'>): PlacedFault[] {
  return possible.flatMap((cell) => {
    const { recipe, side, verb } = cell;
    return Array.from({ length: seen.get(`${side} ${verb}`) ?? 0 }, (_, at): PlacedFault => {
      const chance = new Chance(at, `${recipe.name} ${side} ${verb}`);
      return { ...placed(cell, chance, seen), nth: at + 1 };
    });
  });
}

export interface PointsOptions {
  stories: readonly string[];
  jobs: number;
  tell(line: string): void;
}

/** Returns the exit code. */
export async function playPoints({ stories, jobs, tell }: PointsOptions): Promise<number> {
  const left = stories.flatMap((story) => classes.map((ofClass) => ({ story, ofClass })));
  const open = new Map(stories.map((story) => [story, { classes: classes.length, placed: 0, struck: 0 }]));
  const broken: string[] = [];
  const work = async (): Promise<void> => {
    const worker = new WorkerProcess();
    for (let one = left.shift(); one !== undefined; one = left.shift()) {
      const { story, ofClass } = one;
      const answer = await worker.ask({ do: 'points', seed: 1, name: story, ofClass });
      const state = open.get(story) as { classes: number; placed: number; struck: number };
      state.classes--;
      if (answer.did === 'points') {
        state.placed += answer.points.placed;
        state.struck += answer.points.struck;
        for (const { fault, said } of answer.points.broken)
          broken.push(`${story}, ${JSON.stringify(fault)}:\n  ${said.join('\n  ')}`);
      } else broken.push(`${story}, ${ofClass}: ${answer.did === 'fail' ? answer.error : answer.did}`);
      if (state.classes === 0) tell(`${story}: ${state.placed} points, ${state.struck} struck`);
    }
    worker.end();
  };
  await Promise.all(Array.from({ length: Math.min(jobs, left.length) }, work));
  for (const one of broken) tell(one);
  const of = (what: 'placed' | 'struck'): number => [...open.values()].reduce((sum, one) => sum + one[what], 0);
  tell(`${of('placed')} points in ${stories.length} stories, ${of('struck')} struck, ${broken.length} break a rule`);
  return broken.length === 0 && of('struck') > 0 ? 0 : 1;
}
