// Prints the statements in a function body as code. In: the tree of a block, and the printer of the expressions in it. Out: code
// in which each turn of a loop and each caught error passes a guard.
import type {
  AnyNode,
  BlockStatement,
  CatchClause,
  Pattern,
  SwitchCase,
  TryStatement,
  VariableDeclaration,
} from 'acorn';

/** Prints the parts of a statement. */
export interface PartPrinter {
  expression(node: AnyNode): string;
  /** The target of an assignment. */
  target(node: AnyNode): string;
  pattern(node: Pattern): string;
  parameters(params: readonly Pattern[]): string;
  /** The text before an operation that V8 does not interrupt. */
  step(): string;
}

export class StatementPrinter {
  readonly #print: PartPrinter;

  constructor(print: PartPrinter) {
    this.#print = print;
  }

  block(node: BlockStatement): string {
    return `{${node.body.map((one) => this.#statement(one)).join('')}}`;
  }

  #statement(node: AnyNode): string {
    switch (node.type) {
      case 'ExpressionStatement':
        return `(${this.#print.expression(node.expression)});`;
      case 'EmptyStatement':
        return ';';
      case 'BlockStatement':
        return this.block(node);
      case 'ReturnStatement':
        return node.argument ? `return (${this.#print.expression(node.argument)});` : 'return;';
      case 'ThrowStatement':
        return `throw (${this.#print.expression(node.argument)});`;
      case 'BreakStatement':
        return 'break;';
      case 'ContinueStatement':
        return 'continue;';
      case 'VariableDeclaration':
        return `${this.#declaration(node)};`;
      case 'FunctionDeclaration':
        return `function ${node.id?.name ?? ''}(${this.#print.parameters(node.params)})${this.block(node.body)}`;
      case 'IfStatement': {
        const otherwise = node.alternate ? `else ${this.#statement(node.alternate)}` : '';
        // The braces keep the else with its own if.
        return `if(${this.#print.expression(node.test)}){${this.#statement(node.consequent)}}${otherwise}`;
      }
      case 'TryStatement':
        return this.#attempt(node);
      default:
        return this.#loop(node);
    }
  }

  /**
   * V8 checks its time limit at each function call, but in a loop without calls only every few thousand turns, and an operator
   * on a long text takes up to a millisecond. So each turn of a loop calls a function.
   */
  #turn(body: AnyNode): string {
    return `{$$turn();${this.#statement(body)}}`;
  }

  #loop(node: AnyNode): string {
    switch (node.type) {
      case 'WhileStatement':
        return `while(${this.#print.expression(node.test)})${this.#turn(node.body)}`;
      case 'DoWhileStatement':
        return `do${this.#turn(node.body)}while(${this.#print.expression(node.test)});`;
      case 'ForStatement': {
        const { init } = node;
        const head = init
          ? init.type === 'VariableDeclaration'
            ? this.#declaration(init)
            : this.#print.expression(init)
          : '';
        const [test, update] = [node.test, node.update].map((part) => (part ? this.#print.expression(part) : ''));
        return `for(${head};${test};${update})${this.#turn(node.body)}`;
      }
      case 'ForInStatement':
      case 'ForOfStatement': {
        const { left } = node;
        const head = left.type === 'VariableDeclaration' ? this.#declaration(left) : this.#print.target(left);
        const [word, guard] = node.type === 'ForInStatement' ? ['in', '$$obj'] : ['of', '$$iter'];
        return `for(${head} ${word} ${guard}(${this.#print.expression(node.right)}))${this.#turn(node.body)}`;
      }
      case 'SwitchStatement':
        return `switch(${this.#print.expression(node.discriminant)}){${node.cases.map((one) => this.#switchCase(one)).join('')}}`;
      default:
        throw new Error(`print a statement: wanted an allowed node, found "${node.type}"`);
    }
  }

  #switchCase(node: SwitchCase): string {
    const label = node.test ? `case (${this.#print.step()}${this.#print.expression(node.test)}):` : 'default:';
    return `${label}${node.consequent.map((one) => this.#statement(one)).join('')}`;
  }

  #attempt(node: TryStatement): string {
    const { handler, finalizer } = node;
    return `try${this.block(node.block)}${handler ? this.#caught(handler) : ''}${finalizer ? `finally${this.block(finalizer)}` : ''}`;
  }

  /** The message of an error of V8 can be longer than any allowed text, so a guard checks it before the expression sees it. */
  #caught({ param, body }: CatchClause): string {
    if (!param) return `catch${this.block(body)}`;
    // A var in the block may declare a plain name again, which a let would not allow.
    if (param.type === 'Identifier') return `catch(${param.name}){$$caught(${param.name});${this.block(body)}}`;
    return `catch($$e){$$caught($$e);let ${this.#print.pattern(param)}=$$e;${this.block(body)}}`;
  }

  #declaration(node: VariableDeclaration): string {
    const parts = node.declarations.map(
      (part) => this.#print.pattern(part.id) + (part.init ? `=${this.#print.expression(part.init)}` : ''),
    );
    return `${node.kind} ${parts.join(',')}`;
  }
}
