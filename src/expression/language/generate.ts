// Prints the tree of an expression as code again. What runs is this and never the text, so a text that two parsers read
// differently can do no harm. On the way +, templates, computed keys, spreads and what is caught go through guards in the
// sandbox, because no wrapper around a builtin could bound those. Only nodes that the inspection lets pass can be printed.
import type {
  AnyNode,
  AssignmentExpression,
  BlockStatement,
  CatchClause,
  Expression,
  MemberExpression,
  Pattern,
  SwitchCase,
  TemplateLiteral,
  TryStatement,
  VariableDeclaration,
} from 'acorn';
import { expressionLimits } from '../limits.ts';
import { writtenKey } from './member-chain.ts';

export function generate(tree: Expression): string {
  return printed(tree, nothing);
}

/** Stands around the numbers of places; sources that hold it have no places. */
const bracket = '\u0001';

/** Where in its source the part of an expression begins that stands at this offset of its code. */
export function sourceIndexAt(source: string, tree: Expression, offset: number): number | undefined {
  if (source.includes(bracket)) return undefined;
  let found: number | undefined;
  let passed = 0;
  // Code and numbers take turns.
  for (const [at, piece] of printed(tree, (node) => `${bracket}${node.start}${bracket}`)
    .split(bracket)
    .entries()) {
    if (passed > offset) break;
    if (at % 2 === 1) found = Number(piece);
    else passed += piece.length;
  }
  return found;
}

type Mark = (node: AnyNode) => string;
const nothing: Mark = () => '';
/** Printed before each part. In code that runs it is nothing. */
let mark = nothing;
/** Printed before each step: where there are many, a call of a function that does nothing, so that V8 looks at its clock. */
let watch = '';
let steps = 0;

/**
 * V8 looks at the clock when a function is called that is not one of its own, and an operator or a builtin on a long text
 * takes a millisecond or more. Loops have a look each turn, so what counts is how often it stands in the source.
 */
function step(): string {
  steps++;
  return watch;
}

function printed(tree: Expression, marked: Mark): string {
  mark = marked;
  steps = 0;
  try {
    const code = expression(tree);
    if (steps <= expressionLimits.stepsUnwatched) return code;
    watch = '$$turn(),';
    return expression(tree);
  } finally {
    mark = nothing;
    watch = '';
  }
}

function expression(node: AnyNode): string {
  return mark(node) + unmarked(node);
}

/** Everything that is not an atom comes in parentheses: no precedence, no surprise with what stands beside it. */
function unmarked(node: AnyNode): string {
  switch (node.type) {
    case 'Identifier':
      return node.name;
    case 'Literal':
      return literal(node);
    case 'TemplateLiteral':
      return template(node);
    case 'ArrayExpression':
      return `[${node.elements.map((element) => (element === null ? ',' : `${expression(element)},`)).join('')}]`;
    case 'ObjectExpression':
      return `({${node.properties.map(property).join(',')}})`;
    case 'SpreadElement':
      return `...$$iter(${expression(node.argument)})`;
    case 'ArrowFunctionExpression': {
      const body = node.body.type === 'BlockStatement' ? block(node.body) : `(${expression(node.body)})`;
      return `((${parameters(node.params)})=>${body})`;
    }
    case 'FunctionExpression':
      return `(function ${node.id?.name ?? ''}(${parameters(node.params)})${block(node.body)})`;
    case 'MemberExpression':
      return member(node, '$$key');
    case 'ChainExpression':
      return `(${expression(node.expression)})`;
    case 'CallExpression':
      return `${called(node.callee)}${node.optional ? '?.' : ''}(${node.arguments.map(expression).join(',')})`;
    case 'NewExpression':
      return `(${step()}new ${expression(node.callee)}(${node.arguments.map(expression).join(',')}))`;
    default:
      return operation(node);
  }
}

function operation(node: AnyNode): string {
  switch (node.type) {
    case 'UnaryExpression':
      return `(${step()}${node.operator} ${expression(node.argument)})`;
    case 'UpdateExpression': {
      const place = target(node.argument);
      return node.prefix ? `(${step()}${node.operator}${place})` : `(${step()}${place}${node.operator})`;
    }
    case 'BinaryExpression': {
      const [left, right] = [expression(node.left), expression(node.right)];
      return node.operator === '+' ? `$$add(${left},${right})` : `(${step()}${left} ${node.operator} ${right})`;
    }
    case 'LogicalExpression':
      return `(${expression(node.left)} ${node.operator} ${expression(node.right)})`;
    case 'ConditionalExpression':
      return `(${expression(node.test)}?${expression(node.consequent)}:${expression(node.alternate)})`;
    case 'SequenceExpression':
      return `(${node.expressions.map(expression).join(',')})`;
    case 'AssignmentExpression':
      return assignment(node);
    default:
      throw new Error(`print an expression: wanted an allowed node, got "${node.type}"`);
  }
}

