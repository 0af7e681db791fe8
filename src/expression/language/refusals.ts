// The words for what expressions cannot use: what it is, why not, and what to write instead.
import { nearestKey } from '../../object/meta/nearest-key.ts';
import { contextMembers, globalConstants, globalFunctions, inputs, keptStatics, ownFunctions } from './builtins.ts';
import { shown } from './expression-fault.ts';

/** Node types, and kinds of node, that are refused with words of their own. */
export const refusedNodes = new Map<string, readonly [message: string, fix: string]>(
  Object.entries({
    AwaitExpression: ['await is not available', 'expressions answer at once'],
    YieldExpression: ['yield is not available', 'build an array'],
    async: ['async functions are not available', 'expressions answer at once'],
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

/** What people mean when they mistype; of one or two letters anything may be meant. */
const offered = [...inputs, ...ownFunctions];
const shortestName = 3;

const mentionsInput = /\b(value|context|valueExists)\b/;

/** DNS allows no longer ones, and to look further back would cost the length of the expression for each of its names. */
const longestHostName = 253;

/** The name of a host that forgot its quotes, as vCluster's own documentation has it: virtualToHostDNS(db.shop.svc). */
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

/** A name that is neither declared nor offered: a mistyped builtin, the outside world, or a text without its quotes. */
export function unavailable(name: string, source: string, at: number): readonly [message: string, fix: string] {
  const own = named.get(name);
  if (own !== undefined) return own;
  if (hostNames.has(name)) return [`"${name}" is not available`, 'expressions see value, valueExists and context only'];
  const [owner] = name.split('.') as [string];
  if (name.includes('.')) {
    const kept = keptStatics.get(owner) ?? [];
    const fix = kept.length === 0 ? 'expressions work on data only' : `of ${owner} there are: ${kept.join(', ')}`;
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
    const fix = near === undefined ? `functions are ${functions.join(', ')}; all else are methods` : `write ${near}`;
    return [`"${name}" is not defined`, fix];
  }
  const text = source.trim();
  const isBareText = /^[\w.\-/: ]+$/.test(text) && !mentionsInput.test(text);
  const quoted = isBareText ? text : (hostNameAt(source, at) ?? name);
  const meant = near === undefined ? 'write' : `write ${near}, or`;
  const literal = shown(JSON.stringify(quoted));
  // Where it is all there is, YAML and the shell take one pair of quotes away.
  const written = quoted === text ? `'${literal}', with both quotes,` : literal;
  return [`"${name}" is not defined`, `${meant} ${written} if it is a text`];
}
