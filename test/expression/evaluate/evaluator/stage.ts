// An evaluator whose sandbox remembers what it was asked.
import type { SandboxSetup } from '../../../../src/expression/realm/harness.ts';
import type { Sandbox, SandboxOutcome } from '../../../../src/expression/sandbox/sandbox.ts';
import { compiled, startEvaluator } from '../../evaluator-fixture.ts';
import { InProcessSandbox } from '../../in-process-sandbox.ts';

/** Records the requests, and can answer in place of the sandbox. */
export class RecordingSandbox implements Sandbox {
  readonly sent: string[] = [];
  readonly alone: boolean[] = [];
  readonly setup: SandboxSetup;
  readonly #inner: InProcessSandbox;
  answers: (SandboxOutcome | undefined)[] = [];
  /** What is asked while it is set waits for it. */
  busy: Promise<void> | undefined;

  constructor(setup: SandboxSetup) {
    this.setup = setup;
    this.#inner = new InProcessSandbox(setup);
  }

  start = () => this.#inner.start();
  stop = () => this.#inner.stop();

  async run(text: string, { alone = false } = {}): Promise<SandboxOutcome> {
    this.sent.push(text);
    this.alone.push(alone);
    await this.busy;
    return this.answers.shift() ?? this.#inner.run(text);
  }
}

export async function openRecorded(sources: string[], options: Partial<Parameters<typeof startEvaluator>[0]> = {}) {
  const expressions = sources.map(compiled);
  let sandbox: RecordingSandbox | undefined;
  const openSandbox = (setup: SandboxSetup) => (sandbox = new RecordingSandbox(setup));
  const evaluator = await startEvaluator({ expressions, openSandbox, ...options });
  return { evaluator, expressions, sandbox: sandbox as unknown as RecordingSandbox };
}

export const noObjects = { hostObject: null, virtualObject: null };