function literal(node: AnyNode & { type: 'Literal' }): string {
  // In parentheses, so that no slash before it can turn its own slash into a division.
  if (node.regex !== undefined) return `(/${node.regex.pattern}/${node.regex.flags})`;
  const { value } = node;
  if (typeof value === 'string') return text(value);
  if (typeof value === 'number') return value === Number.POSITIVE_INFINITY ? '(1e999)' : `(${String(value)})`;
  if (value === null || typeof value === 'boolean') return String(value);
  throw new Error(`print an expression: wanted an allowed literal, got a ${typeof value}`);
}

function text(value: string): string {
  return JSON.stringify(value)
    .replace(/\u2028/g, '\\u2028')
    .replace(/\u2029/g, '\\u2029');
}

function template(node: TemplateLiteral): string {
  const parts = node.quasis.flatMap((quasi, at) => {
    const next = node.expressions[at];
    const cooked = text(quasi.value.cooked ?? '');
    return next === undefined ? [cooked] : [cooked, expression(next)];
  });
  return parts.length === 1 ? (parts[0] as string) : `$$str(${parts.join(',')})`;
}

function property(node: AnyNode): string {
  if (node.type === 'SpreadElement') return `...$$obj(${expression(node.argument)})`;
  if (node.type !== 'Property') throw new Error(`print an object: wanted a property, got "${node.type}"`);
  const key = propertyKey(node);
  const { value } = node;
  if (node.method && value.type === 'FunctionExpression')
    return `${key}(${parameters(value.params)})${block(value.body)}`;
  return `${key}:${expression(value)}`;
}

function propertyKey(node: { key: Expression; computed: boolean }): string {
  const { key } = node;
  if (node.computed)
    return key.type === 'Literal' && typeof key.value === 'string'
      ? `[${text(key.value)}]`
      : `[$$key(${expression(key)})]`;
  if (key.type === 'Identifier') return text(key.name);
  if (key.type === 'Literal') return text(String(key.value));
  throw new Error(`print a key: wanted a name or a literal, got "${key.type}"`);
}

/** Where the callee is a builtin, V8 would not look at the clock by itself. What belongs to a chain must stay in it. */
function called(callee: AnyNode): string {
  if (watch === '') return step() + expression(callee);
  if (callee.type === 'MemberExpression') return mark(callee) + member(callee, '$$key', step());
  if (callee.type === 'ChainExpression') return `(${called(callee.expression)})`;
  return callee.type === 'Identifier' ? `(${step()}${expression(callee)})` : expression(callee);
}

function member(node: MemberExpression, guard: '$$key' | '$$wkey', before = ''): string {
  const object = expression(node.object);
  const key = writtenKey(node);
  const dot = node.optional ? '?.' : '';
  const place = mark(node.property);
  if (key === undefined) return `${object}${dot}${place}[${guard}(${expression(node.property)})]`;
  if (before !== '') return `${object}${dot}${place}[(${before}${text(key)})]`;
  return /^[A-Za-z_$][\w$]*$/.test(key)
    ? `${object}${dot || '.'}${place}${key}`
    : `${object}${dot}${place}[${text(key)}]`;
}

/** A place that is written to: computed keys get the stricter guard. */
function target(node: AnyNode): string {
  return node.type === 'MemberExpression' ? member(node, '$$wkey') : pattern(node as Pattern);
}

function assignment(node: AssignmentExpression): string {
  const { left, operator } = node;
  const right = expression(node.right);
  if (left.type === 'MemberExpression' && writtenKey(left) === 'length') return `(${target(left)}=$$len(${right}))`;
  if (operator !== '+=') return `(${step()}${target(left)}${operator}${right})`;
  if (left.type !== 'MemberExpression') return `(${target(left)}=$$add(${target(left)},${right}))`;
  const key = writtenKey(left);
  const guarded = key === undefined ? `$$wkey(${expression(left.property)})` : text(key);
  // Object and key are evaluated once and before the right side, as in the original.
  return `(($$o,$$k)=>$$o[$$k]=$$add($$o[$$k],${right}))(${expression(left.object)},${guarded})`;
}

function parameters(params: readonly Pattern[]): string {
  return params.map(pattern).join(',');
}

