// One sandbox process for a caller that runs one set of expressions after the other. In: the set-up of each. Out: sandboxes that
// share the process: each start() replaces the expressions, and stop() of one does nothing, because the process outlives it.
import type { SandboxSetup } from '../realm/harness.ts';
import { ChildSandbox, type ChildSandboxOptions } from './child-sandbox.ts';
import type { Sandbox } from './sandbox.ts';

export class SharedSandbox {
  readonly #options: Omit<ChildSandboxOptions, 'setup'>;
  #child: ChildSandbox | undefined;

  constructor(options: Omit<ChildSandboxOptions, 'setup'>) {
    this.#options = options;
  }

  /** One at a time: no request of another set-up may be in flight. */
  readonly open = (setup: SandboxSetup): Sandbox => {
    this.#child ??= new ChildSandbox({ ...this.#options, setup });
    const child = this.#child;
    return {
      start: () => child.reload(setup),
      stop: async () => {},
      run: (text, options) => child.run(text, options),
    };
  };

  async stop(): Promise<void> {
    await this.#child?.stop();
    this.#child = undefined;
  }
}
