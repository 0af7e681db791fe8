// Tells when everything that can happen without a timer has happened. All sockets of a run are in memory and all expressions run in
// this process and files are read at once, so work shows itself as bytes on a socket within a few turns of the event loop.
import { setImmediate as nextTurn } from 'node:timers/promises';

/** The longest silent stretch between two signs of work is about ten turns: pages of a list, slices of a watch, retries of a queue. */
const silentTurns = 30;
/** Work that goes on for so long without a timer is a loop without a pause. */
const mostTurns = 60_000;

export class Stillness {
  #signs = 0;

  /** Called for each sign of work. */
  readonly note = (): void => {
    this.#signs++;
  };

  async wait(): Promise<void> {
    let seen = this.#signs;
    let silent = 0;
    for (let turn = 0; turn < mostTurns; turn++) {
      await nextTurn();
      if (this.#signs !== seen) {
        seen = this.#signs;
        silent = 0;
        continue;
      }
      silent++;
      if (silent >= silentTurns) return;
    }
    throw new Error(
      `waiting for the end of all work: wanted silence, found a loop without a pause of ${mostTurns} turns`,
    );
  }
}
