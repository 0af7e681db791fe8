// Walks over the tree of an expression and refuses every node type, name, assignment target and key that no rule allows. Also
// records the part of `context` that the expression names. The realm in the sandbox enforces the same rules at run time; this
// walk reports a fault early and in words.
import type { AnyNode, AssignmentExpression, Expression, Identifier, MemberExpression, Pattern } from 'acorn';
import { targetFaults } from './assignment-target.ts';
import { freeNames, globalConstants, machineryNames, rewritePrefix } from './builtins.ts';
import { addUse, type ContextUse, emptyUse } from './context-use.ts';
import { type ExpressionFault, shown } from './expression-fault.ts';
import { keysOf, rootOf } from './member-chain.ts';
import { calleeOf, callFaults, constructionFaults, memberFaults } from './member-rules.ts';
import { patternFaults } from './pattern-weight.ts';
import { chainLinkLevel, leftSpine, plainNodes, RefusedParts, refusedNodes, unavailable } from './refusals.ts';
import { childrenOf, NameScope, namesInBlock, namesInPattern, varsIn } from './scope.ts';

export interface Inspection {
  faults: ExpressionFault[];
  /** The number of faults that are not listed. */
  more: number;
  context: ContextUse;
  usesValue: boolean;
  usesValueExists: boolean;
}

type AnyFunction = Extract<AnyNode, { type: 'ArrowFunctionExpression' | 'FunctionExpression' | 'FunctionDeclaration' }>;

export function inspect(source: string, tree: Expression): Inspection {
  const inspector = new Inspector(source);
  inspector.visit(tree, new NameScope([]), 0);
  return inspector.result;
}

class Inspector {
  readonly #refused: RefusedParts;
  readonly #found = { context: emptyUse(), usesValue: false, usesValueExists: false };
  readonly #source: string;
  readonly #roots = new Map<AnyNode, AnyNode>();

  constructor(source: string) {
    this.#source = source;
    this.#refused = new RefusedParts(source);
  }

  get result(): Inspection {
    const { faults, more } = this.#refused;
    return { faults, more, ...this.#found };
  }

  #textOf(node: AnyNode): string {
    return shown(this.#source.slice(node.start, node.end));
  }

  visit(node: AnyNode, scope: NameScope, depth: number): void {
    if (this.#refused.isWithin(node, depth)) this.#special(node, scope, depth);
  }

  #children(node: AnyNode, scope: NameScope, depth: number): void {
    const spine = leftSpine.get(node.type);
    for (const child of childrenOf(node)) {
      const isSpine = spine !== undefined && (node as unknown as Record<string, unknown>)[spine] === child;
      this.visit(child, scope, depth + (isSpine ? chainLinkLevel : 1));
    }
  }

  #special(node: AnyNode, scope: NameScope, depth: number): void {
    switch (node.type) {
      case 'Identifier':
        this.#reference(node, scope);
        return;
      case 'Literal':
        if (typeof node.value === 'bigint' || node.bigint !== undefined) {
          this.#refused.refuse(node, 'BigInt is not available', 'use a number');
        }
        this.#refused.refuseAll(patternFaults(node));
        return;
      case 'MemberExpression':
        this.#member(node, scope, depth, false);
        return;
      case 'CallExpression':
        this.#call(node, scope, depth);
        return;
      case 'NewExpression':
        this.#refused.refuseAll(constructionFaults(node, scope, this.#source));
        this.#children(node, scope, depth);
        return;
      case 'Property':
        this.#property(node, scope, depth);
        return;
      case 'UnaryExpression':
        if (node.operator === 'delete') this.#target(node.argument, scope, { isPlain: false });
        this.#children(node, scope, depth);
        return;
      case 'UpdateExpression':
        this.#target(node.argument, scope, { isPlain: false });
        this.#children(node, scope, depth);
        return;
      case 'AssignmentExpression':
        this.#assignment(node, scope, depth);
        return;
      default:
        this.#scoped(node, scope, depth);
        return;
    }
  }

