// Plays seeds with each mistake until one of them finds it. In: mistakes. Out: which of them live on, which is a hole in the net. A mistake in the
// plan must make the model disagree with the daemon in a scenario without faults; any other may be found by any oracle and under any fault.
import type { Violation } from '../oracles/board.ts';
import { seedsOfScenario } from '../schedule.ts';
import { WorkerProcess } from '../worker-process.ts';
import { lastFoundBy, type Mutant } from './mutants.ts';

/** A mistake that so many seeds do not find is not found by a landing's gate. */
const seeds = 500;

interface Verdict {
  found?: string;
  /** What another oracle says of a mistake that the model has not noticed. */
  beside?: string;
}

export async function playMutants(jobs: number, chosen: readonly Mutant[]): Promise<number> {
  const left = [...chosen];
  const living: string[] = [];
  const startedMs = performance.now();
  const playNext = async (): Promise<void> => {
    for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
      const { found, beside } = await playMutant(mutant);
      if (found === undefined) living.push(mutant.name);
      const other = beside === undefined ? '' : `, but ${beside}`;
      process.stdout.write(
        `${found === undefined ? 'LIVES' : 'found'}  ${mutant.kind}: ${mutant.name}  ${found ?? `${seeds} seeds${other}`}\n`,
      );
    }
  };
  await Promise.all(Array.from({ length: Math.min(jobs, chosen.length) }, playNext));
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
  process.stdout.write(
    `${chosen.length - living.length} of ${chosen.length} mistakes were found within ${seeds} seeds, ${seconds} s\n`,
  );
  return living.length === 0 ? 0 : 1;
}

async function playMutant({ name, kind }: Mutant): Promise<Verdict> {
  const worker = new WorkerProcess(name);
  const isOfPlan = kind === 'plan';
  let beside: string | undefined;
  try {
    for (const seed of seedsFor(name, isOfPlan ? seedsOfScenario : 1)) {
      const answer = await worker.ask({ do: isOfPlan ? 'learn' : 'play', seed });
      if (answer.did === 'fail') throw new Error(`play the mistake "${name}": ${answer.error}`);
      if (answer.did !== 'play') continue;
      const { violations } = answer.line;
      const one = isOfPlan ? violations.find(({ oracle }) => oracle === 'model') : violations[0];
      if (one !== undefined) return { found: said(seed, one) };
      if (violations[0] !== undefined) beside ??= said(seed, violations[0]);
    }
    return beside === undefined ? {} : { beside };
  } finally {
    worker.end();
  }
}

/** All seeds of a landing, and first the one that has found it before. */
function seedsFor(name: string, step: number): readonly number[] {
  const all = Array.from({ length: seeds / step }, (_, nth) => nth * step);
  const last = lastFoundBy[name];
  return last === undefined ? all : [last, ...all.filter((seed) => seed !== last)];
}

function said(seed: number, { oracle, kind, what }: Violation): string {
  return `seed ${seed}, ${oracle} (${kind}): ${what}`.slice(0, 200);
}
