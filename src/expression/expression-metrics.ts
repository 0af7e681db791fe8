// The series of this room: what evaluations end in, how many were remembered, how often the sandbox was started and why.
import { Counter } from 'prom-client';
import type { Metrics } from '../metrics.ts';
import type { StartReason } from './child-sandbox.ts';
import type { EvaluationErrorKind } from './evaluation-error.ts';

export interface ExpressionMetrics {
  evaluated(outcome: 'value' | EvaluationErrorKind, count: number): void;
  remembered(count: number): void;
  shortcut(count: number): void;
  started(reason: StartReason): void;
}

const outcomes = ['value', 'threw', 'timeout', 'memory', 'size', 'type', 'crash'] as const;
const reasons: readonly StartReason[] = ['first', 'hung', 'died', 'retired'];

export function createExpressionMetrics(registry: Metrics): ExpressionMetrics {
  const registers = [registry];
  const evaluations = new Counter({
    name: 'hostward_expression_evaluations_total',
    help: 'Values that expressions were run on in the sandbox, by outcome',
    labelNames: ['outcome'],
    registers,
  });
  const remembered = new Counter({
    name: 'hostward_expression_remembered_total',
    help: 'Values whose result was known without running the expression',
    registers,
  });
  const shortcuts = new Counter({
    name: 'hostward_expression_shortcuts_total',
    help: 'Values whose result was worked out without the sandbox, by expressions of the simplest kind',
    registers,
  });
  const starts = new Counter({
    name: 'hostward_sandbox_starts_total',
    help: 'Starts of the sandbox process, by what came before',
    labelNames: ['reason'],
    registers,
  });
  // "Never happened" reads 0, not "absent".
  for (const outcome of outcomes) evaluations.inc({ outcome }, 0);
  for (const reason of reasons) starts.inc({ reason }, 0);
  return {
    evaluated: (outcome, count) => evaluations.inc({ outcome }, count),
    remembered: (count) => remembered.inc(count),
    shortcut: (count) => shortcuts.inc(count),
    started: (reason) => starts.inc({ reason }),
  };
}
