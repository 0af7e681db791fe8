// The names that an expression declares, and their scopes. A name without a declaration belongs to the realm.
import type { AnyNode, Pattern, Statement } from 'acorn';

export class NameScope {
  readonly #names: ReadonlySet<string>;
  readonly #outer: NameScope | undefined;

  constructor(names: readonly string[], outer?: NameScope) {
    this.#names = new Set(names);
    this.#outer = outer;
  }

  declares(name: string): boolean {
    return this.#names.has(name) || (this.#outer?.declares(name) ?? false);
  }
}

export function namesInPattern(pattern: Pattern): string[] {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern.name];
    case 'ObjectPattern':
      return pattern.properties.flatMap((property) =>
        namesInPattern(property.type === 'RestElement' ? property : property.value),
      );
    case 'ArrayPattern':
      return pattern.elements.flatMap((element) => (element === null ? [] : namesInPattern(element)));
    case 'RestElement':
      return namesInPattern(pattern.argument);
    case 'AssignmentPattern':
      return namesInPattern(pattern.left);
    case 'MemberExpression':
      return [];
    default:
      return pattern satisfies never;
  }
}

/** The names of let, const and function declarations in one block. */
export function namesInBlock(statements: readonly Statement[]): string[] {
  return statements.flatMap((statement) => {
    if (statement.type === 'FunctionDeclaration') return [statement.id.name];
    if (statement.type !== 'VariableDeclaration' || statement.kind === 'var') return [];
    return statement.declarations.flatMap((declaration) => namesInPattern(declaration.id));
  });
}

/** The names of all var declarations, at any depth, because a var belongs to its function. */
export function varsIn(nodes: readonly AnyNode[]): string[] {
  return nodes.flatMap((node) => {
    if (node.type === 'VariableDeclaration') {
      return node.kind === 'var' ? node.declarations.flatMap((declaration) => namesInPattern(declaration.id)) : [];
    }
    if (/Expression|FunctionDeclaration/.test(node.type) && node.type !== 'ExpressionStatement') return [];
    return varsIn([...childrenOf(node)]);
  });
}

/** The direct child nodes; an acorn node holds nodes, lists of nodes and plain values. */
export function* childrenOf(node: AnyNode): Generator<AnyNode> {
  for (const part of Object.values(node)) {
    for (const child of Array.isArray(part) ? part : [part]) {
      if (isNode(child)) yield child;
    }
  }
}

function isNode(part: unknown): part is AnyNode {
  return typeof part === 'object' && part !== null && 'type' in part && typeof part.type === 'string';
}
