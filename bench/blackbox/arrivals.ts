// When changes are due: a Poisson process, which does not wait for answers. A slow server must not make its own load lighter.

export class Arrivals {
  #dueMs: number;
  #perMs: number;
  #state = 0x2545f491;

  constructor({ startMs, perSecond }: { startMs: number; perSecond: number }) {
    this.#dueMs = startMs;
    this.#perMs = perSecond / 1000;
  }

  /** The time of the next arrival. */
  next(): number {
    this.#dueMs += -Math.log(1 - this.#chance()) / this.#perMs;
    return this.#dueMs;
  }

  /** The same numbers in every run, so that two syncers meet the same load. */
  #chance(): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) / 2 ** 32;
  }
}

/** Timers of Node are late by a millisecond; the last bit is waited for in turns of the event loop. */
export async function until(dueMs: number): Promise<void> {
  for (;;) {
    const leftMs = dueMs - performance.now();
    if (leftMs <= 0) return;
    await new Promise<void>((resolve) => {
      if (leftMs > 2) setTimeout(resolve, leftMs - 1);
      else setImmediate(resolve);
    });
  }
}
