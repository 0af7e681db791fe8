// So many pieces of work go on at a time, and the others wait: the callers in turn, so that hundreds of requests of one caller delay a
// request of another by one of them. For work that holds memory while it waits for something else, which no share of the event loop
// bounds. In: who asks, and the work. Out: what the work returns.

export class Places {
  readonly #most: number;
  #taken = 0;
  /** By caller, in order of arrival; the first caller is the next in turn. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(most: number) {
    this.#most = most;
  }

  /** The work learns how many places are taken, its own among them. */
  async within<T>(caller: string, work: (taken: number) => Promise<T>): Promise<T> {
    if (this.#taken < this.#most) this.#taken++;
    else await this.#place(caller);
    try {
      return await work(this.#taken);
    } finally {
      this.#leave();
    }
  }

  #place(caller: string): Promise<void> {
    return new Promise((resolve) => {
      const mine = this.#waiting.get(caller);
      if (mine === undefined) this.#waiting.set(caller, [resolve]);
      else mine.push(resolve);
    });
  }

  /** Hands the place on, so that nobody who comes meanwhile takes it from those who wait. */
  #leave(): void {
    for (const [caller, works] of this.#waiting) {
      const goOn = works.shift();
      this.#waiting.delete(caller);
      if (works.length > 0) this.#waiting.set(caller, works);
      goOn?.();
      return;
    }
    this.#taken--;
  }
}
