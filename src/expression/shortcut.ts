// Answers the simplest expressions without the sandbox: comparisons, conditions, concatenations and a few text methods on
// short texts and numbers, which is most of what people write. In: the inspected tree. Out: a function that gives the result,
// or says that it does not know. It knows only where no limit, no error and no object can come into it; everything else,
// every fault included, is the sandbox's to answer. Each part runs once at most, nothing is called that a value or an
// expression could choose, and no way leads from a value to anything but its own data. Pure.
import type { AnyNode, CallExpression, Expression, MemberExpression, TemplateLiteral } from 'acorn';
import { isRecord } from '../object/json.ts';
import type { CompiledExpression } from './compile.ts';
import { shortcutLimits } from './limits.ts';
import { writtenKey } from './member-chain.ts';
import { arrayIndex } from './path-grammar.ts';
import {
  binaryOperators,
  ifShort,
  isPlain,
  isShortText,
  type Plain,
  type Unknown,
  unaryOperators,
  unknown,
} from './shortcut-operators.ts';
import { patternMethod, patternTest } from './shortcut-patterns.ts';
import { type TextMethod, textMethods } from './shortcut-texts.ts';

/** What a chain comes to whose optional link met null or undefined. */
const cut = Symbol('cut');

/** What the expression can see: data as JSON gives it. Of context it may be more than the sandbox gets, of what it names never. */
export interface Sight {
  value: unknown;
  valueExists: boolean;
  context: Readonly<Record<string, unknown>>;
}

type Step = (sight: Sight) => unknown;

export interface Shortcut {
  /** Steps that one value takes at most. */
  steps: number;
  /** A result as the sandbox would give it, null for undefined; or unknown. */
  answer(sight: Sight): Plain | Unknown;
}

/** Undefined when some part of the expression is none of the simplest. */
export function shortcutOf({ tree }: Pick<CompiledExpression, 'tree'>): Shortcut | undefined {
  const compiler = new Compiler();
  const step = compiler.step(tree);
  return step && { steps: compiler.steps, answer: (sight) => resultOf(step(sight), sight.value) };
}

function resultOf(found: unknown, value: unknown): Plain | Unknown {
  if (found === undefined || found === null) return null;
  // What does not change is not sent back either, however long it is.
  if (found === value && typeof found !== 'object') return value as Plain;
  switch (typeof found) {
    case 'boolean':
      return found;
    case 'number':
      return isCarried(found) ? found : unknown;
    case 'string':
      // The sandbox has a limit for what is new, and a look through a long text takes time.
      return isShortText(found) && found.isWellFormed() ? found : unknown;
    default:
      return unknown;
  }
}

class Compiler {
  steps = 0;

  step(node: AnyNode): Step | undefined {
    if (++this.steps > shortcutLimits.steps) return undefined;
    switch (node.type) {
      case 'Literal':
        // A pattern that this process cannot read has null for its value.
        return node.regex === undefined ? literal(node.value) : undefined;
      case 'Identifier':
        return identifier(node.name);
      case 'TemplateLiteral':
        return this.#template(node);
      case 'MemberExpression':
        return this.#member(node);
      case 'CallExpression':
        return this.#call(node);
      case 'ChainExpression': {
        const inner = this.step(node.expression);
        return inner && ((sight) => uncut(inner(sight)));
      }
      case 'ConditionalExpression':
        return this.#condition(node.test, node.consequent, node.alternate);
      case 'LogicalExpression':
        return this.#logical(node.operator, node.left, node.right);
      case 'UnaryExpression':
        return this.#unary(node.operator, node.argument);
      case 'BinaryExpression':
        return node.left.type === 'PrivateIdentifier' ? undefined : this.#binary(node.operator, node.left, node.right);
      default:
        return undefined;
    }
  }