function pattern(node: Pattern): string {
  switch (node.type) {
    case 'Identifier':
      return node.name;
    case 'MemberExpression':
      return member(node, '$$wkey');
    case 'ObjectPattern': {
      const parts = node.properties.map((part) =>
        part.type === 'RestElement' ? pattern(part) : `${propertyKey(part)}:${pattern(part.value)}`,
      );
      // Reads this key only to call its getter, a guard, on the source. `=0` covers a source without the getter.
      if (node.properties.at(-1)?.type === 'RestElement') parts.unshift('[$$rest]:{}=0');
      return `{${parts.join(',')}}`;
    }
    case 'ArrayPattern': {
      // A comma behind a rest element would be an error, behind a hole it is the hole.
      const parts = node.elements.map((element) => (element === null ? '' : pattern(element)));
      const isOpen = node.elements.at(-1) === null;
      const list = `[${parts.join(',')}${isOpen ? ',' : ''}]`;
      return node.elements.at(-1)?.type === 'RestElement' ? `{[$$list]:${list}}` : list;
    }
    case 'RestElement':
      return `...${pattern(node.argument)}`;
    case 'AssignmentPattern':
      return `${pattern(node.left)}=${expression(node.right)}`;
    default:
      return node satisfies never;
  }
}

function block(node: BlockStatement): string {
  return `{${node.body.map(statement).join('')}}`;
}

function statement(node: AnyNode): string {
  switch (node.type) {
    case 'ExpressionStatement':
      return `(${expression(node.expression)});`;
    case 'EmptyStatement':
      return ';';
    case 'BlockStatement':
      return block(node);
    case 'ReturnStatement':
      return node.argument ? `return (${expression(node.argument)});` : 'return;';
    case 'ThrowStatement':
      return `throw (${expression(node.argument)});`;
    case 'BreakStatement':
      return 'break;';
    case 'ContinueStatement':
      return 'continue;';
    case 'VariableDeclaration':
      return `${declaration(node)};`;
    case 'FunctionDeclaration':
      return `function ${node.id?.name ?? ''}(${parameters(node.params)})${block(node.body)}`;
    case 'IfStatement': {
      const otherwise = node.alternate ? `else ${statement(node.alternate)}` : '';
      // Braces, so that the else stays with its if.
      return `if(${expression(node.test)}){${statement(node.consequent)}}${otherwise}`;
    }
    case 'TryStatement':
      return attempt(node);
    default:
      return loop(node);
  }
}

/**
 * V8 looks at the clock when a function is called, in a loop without calls only every few thousand turns, and an operator on
 * a long text takes up to a millisecond. So each turn of a loop calls a function.
 */
function turn(body: AnyNode): string {
  return `{$$turn();${statement(body)}}`;
}

function loop(node: AnyNode): string {
  switch (node.type) {
    case 'WhileStatement':
      return `while(${expression(node.test)})${turn(node.body)}`;
    case 'DoWhileStatement':
      return `do${turn(node.body)}while(${expression(node.test)});`;
    case 'ForStatement': {
      const { init } = node;
      const head = init ? (init.type === 'VariableDeclaration' ? declaration(init) : expression(init)) : '';
      const [test, update] = [node.test, node.update].map((part) => (part ? expression(part) : ''));
      return `for(${head};${test};${update})${turn(node.body)}`;
    }
    case 'ForInStatement':
    case 'ForOfStatement': {
      const { left } = node;
      const head = left.type === 'VariableDeclaration' ? declaration(left) : target(left);
      const [word, guard] = node.type === 'ForInStatement' ? ['in', '$$obj'] : ['of', '$$iter'];
      return `for(${head} ${word} ${guard}(${expression(node.right)}))${turn(node.body)}`;
    }
    case 'SwitchStatement':
      return `switch(${expression(node.discriminant)}){${node.cases.map(switchCase).join('')}}`;
    default:
      throw new Error(`print a statement: wanted an allowed node, got "${node.type}"`);
  }
}

function switchCase(node: SwitchCase): string {
  const label = node.test ? `case (${step()}${expression(node.test)}):` : 'default:';
  return `${label}${node.consequent.map(statement).join('')}`;
}

function attempt(node: TryStatement): string {
  const { handler, finalizer } = node;
  return `try${block(node.block)}${handler ? caught(handler) : ''}${finalizer ? `finally${block(finalizer)}` : ''}`;
}

/** What V8 throws can quote more text than any text may have, so it is looked at before the expression gets hold of it. */
function caught({ param, body }: CatchClause): string {
  if (!param) return `catch${block(body)}`;
  // A plain name may be declared again by a var below, which a let would not stand.
  if (param.type === 'Identifier') return `catch(${param.name}){$$caught(${param.name});${block(body)}}`;
  return `catch($$e){$$caught($$e);let ${pattern(param)}=$$e;${block(body)}}`;
}

function declaration(node: VariableDeclaration): string {
  const parts = node.declarations.map((part) => pattern(part.id) + (part.init ? `=${expression(part.init)}` : ''));
  return `${node.kind} ${parts.join(',')}`;
}
