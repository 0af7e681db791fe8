// Warns about expressions that are allowed but probably wrong, from mistakes that people make in patches. A warning never
// prevents the load of a configuration.
import type { AnyNode, CallExpression, MemberExpression } from 'acorn';
import { nearestKey } from '../../object/meta/nearest-key.ts';
import { expressionLimits } from '../limits.ts';
import { contextMembers, keptMethods, ownFunctions } from './builtins.ts';
import type { CompiledExpression } from './compile.ts';
import { useOf } from './context-use.ts';
import { type ExpressionFault, type ExpressionWarning, placeOf, shown } from './expression-fault.ts';
import { writtenKey } from './member-chain.ts';
import { calleeOf } from './member-rules.ts';
import { childrenOf } from './scope.ts';

export interface ExpressionSite {
  direction: 'forward' | 'back';
  onMissing: 'skip' | 'create';
}

type Found = Omit<ExpressionWarning, 'line' | 'column'> & { at: number };

export function lintExpression(expression: CompiledExpression, site: ExpressionSite): ExpressionWarning[] {
  const nodes = everyNode(expression.tree);
  const found = [
    ...lintTree(expression),
    ...lintNodes(nodes, expression.source),
    ...lintMissing(expression, nodes, site),
    ...lintContext(expression, site),
  ];
  const warnings = found.map(({ at, ...warning }) => ({ ...placeOf(expression.source, at), ...warning }));
  return warnings.sort((a, b) => a.line - b.line || a.column - b.column);
}

/** Stops at the limit of listed warnings, because each suggestion compares a name with all methods. */
function lintNodes(nodes: readonly AnyNode[], source: string): Found[] {
  const found: Found[] = [];
  for (const node of nodes) {
    if (found.length >= expressionLimits.reported) break;
    found.push(...lintNode(node, source));
  }
  return found;
}

/** All nodes in the order of the text. A loop, because a chain of a thousand calls is a tree of a thousand levels. */
function everyNode(tree: AnyNode): AnyNode[] {
  const nodes: AnyNode[] = [];
  const waiting: AnyNode[] = [tree];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    nodes.push(node);
    waiting.push(...[...childrenOf(node)].reverse());
  }
  return nodes;
}

function lintTree({ source, tree }: CompiledExpression): Found[] {
  const text = source.trim();
  const at = tree.start;
  if (tree.type === 'ObjectExpression' && text.startsWith('{')) {
    const message = 'object without parentheses; vCluster reads "{" as the start of a block';
    return [{ rule: 'bare-object', at, message, fix: `write (${shown(text)})` }];
  }
  const call = callOf(tree, shown(text)) ?? methodCallOf(tree, shown(text));
  if (call !== undefined) return [{ rule: 'bare-function', at, message: functionMessage, fix: `call it: ${call}` }];
  if (tree.type === 'AssignmentExpression' && tree.left.type === 'MemberExpression') {
    const message = 'the result is the assigned value, not the changed object';
    return [{ rule: 'assignment-result', at, message, fix: `write (${shown(text)}, value)` }];
  }
  return [];
}

const functionMessage = 'this expression returns a function';

/** A fault for an expression that always returns a function: such a patch would fail for every object. */
export function functionFault({ source, tree }: CompiledExpression): Omit<ExpressionFault, 'kind'> | undefined {
  const call = callOf(tree, shown(source));
  if (call === undefined) return undefined;
  return { ...placeOf(source, tree.start), message: functionMessage, fix: `call it: ${call}` };
}

/** The call to suggest when the whole expression is a function. */
function callOf(tree: AnyNode, text: string): string | undefined {
  if (tree.type === 'ArrowFunctionExpression' || tree.type === 'FunctionExpression') return `(${text})(value)`;
  return tree.type === 'Identifier' && ownFunctions.includes(tree.name) ? `${text}(value)` : undefined;
}

/** A suggestion only: an object in an annotation may have a field with the name of a method. */
function methodCallOf(tree: AnyNode, text: string): string | undefined {
  if (tree.type !== 'MemberExpression' || !isOfData(tree)) return undefined;
  return textMethods.has(writtenKey(tree) ?? '') ? `${text}()` : undefined;
}

/** Methods without arguments whose names are not used as fields. */
const textMethods: ReadonlySet<string> = new Set([
  'toLowerCase',
  'toUpperCase',
  'toString',
  'trim',
  'trimEnd',
  'trimStart',
]);

function lintNode(node: AnyNode, source: string): Found[] {
  const textOf = (part: AnyNode) => shown(source.slice(part.start, part.end));
  if (node.type === 'MemberExpression') return lintMember(node, source.slice(node.object.start, node.object.end));
  if (node.type === 'CallExpression') return lintCall(node);
  if (node.type === 'BinaryExpression' && node.operator === 'in' && node.right.type === 'ArrayExpression') {
    const message = '"in" asks for an index of the array, not for an element';
    const fix = `write ${textOf(node.right)}.includes(${textOf(node.left)})`;
    return [{ rule: 'in-array', at: node.start, message, fix }];
  }
  if (node.type === 'Literal' && typeof node.value === 'string' && hasPlaceholder(node.value)) {
    const message = 'a placeholder in plain quotes is not replaced';
    return [{ rule: 'template-quotes', at: node.start, message, fix: 'write the text between backticks' }];
  }
  return [];
}

