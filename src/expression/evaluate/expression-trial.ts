// Tries expressions one after the other, as people do at a prompt: text in, value or error out, each in an isolate of its own
// and all in one sandbox process. The same limits and the same answers as in the daemon.
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { type CompiledExpression, compileExpression } from '../language/compile.ts';
import type { SandboxSetup } from '../realm/harness.ts';
import { ChildSandbox } from '../sandbox/child-sandbox.ts';
import type { EvaluationError } from './evaluation-error.ts';
import { createEvaluator, type EvaluatorOptions } from './evaluator.ts';

export interface TrialOptions {
  clock: Clock;
  log: Log;
  nodePath: string;
  vcluster: EvaluatorOptions['vcluster'];
  functions?: Record<string, string>;
}

export interface TrialInputs {
  value: unknown;
  valueExists?: boolean;
  path?: string;
  hostObject?: unknown;
  virtualObject?: unknown;
}

export type Tried = { kind: 'value'; value: unknown } | { kind: 'error'; error: EvaluationError };

export class ExpressionTrial {
  readonly #options: TrialOptions;
  #child: ChildSandbox | undefined;

  constructor(options: TrialOptions) {
    this.#options = options;
  }

  /** A result of undefined and one of null are the same: both delete. One trial at a time. */
  async try(source: string, inputs: TrialInputs): Promise<Tried> {
    const compiled = compileExpression(source);
    if (compiled.kind === 'faults') {
      const { kind, message, fix, line, column } = compiled.faults[0];
      return { kind: 'error', error: { kind, message: `${message}; ${fix}`, position: { line, column } } };
    }
    const { expression } = compiled;
    const tried = await this.#run(expression, inputs, { traces: false });
    if (tried.kind === 'value' || tried.error.kind !== 'threw') return tried;
    // A pure expression throws the same once more, where it can be seen from which place.
    const again = await this.#run(expression, inputs, { traces: true });
    if (again.kind === 'value' || again.error.message !== tried.error.message) return tried;
    return again;
  }

  async #run(expression: CompiledExpression, inputs: TrialInputs, { traces }: { traces: boolean }): Promise<Tried> {
    const { vcluster, functions = {}, clock } = this.#options;
    const evaluator = createEvaluator({
      expressions: [expression],
      vcluster,
      functions,
      clock,
      traces,
      openSandbox: (setup) => this.#borrowed(setup),
    });
    await evaluator.start();
    const { value, valueExists = true, path = '', hostObject = null, virtualObject = null } = inputs;
    const group = { expression, values: [value], paths: [path], missing: valueExists ? undefined : new Set([0]) };
    const [result] = await evaluator.evaluate({ hostObject, virtualObject, groups: [group] });
    const [failed] = result?.errors ?? [];
    if (failed !== undefined) {
      // Nobody waits here, and the next try is a new evaluator's.
      const { retryAfterMs: _, ...error } = failed.error;
      return { kind: 'error', error };
    }
    return { kind: 'value', value: result?.results[0] ?? null };
  }

  async stop(): Promise<void> {
    await this.#child?.stop();
    this.#child = undefined;
  }

  /** The one process, with the expression of the day; it outlives the evaluators. */
  #borrowed(setup: SandboxSetup) {
    const { clock, log, nodePath } = this.#options;
    this.#child ??= new ChildSandbox({ setup, clock, log, nodePath });
    const child = this.#child;
    return {
      start: () => child.reload(setup),
      stop: async () => {},
      run: (text: string, options?: { alone?: boolean }) => child.run(text, options),
    };
  }
}
