// What has just come and could not be judged is missing in memory until another replica says whether it believes it. In: a question to
// the others. Out: when memory may be read, because the question is answered or nobody has answered it in time.
import type { Clock } from '../../clock.ts';
import type { Arrivals } from './arrivals.ts';
import type { Intake } from './intake.ts';
import { silenceMs } from './pulse.ts';

export interface OpenQuestionsOptions {
  clock: Clock;
  /** This one, which cannot answer itself. */
  replica: string;
  arrivals: Arrivals;
  intake: Pick<Intake, 'guesses' | 'replicas'>;
}

export class OpenQuestions {
  readonly #options: OpenQuestionsOptions;
  #answerByMs = 0;

  constructor(options: OpenQuestionsOptions) {
    this.#options = options;
  }

  /** A replica that lives answers within the time that it may be silent. */
  asked(): void {
    const { clock, replica, intake } = this.#options;
    if (intake.replicas.live.some((one) => one.replica !== replica)) this.#answerByMs = clock.now() + silenceMs;
  }

  async settled(name: string): Promise<void> {
    await this.#until(() => !this.#options.intake.guesses.has(name));
  }

  /** Another replica may believe a record and show it at a revision at which a reader would miss it here. */
  async before<Read>(read: () => Promise<Read>): Promise<Read> {
    await this.#until(() => this.#options.intake.guesses.size === 0);
    return read();
  }

  async #until(isAnswered: () => boolean): Promise<void> {
    const { clock, arrivals } = this.#options;
    if (!isAnswered()) await arrivals.within(this.#answerByMs - clock.now(), isAnswered);
  }
}
