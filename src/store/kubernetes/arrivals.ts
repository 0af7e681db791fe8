// Waiters for changes that the host has taken and its stream has not brought yet.
import type { Clock } from '../../clock.ts';
import { StoreFault } from '../errors.ts';

interface Waiter {
  isMet(): boolean;
  settle(fault?: StoreFault): void;
}

/** A replica that hears nothing for so long answers nobody. */
const longestWaitMs = 5_000;

export class Arrivals {
  readonly #clock: Clock;
  readonly #trouble: () => string | undefined;
  readonly #waiters = new Set<Waiter>();
  readonly #watchers = new Set<() => void>();

  /** `trouble`: what keeps the stream away, as far as somebody knows it. */
  constructor(clock: Clock, trouble: () => string | undefined = () => undefined) {
    this.#clock = clock;
    this.#trouble = trouble;
  }

  wait(isMet: () => boolean, ms = longestWaitMs): Promise<void> {
    if (isMet()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        isMet,
        settle: (fault) => {
          timer.cancel();
          this.#waiters.delete(waiter);
          if (fault === undefined) resolve();
          else reject(fault);
        },
      };
      const timer = this.#clock.after(ms, () => waiter.settle(unconfirmed(this.#trouble())));
      this.#waiters.add(waiter);
    });
  }

  /** False = not within this time. */
  async within(ms: number, isMet: () => boolean): Promise<boolean> {
    const givenUpMs = this.#clock.now() + ms;
    for (let left = ms; left > 0 && !isMet(); left = givenUpMs - this.#clock.now())
      await this.wait(isMet, left).catch(() => undefined);
    return isMet();
  }

  /** After every change that has arrived. */
  look(): void {
    for (const watcher of this.#watchers) watcher();
    for (const waiter of [...this.#waiters]) if (waiter.isMet()) waiter.settle();
  }

  /** Calls now and after every change, until the function that is returned is called. */
  each(watcher: () => void): () => void {
    watcher();
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  endAll(fault: StoreFault): void {
    for (const waiter of [...this.#waiters]) waiter.settle(fault);
  }
}

function unconfirmed(trouble: string | undefined): StoreFault {
  const why = trouble === undefined ? '' : `: ${trouble}`;
  return new StoreFault(
    'STORE_HOST_SILENT',
    `Cannot confirm: the host has reported no change for ${longestWaitMs / 1000} s${why}`,
  );
}
