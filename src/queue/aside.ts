// Keys whose work waits for something that needs no worker, for example for the sandbox. When such a wait takes long, the key
// gives its worker back, so that keys that do not wait there go on.
import type { Clock, Timer } from '../clock.ts';

/** A key that waits elsewhere keeps its worker this long; most waits are shorter. */
const asideAfterMs = 20;
/** Keys that may wait elsewhere without a worker. Each holds memory, so further keys keep their workers. */
const mostAside = 2_000;

export class Aside {
  #clock: Clock;
  /** Called when workers may have become free. */
  #freed: () => void;
  /** Running keys that wait for something that needs no worker, each with the start of its wait. */
  #waiting = new Map<string, number>();
  /** The keys of #waiting that have given their worker back. */
  #aside = new Set<string>();
  #timer: Timer | undefined;

  constructor(clock: Clock, freed: () => void) {
    this.#clock = clock;
    this.#freed = freed;
  }

  /** The number of running keys that need no worker now. */
  get size(): number {
    return this.#aside.size;
  }

  async during<T>(key: string, wait: Promise<T>): Promise<T> {
    this.#waiting.set(key, this.#clock.now());
    this.#timer ??= this.#clock.after(asideAfterMs, () => this.#putAside());
    try {
      return await wait;
    } finally {
      this.#waiting.delete(key);
      this.#aside.delete(key);
    }
  }

  #putAside(): void {
    this.#timer = undefined;
    const before = this.#clock.now() - asideAfterMs;
    for (const [key, sinceMs] of this.#waiting) {
      if (sinceMs <= before && this.#aside.size < mostAside) this.#aside.add(key);
    }
    if (this.#waiting.size > this.#aside.size) {
      this.#timer = this.#clock.after(asideAfterMs, () => this.#putAside());
    }
    this.#freed();
  }
}
