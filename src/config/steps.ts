// Work that is cut into parts, so that a daemon can do it beside everything else: a part ends at each `yield`, and whoever
// runs the work decides what happens between two parts. Knows nothing of configurations.
import type { Clock } from '../clock.ts';

export type Steps<T> = Generator<void, T, void>;

/** Gives the event loop back for one round. */
export type Turn = () => Promise<void>;

/** A quarter of the longest turn that is aimed at (50 ms): parts are not all alike, and slow machines are twice as slow. */
export const turnMs = 12;

/** Parts that are too small to look at the clock after each of them. */
export const itemsAPart = 256;

/** All parts in one go, for commands that have nothing else to do. */
export function runAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** The same, giving the loop back whenever a turn has lasted long enough. */
export async function runInTurns<T>(
  steps: Steps<T>,
  { clock, turn }: { clock: Pick<Clock, 'now'>; turn: Turn },
): Promise<T> {
  let began = clock.now();
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    if (clock.now() - began < turnMs) continue;
    await turn();
    began = clock.now();
  }
}
