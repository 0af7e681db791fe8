// The metrics of this room: outcomes of evaluations, remembered results, and starts of the sandbox by reason.
import { type Metrics, openSum, openTally, readSeries } from '../../metrics.ts';
import type { StartReason } from '../sandbox/child-sandbox.ts';
import type { EvaluationErrorKind } from './evaluation-error.ts';

/** How many expressions and values are not tried for a while, because they ran out of time or memory. */
export interface Quarantined {
  expressions: number;
  values: number;
}

export interface ExpressionMetrics {
  /** Starts of the sandbox process after it was killed or died. */
  readonly restarts: number;
  /** `read` is called when the metrics are scraped. */
  quarantined(read: () => Quarantined): void;
  evaluated(outcome: 'value' | EvaluationErrorKind, count: number): void;
  remembered(count: number): void;
  started(reason: StartReason): void;
}

const outcomes = ['value', 'threw', 'timeout', 'memory', 'size', 'type', 'crash'] as const;
const reasons: readonly StartReason[] = ['first', 'suspect', 'hung', 'died', 'retired', 'swollen'];

export function createExpressionMetrics(registry: Metrics): ExpressionMetrics {
  const evaluations = openTally(registry, {
    name: 'hostward_expression_evaluations_total',
    help: 'Values that expressions were run on in the sandbox, by outcome',
    label: 'outcome',
  });
  const remembered = openSum(registry, {
    name: 'hostward_expression_remembered_total',
    help: 'Values whose result was known without running the expression',
  });
  const starts = openTally(registry, {
    name: 'hostward_sandbox_starts_total',
    help: 'Starts of sandbox processes, by what came before',
    label: 'reason',
  });
  // Each series exists from the start, so that an outcome that never happened reads 0.
  for (const outcome of outcomes) evaluations.of(outcome);
  for (const reason of reasons) starts.of(reason);
  let restarts = 0;
  return {
    get restarts() {
      return restarts;
    },
    quarantined: (read) => {
      const name = 'hostward_expression_quarantined';
      const help = 'Expressions and values that are not tried for a while, because they ran out of time or memory';
      readSeries(registry, { name, help, labels: { what: 'expressions' }, read: () => read().expressions });
      readSeries(registry, { name, help, labels: { what: 'values' }, read: () => read().values });
    },
    evaluated: (outcome, count) => {
      evaluations.of(outcome).sum += count;
    },
    remembered: (count) => {
      remembered.sum += count;
    },
    started: (reason) => {
      starts.of(reason).sum += 1;
      if (reason === 'hung' || reason === 'died' || reason === 'swollen') restarts++;
    },
  };
}
