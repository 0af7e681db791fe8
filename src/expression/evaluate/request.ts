// The request to an evaluator about one object, and the result: groups of values, each for one expression.
import type { CompiledExpression } from '../language/compile.ts';
import type { EvaluationError } from './evaluation-error.ts';

/** Values for one expression; the Matches of a path have the same shape. */
export interface ValueGroup {
  expression: CompiledExpression;
  values: readonly unknown[];
  /** Indexes of the values that do not exist. */
  missing?: ReadonlySet<number> | undefined;
  /** Concrete paths; needed only when expression.usesPath. */
  paths?: readonly string[] | undefined;
}

export interface EvaluationRequest {
  /** Name of the object in the quarantine; without a name each value counts as an object. */
  subject?: string;
  /** An earlier state of the object has been through the expressions, so that others without a past wait for it. */
  isKnown?: boolean;
  hostObject: unknown;
  virtualObject: unknown;
  groups: readonly ValueGroup[];
}

export interface GroupResult {
  /**
   * In the order of the values. null deletes; a value with an error stays unchanged. The objects in the list belong to the
   * caller; the list itself may be shared with the memory, so the caller may only read it.
   */
  results: readonly unknown[];
  errors: readonly { at: number; error: EvaluationError }[];
}

/** The number of results in all groups. */
export function countOf(answer: readonly GroupResult[]): number {
  return answer.reduce((sum, { results }) => sum + results.length, 0);
}

/** Fills each undefined place of `known` with the next result of `rest`. */
export function fillGaps(known: readonly (GroupResult | undefined)[], rest: readonly GroupResult[]): GroupResult[] {
  let next = 0;
  return known.map((result) => result ?? (rest[next++] as GroupResult));
}
