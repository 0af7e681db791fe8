// Says which answer doctor waits for when it takes long, because a run that says nothing looks like one that hangs. In: a question and
// its answer to come. Out: the same answer, and a line on the way.
import type { Clock } from '../../../clock.ts';

/** An ordinary answer takes milliseconds. */
const longMs = 5_000;

export interface Awaited {
  /** Whose answer it is: `the host cluster at https://…`. */
  from: string;
  question: string;
}

export class Patience {
  readonly #clock: Clock;
  readonly #say: (line: string) => void;
  readonly #saidMs = new Map<string, number>();

  constructor(clock: Clock, say: (line: string) => void) {
    this.#clock = clock;
    this.#say = say;
  }

  async during<T>({ from, question }: Awaited, answer: Promise<T>): Promise<T> {
    const timer = this.#clock.after(longMs, () => this.#tell(from, question));
    try {
      return await answer;
    } finally {
      timer.cancel();
    }
  }

  /** Many questions may wait at once, and one of them says enough. */
  #tell(from: string, question: string): void {
    const now = this.#clock.now();
    const before = this.#saidMs.get(from);
    if (before !== undefined && now - before < longMs) return;
    this.#saidMs.set(from, now);
    this.#say(`waiting for ${from} to answer ${question}\n`);
  }
}
