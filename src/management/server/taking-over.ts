// Takes over the configuration that rules: the own file after a reload, or that of another replica when the store has it. In: the
// configuration that rules, and the steps that put it in force. Out: the steps are done one after the other, and repeated when one fails.
import type { Log } from '../../log.ts';
import type { RulingConfiguration } from '../keys/callers/ruling-configuration.ts';
import type { UserDirectory } from '../keys/callers/user-directory.ts';

export interface TakingOverOptions {
  ruling: RulingConfiguration;
  people: UserDirectory;
  log: Log;
  /** After the names were taken over. */
  done(): Promise<void>;
}

export class TakingOver {
  readonly #parts: TakingOverOptions;
  #taken: string;
  #running: Promise<void> = Promise.resolve();
  #isLate = false;
  #isStopped = false;

  /** What rules at this moment is in force. */
  constructor(parts: TakingOverOptions) {
    this.#parts = parts;
    this.#taken = parts.ruling.rules;
    parts.ruling.follow(() => this.#look());
    this.#look();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running.catch(() => undefined);
  }

  now(): Promise<void> {
    this.#running = this.#running.catch(() => undefined).then(() => this.#take());
    return this.#running;
  }

  get trouble(): string | undefined {
    return this.#isLate ? 'the configuration of another replica could not be taken over; the log says why' : undefined;
  }

  /** Also mends names that a replica has changed which did not know the newest configuration yet. */
  #look(): void {
    const { ruling, people, log } = this.#parts;
    if (this.#isStopped) return;
    if (this.#taken === ruling.rules && people.isSettled) return;
    this.now().catch((error: unknown) => {
      if (!this.#isLate) log.error({ component: 'management', error: String(error) }, 'configuration not taken over');
      this.#isLate = true;
    });
  }

  async #take(): Promise<void> {
    const { ruling, people, done } = this.#parts;
    const { rules, settings } = ruling;
    await people.take(settings);
    await done();
    this.#taken = rules;
    this.#isLate = false;
  }
}
