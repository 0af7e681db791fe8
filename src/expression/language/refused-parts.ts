// Gathers the faults that the inspection of one expression finds, each with its place, and counts the nodes against the limits. In:
// nodes and sentences. Out: the first faults, and the number of the others.
import type { AnyNode } from 'acorn';
import { expressionLimits } from '../limits.ts';
import { type ExpressionFault, type NodeFault, placeOf } from './expression-fault.ts';

export class RefusedParts {
  readonly faults: ExpressionFault[] = [];
  /** The number of faults that are not listed. */
  more = 0;
  readonly #source: string;
  #nodes = 0;
  #isTooDeep = false;
  #isTooLarge = false;

  constructor(source: string) {
    this.#source = source;
  }

  refuse(node: AnyNode, message: string, fix: string): void {
    this.refuseBy(node, () => [message, fix]);
  }

  /** `words` runs only for listed faults, because an expression can have two thousand faults. */
  refuseBy(node: AnyNode, words: () => readonly [message: string, fix: string]): void {
    if (this.faults.length >= expressionLimits.told) {
      this.more++;
      return;
    }
    const [message, fix] = words();
    this.faults.push({ kind: 'rejected', ...placeOf(this.#source, node.start), message, fix });
  }

  refuseAll(faults: readonly NodeFault[]): void {
    for (const { at, message, fix } of faults) this.refuse(at, message, fix);
  }

  /** Counts one node, and refuses the first node beyond a limit. The caller must not visit a node for which this is false. */
  isWithin(node: AnyNode, depth: number): boolean {
    this.#nodes++;
    if (this.#nodes > expressionLimits.maxNodes && !this.#isTooLarge) {
      this.#isTooLarge = true;
      this.refuse(node, `expression has more than ${expressionLimits.maxNodes} parts`, 'split it into several patches');
    }
    if (depth > expressionLimits.maxNesting && !this.#isTooDeep) {
      this.#isTooDeep = true;
      this.refuse(
        node,
        `expression nests more than ${expressionLimits.maxNesting} levels deep`,
        'split it into several patches',
      );
    }
    return this.#nodes <= expressionLimits.maxNodes && depth <= expressionLimits.maxNesting;
  }
}
