// Where printed code lets V8 look at its clock. V8 looks when a function is called that is not one of its own, and an
// operator or a builtin on a long text takes a millisecond or more. Between two calls the code of an expression may do so
// a few times; code that could do it more often calls a function that does nothing, each time.
import type { AnyNode, Expression } from 'acorn';
import { expressionLimits } from './limits.ts';
import { childrenOf } from './scope.ts';

/** Does nothing, but is called. */
export const look = '$$turn()';

const steps = new Set<string>([
  ...['UnaryExpression', 'UpdateExpression', 'BinaryExpression', 'AssignmentExpression', 'SwitchCase'],
  ...['CallExpression', 'NewExpression'],
]);

/** Loops look at the clock each turn, so what counts is how often it stands in the source. */
export function needsLooks(tree: Expression): boolean {
  let count = 0;
  const open: AnyNode[] = [tree];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (steps.has(node.type) && ++count > expressionLimits.stepsUnwatched) return true;
    open.push(...childrenOf(node));
  }
  return false;
}