  /** Handles nodes that open a scope, then plain nodes, and refuses all others. */
  #scoped(node: AnyNode, scope: NameScope, depth: number): void {
    switch (node.type) {
      case 'ArrowFunctionExpression':
      case 'FunctionExpression':
      case 'FunctionDeclaration': {
        if (node.async || node.generator) {
          this.#unknown(node, node.async ? 'async' : 'generator');
          return;
        }
        this.#functionParts(node, scope, depth);
        return;
      }
      case 'BlockStatement':
        this.#children(node, this.#declare(node, namesInBlock(node.body), scope), depth);
        return;
      case 'SwitchStatement': {
        const inner = this.#declare(node, namesInBlock(node.cases.flatMap((one) => one.consequent)), scope);
        // The names of the cases are not visible in the discriminant.
        this.visit(node.discriminant, scope, depth + 1);
        for (const one of node.cases) this.visit(one, inner, depth + 1);
        return;
      }
      case 'CatchClause': {
        const names = node.param ? namesInPattern(node.param) : [];
        this.#children(node, this.#declare(node, names, scope), depth);
        return;
      }
      case 'ForStatement':
        this.#children(node, this.#declareIn(node, node.init, scope), depth);
        return;
      case 'ForInStatement':
      case 'ForOfStatement': {
        if (node.type === 'ForOfStatement' && node.await) {
          this.#unknown(node, 'async');
          return;
        }
        const inner = this.#declareIn(node, node.left, scope);
        if (node.left.type !== 'VariableDeclaration') this.#target(node.left, scope, { isPlain: false });
        this.#children(node, inner, depth);
        return;
      }
      case 'VariableDeclaration':
        if (!['let', 'const', 'var'].includes(node.kind)) {
          this.#unknown(node, node.kind);
          return;
        }
        this.#children(node, scope, depth);
        return;
      default:
        if (!plainNodes.has(node.type)) {
          this.#unknown(node, node.type);
          return;
        }
        this.#children(node, scope, depth);
        return;
    }
  }

  /** The names of the body are not visible in the default values of parameters. */
  #functionParts(node: AnyFunction, scope: NameScope, depth: number): void {
    const own = node.id ? [node.id.name] : [];
    const outer = this.#declare(node, [...own, ...node.params.flatMap(namesInPattern)], scope);
    for (const param of node.params) this.visit(param, outer, depth + 1);
    const { body } = node;
    const inner = body.type === 'BlockStatement' ? this.#declare(node, varsIn(body.body), outer) : outer;
    this.visit(body, inner, depth + 1);
  }

  #unknown(node: AnyNode, name: string): void {
    const [what, fix] = refusedNodes.get(name) ?? [`${name} is not available`, 'use a plain expression'];
    this.#refused.refuse(node, what, fix);
  }

  #declareIn(node: AnyNode, head: AnyNode | null | undefined, scope: NameScope): NameScope {
    if (head?.type !== 'VariableDeclaration' || head.kind === 'var') return scope;
    const names = head.declarations.flatMap((declaration) => namesInPattern(declaration.id));
    return this.#declare(node, names, scope);
  }

  #declare(node: AnyNode, names: readonly string[], scope: NameScope): NameScope {
    for (const name of names) {
      if (name.startsWith(rewritePrefix) || globalConstants.includes(name)) {
        this.#refused.refuse(node, `name "${name}" is reserved`, 'use another name');
      }
    }
    return new NameScope(names, scope);
  }

  #reference(node: Identifier, scope: NameScope): void {
    const { name } = node;
    if (scope.declares(name)) return;
    if (name.startsWith(rewritePrefix)) {
      this.#refused.refuse(node, `name "${name}" is reserved`, 'use another name');
      return;
    }
    if (!freeNames.has(name)) {
      this.#refused.refuseBy(node, () => unavailable(name, this.#source, node.start));
      return;
    }
    if (name === 'context') addUse(this.#found.context, []);
    if (name === 'value') this.#found.usesValue = true;
    if (name === 'valueExists') this.#found.usesValueExists = true;
  }

  #member(node: MemberExpression, scope: NameScope, depth: number, isCalled: boolean): void {
    const root = rootOf(node, this.#roots);
    if (root.type === 'Identifier' && root.name === 'context' && !scope.declares('context')) {
      addUse(this.#found.context, keysOf(node, isCalled));
      this.#chain(node, scope, depth);
      return;
    }
    this.#key(node, scope, depth);
    this.visit(node.object, scope, depth + chainLinkLevel);
  }

  /** Checks the members of a chain that starts at context; the named part is recorded already. */
  #chain(node: AnyNode, scope: NameScope, depth: number): void {
    if (node.type === 'ChainExpression') {
      this.#chain(node.expression, scope, depth);
      return;
    }
    if (node.type !== 'MemberExpression' || !this.#refused.isWithin(node, depth)) return;
    this.#key(node, scope, depth);
    this.#chain(node.object, scope, depth + chainLinkLevel);
  }

  #key(node: MemberExpression, scope: NameScope, depth: number): void {
    if (node.property.type === 'PrivateIdentifier') {
      this.#unknown(node, 'class');
      return;
    }
    this.#refused.refuseAll(memberFaults(node, scope, this.#source));
    if (node.computed) this.visit(node.property, scope, depth + 1);
  }

  #call(node: AnyNode & { type: 'CallExpression' }, scope: NameScope, depth: number): void {
    this.#refused.refuseAll(callFaults(node, scope));
    const callee = calleeOf(node);
    if (callee.type !== 'MemberExpression') {
      this.#children(node, scope, depth);
      return;
    }
    if (this.#refused.isWithin(callee, depth)) this.#member(callee, scope, depth, true);
    for (const argument of node.arguments) this.visit(argument, scope, depth + 1);
  }

  #property(node: AnyNode & { type: 'Property' }, scope: NameScope, depth: number): void {
    if (node.kind !== 'init') {
      this.#unknown(node, 'accessor');
      return;
    }
    const { key } = node;
    // A literal key in brackets is the same key as one without brackets.
    const name =
      key.type === 'Literal' ? String(key.value) : key.type === 'Identifier' && !node.computed ? key.name : undefined;
    if (name !== undefined && machineryNames.has(name)) {
      this.#refused.refuse(key, `"${name}" is not available`, 'expressions work on data only');
    }
    if (key.type === 'Literal' && key.bigint !== undefined)
      this.#refused.refuse(key, 'BigInt is not available', 'use a number');
    if (node.computed) this.visit(key, scope, depth + 1);
    this.visit(node.value, scope, depth + 1);
  }

  #assignment(node: AssignmentExpression, scope: NameScope, depth: number): void {
    this.#target(node.left, scope, { isPlain: node.operator === '=' && node.left.type === 'MemberExpression' });
    this.#children(node, scope, depth);
  }

  #target(node: Pattern | Expression, scope: NameScope, form: { isPlain: boolean }): void {
    for (const { at, message, fix } of targetFaults(node, scope, form)) {
      this.#refused.refuse(at, message.replace('%', this.#textOf(at)), fix);
    }
  }
}
