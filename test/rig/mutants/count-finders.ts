// Counts how many seeds find each mistake, in the order of a landing and without any preference: one that a single seed in 500 finds is found by luck.
// In: mistakes, and a time for each. Out: a line for each, the fewest finders first.
import { seedsOfScenario } from '../play/schedule.ts';
import type { ToWorker } from '../play/worker.ts';
import { WorkerProcess } from '../play/worker-process.ts';
import type { Mutant } from './mutants.ts';

const seeds = 500;
/** So many scenarios with a finder say enough about a mistake. */
const enough = 4;
/** A stride without a common divisor with the number of scenarios: neighbours share what is drawn in turn. */
const stride = 37;

export interface Finders {
  mistake: string;
  /** Seeds that were asked. */
  asked: number;
  found: readonly number[];
}

export interface CountOptions {
  jobs: number;
  chosen: readonly Mutant[];
  /** For each mistake. */
  seconds: number;
  tell: (line: string) => void;
}

/** Exit code 1: a mistake without a finder. */
export async function countFinders({ jobs, chosen, seconds, tell }: CountOptions): Promise<number> {
  const left = [...chosen];
  const counted: Finders[] = [];
  const countNext = async (): Promise<void> => {
    for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
      const finders = await findersOf(mutant, seconds);
      counted.push(finders);
      tell(said(finders));
    }
  };
  await Promise.all(Array.from({ length: Math.min(jobs, chosen.length) }, countNext));
  const none = counted.filter(({ found }) => found.length === 0);
  tell(`of ${counted.length} mistakes ${none.length} have no finder among the seeds that were asked`);
  return none.length === 0 ? 0 : 1;
}

function said({ mistake, asked, found }: Finders): string {
  const share = asked === 0 ? 0 : Math.round((found.length / asked) * seeds);
  return `${String(found.length).padStart(3)} of ${String(asked).padStart(3)} seeds, about ${share} of ${seeds}: ${mistake}  ${found.join(', ')}`;
}

async function findersOf({ name, kind }: Mutant, seconds: number): Promise<Finders> {
  const worker = new WorkerProcess(name);
  const untilMs = performance.now() + seconds * 1000;
  const isRed = async (message: ToWorker): Promise<boolean> => {
    const answer = await worker.ask(message);
    return answer.did === 'play' && answer.line.violations.some(({ oracle }) => kind !== 'plan' || oracle === 'model');
  };
  const found: number[] = [];
  let [asked, scenarios] = [0, 0];
  try {
    for (let nth = 0; nth < seeds / seedsOfScenario && scenarios < enough && performance.now() < untilMs; nth++) {
      const first = ((nth * stride) % (seeds / seedsOfScenario)) * seedsOfScenario;
      const own = Array.from({ length: seedsOfScenario }, (_, at) => first + at);
      // What is red without faults is red with them.
      const areAll = await isRed({ do: 'learn', seed: first });
      const red: number[] = [];
      for (const seed of own) if (areAll || (kind !== 'plan' && (await isRed({ do: 'play', seed })))) red.push(seed);
      asked += own.length;
      found.push(...red);
      if (red.length > 0) scenarios++;
    }
  } finally {
    worker.end();
  }
  return { mistake: name, asked, found: found.toSorted((one, other) => one - other) };
}