function hasPlaceholder(text: string): boolean {
  const opened = text.indexOf('${');
  return opened >= 0 && text.includes('}', opened);
}

const knownMembers: ReadonlyMap<string, readonly string[]> = new Map([
  ['context', contextMembers],
  ['context.vcluster', ['name', 'namespace', 'config']],
]);

/** The longest owner with `?.`; a longer text needs no comparison. */
const longestOwner = 'context?.vcluster'.length;

/** A member that context does not have is always undefined, so it must be a mistake. */
function lintMember(node: MemberExpression, owner: string): Found[] {
  const members = owner.length > longestOwner ? undefined : knownMembers.get(owner.replaceAll('?.', '.'));
  const key = writtenKey(node);
  if (members === undefined || key === undefined || members.includes(key)) return [];
  const near = nearestKey(key, members);
  const fix = near === undefined ? `it has ${members.join(', ')}` : `write ${near}`;
  return [{ rule: 'context-member', at: node.property.start, message: `${owner} has no member "${key}"`, fix }];
}

const methods: ReadonlySet<string> = new Set([...keptMethods.values()].flat());

/** Data has only the methods of JavaScript, so a call of another method always throws. */
function lintCall(node: CallExpression): Found[] {
  const called = calleeOf(node);
  if (called.type !== 'MemberExpression') return [];
  const key = writtenKey(called);
  if (key === undefined || methods.has(key) || !isOfData(called)) return [];
  const near = nearestKey(key, methods);
  const fix = near === undefined ? 'use a method of texts, numbers, arrays or objects' : `write ${near}()`;
  return [{ rule: 'no-such-method', at: called.property.start, message: `no value has a method "${key}"`, fix }];
}

/** Whether a chain of members and calls begins with value or context. */
function isOfData(node: AnyNode): boolean {
  let at = node;
  while (at.type !== 'Identifier') {
    if (at.type === 'MemberExpression') at = at.object;
    else if (at.type === 'ChainExpression') at = at.expression;
    else if (at.type === 'CallExpression') at = at.callee;
    else return false;
  }
  return at.name === 'value' || at.name === 'context';
}

function lintMissing(expression: CompiledExpression, nodes: readonly AnyNode[], site: ExpressionSite): Found[] {
  if (site.onMissing === 'skip') {
    if (!expression.usesValueExists) return [];
    const message = 'valueExists is always true here, because a patch is not applied when its path is missing';
    return [
      { rule: 'value-exists', at: expression.tree.start, message, fix: 'add onMissing: create, or drop the test' },
    ];
  }
  if (expression.usesValueExists || !expression.usesValue || nodes.some(isGuard)) return [];
  const use = nodes.find(readsValue);
  if (use === undefined) return [];
  const message = 'value is null where the key is missing';
  return [
    { rule: 'null-guard', at: use.start, message, fix: `write valueExists ? ${shown(expression.source)} : null` },
  ];
}

function isValue(node: AnyNode): boolean {
  return node.type === 'Identifier' && node.name === 'value';
}

/** Nodes that test whether there is a value. */
function isGuard(node: AnyNode): boolean {
  if (node.type === 'LogicalExpression') return isValue(node.left);
  if (node.type === 'ConditionalExpression') return isValue(node.test);
  if (node.type === 'BinaryExpression')
    return /^[!=]=/.test(node.operator) && (isValue(node.left) || isValue(node.right));
  return node.type === 'UnaryExpression' && ['!', 'typeof'].includes(node.operator) && isValue(node.argument);
}

/** Nodes in which null throws or becomes the text "null". */
function readsValue(node: AnyNode): boolean {
  if (node.type === 'MemberExpression') return !node.optional && isValue(node.object);
  if (node.type === 'TemplateLiteral') return node.expressions.some(isValue);
  return node.type === 'BinaryExpression' && node.operator === '+' && (isValue(node.left) || isValue(node.right));
}

function lintContext({ context, tree }: CompiledExpression, site: ExpressionSite): Found[] {
  const found: Found[] = [];
  if (site.direction === 'forward' && useOf(context, 'hostObject') !== undefined && !context.isWhole) {
    const message = 'context.hostObject is null when the host object is created, and lags behind later';
    const fix = 'use context.virtualObject, or allow for null';
    found.push({ rule: 'host-object', at: tree.start, message, fix });
  }
  if (useOf(context, 'vcluster', 'config')?.isWhole === true) {
    const message = 'the whole configuration goes to the sandbox, with all it may hold';
    found.push({ rule: 'whole-context', at: tree.start, message, fix: 'name the field: context.vcluster.config.a.b' });
  }
  return found;
}
