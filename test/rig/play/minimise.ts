// Cuts a schedule down to what is needed for its violation: leaves out faults and acts, first many at once, then one by one.
import type { Violation } from '../oracles/board.ts';
import type { Act } from '../traffic/acts.ts';
import { type Played, play, type Schedule } from './run.ts';

/** A run takes about half a second; a minute of waiting for a shorter schedule is enough. */
const mostRuns = 120;

export async function minimised(
  schedule: Schedule,
  violation: Pick<Violation, 'oracle' | 'kind'>,
  playOne: (candidate: Schedule) => Promise<Pick<Played, 'violations'>> = play,
): Promise<{ schedule: Schedule; runs: number }> {
  let best = schedule;
  let runs = 0;
  const stillFails = async (candidate: Schedule): Promise<boolean> => {
    if (runs >= mostRuns) return false;
    runs++;
    const played = await playOne(candidate).catch(() => undefined);
    return (
      played?.violations.some(({ oracle, kind }) => oracle === violation.oracle && kind === violation.kind) === true
    );
  };
  const cut = async <T>(all: readonly T[], put: (kept: readonly T[]) => Schedule): Promise<void> => {
    let kept = all;
    for (let size = Math.ceil(kept.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let at = 0; at < kept.length; ) {
        const fewer = [...kept.slice(0, at), ...kept.slice(at + size)];
        if (await stillFails(put(fewer))) {
          kept = fewer;
          best = put(kept);
        } else at += size;
      }
    }
  };
  const withActs = (acts: readonly Act[], before = best.scenario.before): Schedule => ({
    ...best,
    scenario: { ...best.scenario, acts, before },
  });
  await cut(best.faults, (faults) => ({ ...best, faults }));
  await cut(best.scenario.acts, (acts) => withActs(acts));
  await cut(best.scenario.before, (before) => withActs(best.scenario.acts, before));
  return { schedule: best, runs };
}
