// Tries expressions one after the other, as a user does at a prompt: source in, value or error out. Each expression gets a new
// isolate, and all share one sandbox process. Limits and answers are the same as in the daemon.
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { type CompiledExpression, compileExpression } from '../language/compile.ts';
import { SharedSandbox } from '../sandbox/shared-sandbox.ts';
import type { EvaluationError } from './evaluation-error.ts';
import { createEvaluator, type EvaluatorOptions } from './evaluator.ts';

export interface TrialOptions {
  clock: Clock;
  log: Log;
  nodePath: string;
  vcluster: EvaluatorOptions['vcluster'];
  functions?: Record<string, string>;
  /** Instead of a process of its own; the caller ends it. */
  openSandbox?: EvaluatorOptions['openSandbox'];
}

export interface TrialInputs {
  value: unknown;
  valueExists?: boolean;
  path?: string;
  hostObject?: unknown;
  virtualObject?: unknown;
}

export type TrialResult = { kind: 'value'; value: unknown } | { kind: 'error'; error: EvaluationError };

export class ExpressionTrial {
  readonly #options: TrialOptions;
  readonly #shared: SharedSandbox;

  constructor(options: TrialOptions) {
    this.#options = options;
    this.#shared = new SharedSandbox(options);
  }

  /** One trial at a time. A result of undefined becomes null, because both delete the field. */
  async try(source: string, inputs: TrialInputs): Promise<TrialResult> {
    const compiled = compileExpression(source);
    if (compiled.kind === 'faults') {
      const { kind, message, fix, line, column } = compiled.faults[0];
      return { kind: 'error', error: { kind, message: `${message}; ${fix}`, position: { line, column } } };
    }
    const { expression } = compiled;
    const tried = await this.#run(expression, inputs, { traces: false });
    if (tried.kind === 'value' || tried.error.kind !== 'threw') return tried;
    // A pure expression throws the same error again, and the second run reports the position.
    const again = await this.#run(expression, inputs, { traces: true });
    if (again.kind === 'value' || again.error.message !== tried.error.message) return tried;
    return again;
  }

  async #run(
    expression: CompiledExpression,
    inputs: TrialInputs,
    { traces }: { traces: boolean },
  ): Promise<TrialResult> {
    const { vcluster, functions = {}, clock } = this.#options;
    const evaluator = createEvaluator({
      expressions: [expression],
      vcluster,
      functions,
      clock,
      traces,
      openSandbox: this.#options.openSandbox ?? this.#shared.open,
    });
    await evaluator.start();
    const { value, valueExists = true, path = '', hostObject = null, virtualObject = null } = inputs;
    const group = { expression, values: [value], paths: [path], missing: valueExists ? undefined : new Set([0]) };
    const [result] = await evaluator.evaluate({ hostObject, virtualObject, groups: [group] });
    const [failed] = result?.errors ?? [];
    if (failed !== undefined) {
      // The quarantine ends with this evaluator, so a retry time would mean nothing to the user.
      const { retryAfterMs: _, ...error } = failed.error;
      return { kind: 'error', error };
    }
    return { kind: 'value', value: result?.results[0] ?? null };
  }

  async stop(): Promise<void> {
    await this.#shared.stop();
  }
}
