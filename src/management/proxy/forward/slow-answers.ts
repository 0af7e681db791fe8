// Lets the answers of clusters that come in tiny pieces go on slowly. All of an owner's such answers together get a few kilobytes every
// `waitMs`, which is more than an honest log in short lines brings, and what they take of the event loop counts for the key that asked.
// In: connections that wait. Out: each goes on after its time, in the turn of its caller.
import type { Clock } from '../../../clock.ts';
import type { Wait } from '../../../object/text/tiny-pieces.ts';

/** Four kilobytes in the tiniest chunks take three milliseconds. */
const waitMs = 10;

export class SlowAnswers {
  readonly #clock: Clock;
  /** How many wait now, by owner. */
  readonly #waiting = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `works` resolves when it is this caller's turn. `tell` is called once. */
  of(owner: string, { works, tell }: { works: (() => Promise<void> | undefined) | undefined; tell: () => void }): Wait {
    let isTold = false;
    return (goOn) => {
      if (!isTold) tell();
      isTold = true;
      const waiting = (this.#waiting.get(owner) ?? 0) + 1;
      this.#waiting.set(owner, waiting);
      this.#clock.after(waitMs * waiting, () => void this.#goOn(owner, works, goOn));
    };
  }

  async #goOn(owner: string, works: (() => Promise<void> | undefined) | undefined, goOn: () => void): Promise<void> {
    const left = (this.#waiting.get(owner) ?? 1) - 1;
    if (left > 0) this.#waiting.set(owner, left);
    else this.#waiting.delete(owner);
    // The turn of a caller is counted to its end only when it begins inside a promise.
    await undefined;
    await works?.();
    goOn();
  }
}
