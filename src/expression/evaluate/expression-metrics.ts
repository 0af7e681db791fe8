// The series of this room: what evaluations end in, how many were remembered, how often the sandbox was started and why.
import { type Metrics, openSum, openTally } from '../../metrics.ts';
import type { StartReason } from '../sandbox/child-sandbox.ts';
import type { EvaluationErrorKind } from './evaluation-error.ts';

export interface ExpressionMetrics {
  evaluated(outcome: 'value' | EvaluationErrorKind, count: number): void;
  remembered(count: number): void;
  started(reason: StartReason): void;
}

const outcomes = ['value', 'threw', 'timeout', 'memory', 'size', 'type', 'crash'] as const;
const reasons: readonly StartReason[] = ['first', 'hung', 'died', 'retired'];

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
    help: 'Starts of the sandbox process, by what came before',
    label: 'reason',
  });
  // "Never happened" reads 0, not "absent".
  for (const outcome of outcomes) evaluations.of(outcome);
  for (const reason of reasons) starts.of(reason);
  return {
    evaluated: (outcome, count) => {
      evaluations.of(outcome).sum += count;
    },
    remembered: (count) => {
      remembered.sum += count;
    },
    started: (reason) => {
      starts.of(reason).sum += 1;
    },
  };
}
