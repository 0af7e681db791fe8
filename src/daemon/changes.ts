// Applies new configurations one after the other, so that the latest one wins, and knows whether the newest is in force, and why not.
import type { Log } from '../log.ts';

export class Changes {
  /** Why the newest valid configuration is not in force. */
  notApplied: string | undefined;
  readonly #log: Log;
  readonly #isStopped: () => boolean;
  #last: Promise<unknown> = Promise.resolve();
  #underWay = 0;

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

  /** Whether a new configuration is being taken over, and an older one is in force until then. */
  get areUnderWay(): boolean {
    return this.#underWay > 0;
  }

  /** Resolves with whether the configuration has come into force. */
  add(apply: () => Promise<void>): Promise<boolean> {
    this.#underWay++;
    const inForce = this.#last
      .then(apply)
      .then(() => {
        this.notApplied = undefined;
        return !this.#isStopped();
      })
      .catch((error: unknown) => {
        if (this.#isStopped()) return false;
        this.notApplied = error instanceof Error ? error.message : String(error);
        this.#log.error({ component: 'main', err: error }, 'new configuration could not be applied, the old one stays');
        return false;
      })
      .finally(() => {
        this.#underWay--;
      });
    this.#last = inForce;
    return inForce;
  }
}