  #all(nodes: readonly AnyNode[]): Step[] | undefined {
    const steps: Step[] = [];
    for (const node of nodes) {
      const step = this.step(node);
      if (step === undefined) return undefined;
      steps.push(step);
    }
    return steps;
  }

  #template({ quasis, expressions }: TemplateLiteral): Step | undefined {
    const parts = this.#all(expressions);
    const texts = quasis.map(({ value }) => value.cooked ?? '');
    if (parts === undefined) return undefined;
    return (sight) => {
      let text = texts[0] as string;
      for (let at = 0; at < parts.length; at++) {
        const part = (parts[at] as Step)(sight);
        if (!isPlain(part)) return unknown;
        text += `${part}${texts[at + 1]}`;
      }
      return ifShort(text);
    };
  }

  #member(node: MemberExpression): Step | undefined {
    const key = writtenKey(node);
    if (key === undefined || node.object.type === 'Super') return undefined;
    const object = this.#objectOf(node.object);
    const read = reader(key, node.optional);
    return object && ((sight) => read(object(sight)));
  }

  /** `context` is nothing by itself: only its members are data. */
  #objectOf(node: Expression): Step | undefined {
    if (node.type === 'Identifier' && node.name === 'context') return ({ context }) => context;
    return this.step(node);
  }

  #call(node: CallExpression): Step | undefined {
    const { callee } = node;
    if (node.optional || callee.type !== 'MemberExpression' || callee.object.type === 'Super') return undefined;
    const name = writtenKey(callee) ?? '';
    const tested = regexOf(callee.object);
    if (tested !== undefined) return name === 'test' ? this.#test(tested, node.arguments) : undefined;
    const pattern = regexOf(node.arguments[0]);
    const method = pattern === undefined ? textMethods.get(name) : patternMethod(name, pattern);
    const self = this.step(callee.object);
    const parameters = this.#all(pattern === undefined ? node.arguments : node.arguments.slice(1));
    if (method === undefined || self === undefined || parameters === undefined) return undefined;
    if (parameters.length < method.fewest || parameters.length > method.most) return undefined;
    this.steps += method.steps;
    if (this.steps > shortcutLimits.steps) return undefined;
    return called(method, { self, parameters, optional: callee.optional });
  }

  #test(pattern: Regex, parameters: readonly AnyNode[]): Step | undefined {
    const test = patternTest(pattern);
    const [text, ...more] = this.#all(parameters) ?? [];
    return test && text && more.length === 0 ? (sight) => test(text(sight)) : undefined;
  }

  #condition(test: Expression, consequent: Expression, alternate: Expression): Step | undefined {
    const steps = this.#all([test, consequent, alternate]);
    if (steps === undefined) return undefined;
    const [asked, one, other] = steps as [Step, Step, Step];
    return (sight) => {
      const found = asked(sight);
      if (found === unknown) return unknown;
      return found ? one(sight) : other(sight);
    };
  }

  #logical(operator: '||' | '&&' | '??', left: Expression, right: Expression): Step | undefined {
    const steps = this.#all([left, right]);
    if (steps === undefined) return undefined;
    const [one, other] = steps as [Step, Step];
    switch (operator) {
      case '||':
        return (sight) => one(sight) || other(sight);
      case '&&':
        return (sight) => {
          const found = one(sight);
          return found === unknown ? unknown : found && other(sight);
        };
      case '??':
        return (sight) => one(sight) ?? other(sight);
      default:
        return operator satisfies never;
    }
  }

  #unary(operator: string, argument: Expression): Step | undefined {
    const operate = unaryOperators.get(operator);
    const operand = this.step(argument);
    if (operate === undefined || operand === undefined) return undefined;
    return (sight) => {
      const found = operand(sight);
      return found === unknown ? unknown : operate(found);
    };
  }

  #binary(operator: string, left: Expression, right: Expression): Step | undefined {
    const operate = binaryOperators.get(operator);
    const steps = this.#all([left, right]);
    if (operate === undefined || steps === undefined) return undefined;
    const [one, other] = steps as [Step, Step];
    return (sight) => operate(one(sight), other(sight));
  }
}

type Regex = { pattern: string; flags: string };

function regexOf(node: AnyNode | undefined): Regex | undefined {
  return node?.type === 'Literal' ? (node.regex ?? undefined) : undefined;
}

function literal(value: unknown): Step | undefined {
  return isPlain(value) ? () => value : undefined;
}

function identifier(name: string): Step | undefined {
  switch (name) {
    case 'value':
      return ({ value }) => asCarried(value);
    case 'valueExists':
      return ({ valueExists }) => valueExists;
    case 'undefined':
      return () => undefined;
    default:
      return undefined;
  }
}

function uncut(found: unknown): unknown {
  return found === cut ? undefined : found;
}

/** Data that is the object's own; what comes from a prototype is the sandbox's to say. */
function reader(key: string, optional: boolean): (object: unknown) => unknown {
  const isInherited = key in Object.prototype;
  const isIndex = arrayIndex.test(key);
  return (object) => {
    if (isRecord(object)) {
      if (isInherited) return unknown;
      return Object.hasOwn(object, key) ? asCarried(object[key]) : undefined;
    }
    if (object === undefined || object === null) return optional ? cut : unknown;
    if (object === cut) return cut;
    if (typeof object !== 'string' && !Array.isArray(object)) return unknown;
    if (Object.hasOwn(object as object, key)) return asCarried((object as unknown as Record<string, unknown>)[key]);
    return isIndex ? undefined : unknown;
  };
}

/** JSON can be read to a negative zero, but holds none: the sandbox is sent another number, or null. */
function asCarried(found: unknown): unknown {
  return typeof found === 'number' && !isCarried(found) ? unknown : found;
}

function isCarried(found: number): boolean {
  return Number.isFinite(found) && !Object.is(found, -0);
}

function called(
  method: TextMethod,
  { self, parameters, optional }: { self: Step; parameters: readonly Step[]; optional: boolean },
): Step {
  const [first = notGiven, second = notGiven] = parameters;
  return (sight) => {
    const text = self(sight);
    if (text === cut || (optional && (text === undefined || text === null))) return cut;
    if (!isShortText(text)) return unknown;
    return method.apply(text, first(sight), second(sight));
  };
}

function notGiven(): undefined {}
