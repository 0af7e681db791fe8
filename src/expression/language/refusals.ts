// The messages for everything that expressions cannot use, each with a replacement.

import type { AnyNode } from 'acorn';
import { nearestKey } from '../../object/meta/nearest-key.ts';
import { expressionLimits } from '../limits.ts';
import { contextMembers, globalConstants, globalFunctions, inputs, keptStatics, ownFunctions } from './builtins.ts';
import { type ExpressionFault, type NodeFault, placeOf, shown } from './expression-fault.ts';

/** Refused node types, and variants of node types, with their own messages. */
export const refusedNodes = new Map<string, readonly [message: string, fix: string]>(
  Object.entries({
    AwaitExpression: ['await is not available', 'an expression returns its result at once'],
    YieldExpression: ['yield is not available', 'build an array'],
    async: ['async functions are not available', 'an expression returns its result at once'],
    generator: ['generators are not available', 'build an array'],
    ImportExpression: ['import() is not available', 'expressions have no modules'],
    MetaProperty: ['meta properties are not available', 'expressions have no modules'],
    ClassExpression: ['classes are not available', 'use objects and functions'],
    ClassDeclaration: ['classes are not available', 'use objects and functions'],
    class: ['classes are not available', 'use objects and functions'],
    Super: ['super is not available', 'use objects and functions'],
    ThisExpression: ['this is not available', 'use value, context or a name of your own'],
    TaggedTemplateExpression: ['tagged templates are not available', 'call the function with arguments'],
    accessor: ['getters and setters are not available', 'use plain properties'],
    DebuggerStatement: ['debugger is not available', 'use hostward eval to try an expression'],
    LabeledStatement: ['labels are not available', 'use a function and return'],
    using: ['using is not available', 'use const'],
  }),
);

const named = new Map<string, readonly [message: string, fix: string]>(
  Object.entries({
    'Math.random': [
      'Math.random is not available',
      'results must depend on the object alone; derive one from value or context',
    ],
    'Date.now': ['Date.now is not available', 'results must depend on the object alone; use new Date(text)'],
    arguments: ['"arguments" is not available', 'name the rest of the parameters: (...list) => …'],
    eval: ['eval is not available', 'write the expression itself'],
    Function: ['Function is not available', 'write a function: (x) => …'],
    Intl: ['Intl is not available', 'it depends on where it runs'],
    BigInt: ['BigInt is not available', 'use a number'],
    console: ['console is not available', 'use hostward eval or render --explain to see values'],
  }),
);

const hostNames = new Set([
  ...['require', 'module', 'process', 'global', 'globalThis', 'window', 'self', 'fetch', 'Buffer', 'setTimeout'],
  ...['setInterval', 'setImmediate', 'queueMicrotask', 'exports', 'structuredClone', 'performance', 'navigator'],
]);

const functions = [...ownFunctions, ...globalFunctions];

/** Names to suggest for a mistyped name. A name of one or two letters resembles too many of them. */
const offered = [...inputs, ...ownFunctions];
const shortestName = 3;

const mentionsInput = /\b(value|context|valueExists)\b/;

/** The limit of DNS. A longer search would cost the length of the expression for each of its names. */
const longestHostName = 253;

/** A host name without quotes, as in an example of vCluster's documentation: virtualToHostDNS(db.shop.svc). */
function hostNameAt(source: string, at: number): string | undefined {
  let start = at;
  while (start > at - longestHostName && /[\w.-]/.test(source.charAt(start - 1))) start--;
  const behind = /^[\w.-]*/.exec(source.slice(at))?.[0] ?? '';
  const word = source.slice(start, at) + behind;
  if (word.length > longestHostName) return undefined;
  return /^\w+(-+\w+)*(\.\w+(-+\w+)*){2,}$/.test(word) &&
    !isCalled(source, at + behind.length) &&
    !mentionsInput.test(word)
    ? word
    : undefined;
}

function isCalled(source: string, end: number): boolean {
  return /^\s*\(/.test(source.slice(end));
}

/** The message for an unknown name: a mistyped builtin, a name of another environment, or a text without quotes. */
export function unavailable(name: string, source: string, at: number): readonly [message: string, fix: string] {
  const own = named.get(name);
  if (own !== undefined) return own;
  if (hostNames.has(name)) return [`"${name}" is not available`, 'expressions see value, valueExists and context only'];
  const [owner] = name.split('.') as [string];
  if (name.includes('.')) {
    const kept = keptStatics.get(owner) ?? [];
    const fix = kept.length === 0 ? 'expressions work on data only' : `${owner} has: ${kept.join(', ')}`;
    return [`${name} is not available`, fix];
  }
  if (Object.hasOwn(globalThis, name)) return [`"${name}" is not available`, 'expressions work on data only'];
  const wrongCase = [...keptStatics.keys(), ...globalConstants, 'value', 'valueExists', 'context'].find(
    (known) => known.toLowerCase() === name.toLowerCase(),
  );
  if (wrongCase !== undefined) return [`"${name}" is not defined`, `write ${wrongCase}`];
  const near = contextMembers.includes(name)
    ? `context.${name}`
    : name.length < shortestName
      ? undefined
      : nearestKey(name, offered);
  if (isCalled(source, at + name.length)) {
    const fix = near === undefined ? `functions: ${functions.join(', ')}; all others are methods` : `write ${near}`;
    return [`"${name}" is not defined`, fix];
  }
  const text = source.trim();
  const isBareText = /^[\w.\-/: ]+$/.test(text) && !mentionsInput.test(text);
  const quoted = isBareText ? text : (hostNameAt(source, at) ?? name);
  const meant = near === undefined ? 'write' : `write ${near}, or`;
  const literal = shown(JSON.stringify(quoted));
  // When the text is the whole expression, YAML and the shell remove one pair of quotes.
  const written = quoted === text ? `'${literal}', with both quotes,` : literal;
  return [`"${name}" is not defined`, `${meant} ${written} if it is a text`];
}

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
export const chainLinkLevel = 1 / 8;

/**
 * Gathers the faults that the inspection of one expression finds, each with its place, and counts the nodes against the
 * limits. In: nodes and sentences. Out: the first faults, and the number of the others.
 */
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
    if (this.faults.length >= expressionLimits.reported) {
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
