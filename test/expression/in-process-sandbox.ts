// Runs the hardened isolate inside the test process, for tests that need its results but no sandbox process. The product must not
// use this class: an expression that V8 cannot interrupt would hang the whole process.
import { createRequire } from 'node:module';
import type { SandboxSetup } from '../../src/expression/realm/harness.ts';
import { HardenedIsolate } from '../../src/expression/sandbox/isolate.ts';
import type { Sandbox, SandboxOutcome } from '../../src/expression/sandbox/sandbox.ts';

export class InProcessSandbox implements Sandbox {
  readonly #isolate: HardenedIsolate;
  readonly #timeoutMs: number;

  constructor(setup: SandboxSetup) {
    const onCatastrophe = (message: string) => {
      throw new Error(`run an isolate: wanted it to live, found a catastrophic error: "${message}"`);
    };
    const home = createRequire(import.meta.url).resolve('isolated-vm');
    const options = { setup, home, cpuMs: () => performance.now() };
    this.#isolate = new HardenedIsolate({ ...options, onCatastrophe });
    this.#timeoutMs = setup.timeoutMs;
  }

  async start(): Promise<void> {
    this.#isolate.start();
  }

  async stop(): Promise<void> {
    this.#isolate.stop();
  }

  async run(text: string): Promise<SandboxOutcome> {
    const outcome = this.#isolate.run([text], this.#timeoutMs);
    if (outcome.kind === 'answer') return { kind: 'answer', text: outcome.texts[0] as string };
    return outcome.kind === 'broken' ? { kind: 'crash', message: outcome.message } : outcome;
  }
}
