// Prints the tree of an expression as code. Only printed code runs, never the source, so a text that two parsers read
// differently does no harm. The operator +, templates, computed keys, spreads and caught errors get guards in the sandbox,
// because wrapped builtins cannot limit them. Only nodes that the inspection allows can be printed.
import type { AnyNode, AssignmentExpression, Expression, MemberExpression, Pattern, TemplateLiteral } from 'acorn';
import { expressionLimits } from '../limits.ts';
import { writtenKey } from './member-chain.ts';
import { StatementPrinter } from './statements.ts';

const statements = new StatementPrinter({ expression, target, pattern, parameters, step });

export function generate(tree: Expression): string {
  return printed(tree, nothing);
}

/** Encloses the source index in marked code. A source that contains this character cannot be marked. */
const bracket = '\u0001';

/** The index in the source of the node that is printed at this offset of the code. */
export function sourceIndexAt(source: string, tree: Expression, offset: number): number | undefined {
  if (source.includes(bracket)) return undefined;
  let found: number | undefined;
  let passed = 0;
  // Code and indexes alternate.
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
/** Returns the text before each node; empty in code that runs. */
let mark = nothing;
/** The text before each step. With many steps it calls an empty function, because V8 checks its time limit at calls. */
let watch = '';
let steps = 0;

/**
 * V8 checks its time limit only when a non-builtin function is called, and an operator or a builtin on a long text can take a
 * millisecond. Each turn of a loop makes such a call, so only the number of steps in the source matters here.
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

/** Every node except an atom is printed in parentheses, so that precedence and neighbours cannot change its meaning. */
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
      const body = node.body.type === 'BlockStatement' ? statements.block(node.body) : `(${expression(node.body)})`;
      return `((${parameters(node.params)})=>${body})`;
    }
    case 'FunctionExpression':
      return `(function ${node.id?.name ?? ''}(${parameters(node.params)})${statements.block(node.body)})`;
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
      throw new Error(`print an expression: wanted an allowed node, found "${node.type}"`);
  }
}

function literal(node: AnyNode & { type: 'Literal' }): string {
  // In parentheses, so that the slash can never be read as a division.
  if (node.regex !== undefined) return `(/${node.regex.pattern}/${node.regex.flags})`;
  const { value } = node;
  if (typeof value === 'string') return text(value);
  if (typeof value === 'number') return value === Number.POSITIVE_INFINITY ? '(1e999)' : `(${String(value)})`;
  if (value === null || typeof value === 'boolean') return String(value);
  throw new Error(`print an expression: wanted an allowed literal, found a ${typeof value}`);
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
  if (node.type !== 'Property') throw new Error(`print an object: wanted a property, found "${node.type}"`);
  const key = propertyKey(node);
  const { value } = node;
  if (node.method && value.type === 'FunctionExpression')
    return `${key}(${parameters(value.params)})${statements.block(value.body)}`;
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
  throw new Error(`print a key: wanted a name or a literal, found "${key.type}"`);
}

/** Adds a step before the call, because a builtin does not check the time limit. The step must not break an optional chain. */
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

/** The target of an assignment; its computed keys get the stricter guard. */
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
      // This property only calls the guard, with the destructured value as `this`. Its empty default makes it optional.
      if (node.properties.at(-1)?.type === 'RestElement') parts.unshift('[$$rest]:{}=0');
      return `{${parts.join(',')}}`;
    }
    case 'ArrayPattern': {
      // A comma after a rest element is an error, but a comma after a hole creates the hole.
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
