// Sandboxes of all daemons of a process: what an expression answers follows from its request alone, so each is asked once, and an isolate is built
// only for a question that is new.
import { type Clock, pause } from '../../../src/clock.ts';
import type { SandboxSetup } from '../../../src/expression/realm/harness.ts';
import type { Sandbox, SandboxOutcome } from '../../../src/expression/sandbox/sandbox.ts';
import { InProcessSandbox } from '../../expression/in-process-sandbox.ts';

/** How long each answer takes on the clock of its daemon. */
interface Pace {
  clock: Clock;
  ms: number;
}

interface Shared {
  isolate: InProcessSandbox | undefined;
  answers: Map<string, SandboxOutcome>;
}

/** As many configurations as a few scenarios have. */
const mostShared = 24;
/** Of one configuration. Questions come again soon or never; an hour with reloads must not look like a leak. */
const mostAnswers = 200;
const shared = new Map<string, Shared>();

function sharedOf(setup: SandboxSetup): Shared {
  const key = JSON.stringify(setup);
  const known = shared.get(key) ?? { isolate: undefined, answers: new Map() };
  shared.delete(key);
  shared.set(key, known);
  const [oldest] = shared;
  if (shared.size > mostShared && oldest !== undefined) {
    shared.delete(oldest[0]);
    void oldest[1].isolate?.stop();
  }
  return known;
}

export class RememberedSandbox implements Sandbox {
  readonly #setup: SandboxSetup;
  readonly #shared: Shared;
  readonly #pace: Pace;
  readonly #stopped: () => void;
  #isOpen = false;

  constructor(setup: SandboxSetup, { pace, stopped }: { pace: Pace; stopped: () => void }) {
    this.#setup = setup;
    this.#pace = pace;
    this.#stopped = stopped;
    this.#shared = sharedOf(setup);
  }

  async start(): Promise<void> {
    this.#isOpen = true;
  }

  async stop(): Promise<void> {
    this.#isOpen = false;
    this.#stopped();
  }

  /** A stopped one answers nobody. */
  async run(text: string): Promise<SandboxOutcome> {
    if (this.#pace.ms > 0) await pause(this.#pace.clock, this.#pace.ms);
    if (!this.#isOpen) return new Promise(() => {});
    const known = this.#shared.answers.get(text);
    if (known !== undefined) return known;
    this.#shared.isolate ??= new InProcessSandbox(this.#setup);
    const outcome = await this.#shared.isolate.run(text);
    const { answers } = this.#shared;
    if (answers.size >= mostAnswers) answers.clear();
    // A time-out may be the machine's.
    if (outcome.kind === 'answer') answers.set(text, outcome);
    return outcome;
  }
}
