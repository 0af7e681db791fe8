// Compiles an expression: parses the whole text, inspects the tree, and prints guarded code. In: the text. Out: the code and
// the inputs that it needs, so that nothing else is sent to the sandbox, or all faults. Must never run code or know a kind.
import type { Expression } from 'acorn';
import { type ContextUse, useOf } from './context-use.ts';
import type { ExpressionFault } from './expression-fault.ts';
import { generate } from './generate.ts';
import { inspect } from './inspect.ts';
import { parseExpression } from './parse.ts';

export interface CompiledExpression {
  source: string;
  /** The body of a function with the parameters value, valueExists and context. */
  code: string;
  tree: Expression;
  context: ContextUse;
  usesValue: boolean;
  usesValueExists: boolean;
  usesPath: boolean;
}

export type Compiled =
  | { kind: 'ok'; expression: CompiledExpression }
  | {
      kind: 'faults';
      faults: [ExpressionFault, ...ExpressionFault[]];
      /** The number of faults that are not listed. */
      more: number;
    };

export function compileExpression(source: string): Compiled {
  const parsed = parseExpression(source);
  if (parsed.kind === 'fault') return { kind: 'faults', faults: [parsed.fault], more: 0 };
  try {
    return compileTree(source, parsed.tree);
  } catch (thrown) {
    // The walks need more stack than the parser, so a tree that was parsed can still be too deep for them.
    if (!(thrown instanceof RangeError)) throw thrown;
    const message = 'expression is nested too deeply';
    return {
      kind: 'faults',
      faults: [{ kind: 'rejected', line: 1, column: 1, message, fix: 'split it into several patches' }],
      more: 0,
    };
  }
}

function compileTree(source: string, tree: Expression): Compiled {
  const { faults, more, context, usesValue, usesValueExists } = inspect(source, tree);
  const [first, ...others] = faults.sort((a, b) => a.line - b.line || a.column - b.column);
  if (first !== undefined) return { kind: 'faults', faults: [first, ...others], more };
  const usesPath = useOf(context, 'path') !== undefined;
  return {
    kind: 'ok',
    expression: { source, code: generate(tree), tree, context, usesValue, usesValueExists, usesPath },
  };
}
