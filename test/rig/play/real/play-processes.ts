// Plays many scenarios with real daemons, some at a time, and adds up. Exit code 0: nothing was found, and each kind of fault has struck where so
// many scenarios must have met it.
import { scenarioOf, seedsOfScenario } from '../schedule.ts';
import { faultNames, playReal } from './play-real.ts';

/** A scenario draws some eight of ten kinds of faults. */
const scenariosForAll = 8;

export interface ProcessesOptions {
  scenarios: number;
  from: number;
  jobs: number;
  tell: (line: string) => void;
}

export async function playProcesses({ scenarios, from, jobs, tell }: ProcessesOptions): Promise<number> {
  const left = Array.from({ length: scenarios }, (_, nth) => scenarioOf(from) + nth * seedsOfScenario);
  const struck = new Map<string, number>(faultNames.map((name) => [name, 0]));
  let [bad, calms, writes] = [0, 0, 0];
  const one = async (seed: number): Promise<void> => {
    try {
      const played = await playReal(seed);
      for (const name of played.struck) struck.set(name, (struck.get(name) ?? 0) + 1);
      calms += played.calms;
      writes += played.writes;
      const faults = played.violations.map(({ oracle, kind, what }) => `\n  ${oracle} (${kind}): ${what}`);
      if (faults.length > 0) bad++;
      tell(`scenario ${seed}: ${played.struck.length} faults, ${played.writes} writes${faults.join('')}`);
    } catch (error) {
      bad++;
      tell(`scenario ${seed}: ${String(error)}`);
    }
  };
  const worker = async (): Promise<void> => {
    for (let seed = left.shift(); seed !== undefined; seed = left.shift()) await one(seed);
  };
  await Promise.all(Array.from({ length: Math.min(jobs, left.length) }, worker));
  tell([...struck].map(([name, count]) => `${name}: ${count}`).join(', '));
  const unseen = [...struck].filter(([, count]) => count === 0).map(([name]) => name);
  const hasSeenAll = scenarios < scenariosForAll || unseen.length === 0;
  if (!hasSeenAll) tell(`never struck: ${unseen.join(', ')}`);
  if (writes === 0 || calms === 0) tell('nothing was written or nothing was compared');
  tell(`${scenarios} scenarios with real processes, ${calms} calm moments, ${writes} writes, ${bad} with a violation`);
  return bad === 0 && hasSeenAll && writes > 0 && calms > 0 ? 0 : 1;
}
