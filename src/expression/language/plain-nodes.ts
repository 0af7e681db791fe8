// The types of nodes that every expression may have, and how deep the links of a chain count.

/** These nodes are always allowed; only their children are checked. */
export const plainNodes = new Set<string>([
  ...['TemplateLiteral', 'TemplateElement', 'ArrayExpression', 'ObjectExpression', 'BinaryExpression'],
  ...['LogicalExpression'],
  ...['ConditionalExpression', 'SequenceExpression', 'SpreadElement', 'ChainExpression', 'ObjectPattern'],
  ...['ArrayPattern'],
  ...['AssignmentPattern', 'RestElement', 'ReturnStatement', 'IfStatement', 'WhileStatement', 'DoWhileStatement'],
  ...['ThrowStatement', 'TryStatement', 'ExpressionStatement', 'EmptyStatement', 'VariableDeclarator'],
  ...['SwitchCase', 'BreakStatement', 'ContinueStatement'],
]);

/** The child through which a long chain nests without getting harder to read: a + b + c + d, a.b.c.d. */
export const leftSpine = new Map(
  Object.entries({
    BinaryExpression: 'left',
    LogicalExpression: 'left',
    MemberExpression: 'object',
    CallExpression: 'callee',
    ChainExpression: 'expression',
  }),
);

/** A link of such a chain counts as a part of a level, because it still needs stack. */
export const spineStep = 1 / 8;
