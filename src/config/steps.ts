// Work in small parts, so that the daemon can do other work between them. A part ends at each `yield`, and the caller decides
// what happens between two parts. Must know nothing of configurations.
import type { Clock } from '../clock.ts';

export type Steps<T> = Generator<void, T, void>;

/** Waits for one round of the event loop. */
export type Turn = () => Promise<void>;

/** A quarter of the longest allowed turn (50 ms), because parts differ and some machines are half as fast. */
export const turnMs = 12;

/** Small items form one part, so that the clock is not read after each item. */
export const itemsAPart = 256;

/** Runs all parts without a pause, for commands without other work. */
export function runAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Runs all parts, and waits for a round of the event loop whenever a turn has lasted long enough. */
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
