// Kills the daemon at every boundary of every write of every story: before the bytes leave, when the API server has carried the write out, and when
// the answer has arrived. Each time both sides must end as without the crash, with at most one write more.
import type { PlacedFault } from '../faults/placed.ts';
import { storyOf } from '../traffic/stories.ts';
import { type Played, play, type Schedule } from './run.ts';

const moments = ['crash before a write', 'crash after a write was sent', 'crash after the answer'] as const;
const redundantWrites = 1;

export interface Boundary {
  story: string;
  /** The how-manieth write. */
  nth: number;
  moment: string;
  /** Empty = it converges. */
  faults: readonly string[];
}

export async function* boundariesOf(story: string): AsyncGenerator<Boundary> {
  const schedule: Schedule = { seed: 1, scenario: storyOf(story), faults: [] };
  const whole = await play(schedule);
  if (whole.violations.length > 0)
    yield {
      story,
      nth: 0,
      moment: 'without a crash',
      faults: whole.violations.map(({ oracle, what }) => `${oracle}: ${what}`),
    };
  for (const [at, { side, verb, nth }] of whole.trail.entries())
    for (const moment of moments) {
      const placed: PlacedFault = { class: '', recipe: moment, side, verb, nth, times: 1, ms: 0, size: 1 };
      const played = await play({ ...schedule, faults: [placed] });
      yield { story, nth: at + 1, moment, faults: faultsOf(whole, played) };
    }
}

/** What a run with a crash has otherwise than the whole one. */
export function faultsOf(whole: Played, played: Played): string[] {
  const found = played.violations.map(({ oracle, what }) => `${oracle}: ${what}`);
  if (played.struck.length === 0) found.push('the crash did not happen');
  for (const id of new Set([...whole.contents.keys(), ...played.contents.keys()])) {
    const [wanted, got] = [whole.contents.get(id), played.contents.get(id)];
    if (wanted !== got) found.push(`${id}: wanted ${wanted ?? 'nothing'}, found ${got ?? 'nothing'}`);
  }
  const [without, with_] = [sum(whole), sum(played)];
  if (with_ > without + redundantWrites) found.push(`${with_} writes, ${without} without the crash`);
  return found;
}

function sum({ writes }: Played): number {
  return [...writes.values()].reduce((total, count) => total + count, 0);
}
