// What an evaluator is asked about one object, and what it says: lists of values, each for one expression, and their results.
import type { CompiledExpression } from '../language/compile.ts';
import type { EvaluationError } from './evaluation-error.ts';

/** Values for one expression; a Matches of a path has this shape already. */
export interface ValueGroup {
  expression: CompiledExpression;
  values: readonly unknown[];
  /** Indexes of the values that do not exist. */
  missing?: ReadonlySet<number> | undefined;
  /** Concrete paths; needed only when expression.usesPath. */
  paths?: readonly string[] | undefined;
}

export interface EvaluationRequest {
  /** Tells objects apart where one of them makes expressions run out of time; without it each value counts as one. */
  subject?: string;
  hostObject: unknown;
  virtualObject: unknown;
  groups: readonly ValueGroup[];
}

export interface GroupResult {
  /**
   * In the order of the values. null deletes; a value with an error stands here unchanged. Nobody else holds the objects in
   * it; the list itself may be remembered, so it can only be read.
   */
  results: readonly unknown[];
  errors: readonly { at: number; error: EvaluationError }[];
}

/** How many values there are results for. */
export function countOf(answer: readonly GroupResult[]): number {
  return answer.reduce((sum, { results }) => sum + results.length, 0);
}

/** Undefined stands for what was asked for then. */
export function filled(known: readonly (GroupResult | undefined)[], told: readonly GroupResult[]): GroupResult[] {
  let next = 0;
  return known.map((result) => result ?? (told[next++] as GroupResult));
}
