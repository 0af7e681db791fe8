// Applies new configurations one after the other, so that the latest one wins, and remembers why the newest is not in force.
import type { Log } from '../log.ts';

export class Changes {
  /** Why the newest valid configuration is not in force. */
  notApplied: string | undefined;
  readonly #log: Log;
  readonly #isStopped: () => boolean;
  #last: Promise<void> = Promise.resolve();

  constructor(log: Log, { isStopped }: { isStopped: () => boolean }) {
    this.#log = log;
    this.#isStopped = isStopped;
  }

  /** Changes wait until this has ended, well or badly. */
  waitFor(work: Promise<unknown>): void {
    this.#last = work.then(
      () => {},
      () => {},
    );
  }

  add(apply: () => Promise<void>): void {
    this.#last = this.#last
      .then(apply)
      .then(() => {
        this.notApplied = undefined;
      })
      .catch((error: unknown) => {
        if (this.#isStopped()) return;
        this.notApplied = error instanceof Error ? error.message : String(error);
        this.#log.error({ component: 'main', err: error }, 'new configuration could not be applied, the old one stays');
      });
  }
}
