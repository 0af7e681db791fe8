// When a trouble that lasts is worth a line in the log: when it begins, when it becomes another one, and then rarely. A server that
// is away for a night would otherwise fill the log with one sentence, and nobody would find the others.

/** Between two lines: a server that comes and goes begins a new trouble every second. */
export const leastMs = 10_000;
/** For somebody who reads only the end of the log. */
export const againMs = 300_000;

export class LastingTrouble {
  /** The last trouble that was reported; undefined = it is over, or there was none. */
  #told: string | undefined;
  #toldMs = Number.NEGATIVE_INFINITY;

  /** Whether to tell of it now. What is news too early is told when it is found again later. */
  isNews(trouble: string, nowMs: number): boolean {
    if (nowMs - this.#toldMs < (trouble === this.#told ? againMs : leastMs)) return false;
    this.#told = trouble;
    this.#toldMs = nowMs;
    return true;
  }

  /** Returns whether the trouble had been told, so that its end is worth a line too. */
  over(): boolean {
    const wasTold = this.#told !== undefined;
    this.#told = undefined;
    return wasTold;
  }
}
