// The operators of the simplest expressions, on plain values only: there the language does the same here as in the sandbox,
// runs nobody's code, and is done in no time because all texts are short. Pure.
import { shortcutLimits } from './limits.ts';

export type Plain = string | number | boolean | null | undefined;

/** "Ask the sandbox." */
export const unknown = Symbol('unknown');
export type Unknown = typeof unknown;

export function isShortText(found: unknown): found is string {
  return typeof found === 'string' && found.length <= shortcutLimits.text;
}

export function isPlain(found: unknown): found is Plain {
  switch (typeof found) {
    case 'string':
      return found.length <= shortcutLimits.text;
    case 'number':
    case 'boolean':
    case 'undefined':
      return true;
    default:
      return found === null;
  }
}

export function ifShort(text: string): string | Unknown {
  return text.length <= shortcutLimits.text ? text : unknown;
}

export type BinaryOperator = (a: unknown, b: unknown) => Plain | Unknown;

/** What the language makes of operands of any plain kind is what is wanted; the types of this one know numbers only. */
type Operand = number;

export const binaryOperators: ReadonlyMap<string, BinaryOperator> = new Map<string, BinaryOperator>([
  ['===', ofPlain((a, b) => a === b)],
  ['!==', ofPlain((a, b) => a !== b)],
  ['==', ofPlain(areLike)],
  ['!=', ofPlain((a, b) => not(areLike(a, b)))],
  ['<', ofPlain((a, b) => (a as Operand) < (b as Operand))],
  ['<=', ofPlain((a, b) => (a as Operand) <= (b as Operand))],
  ['>', ofPlain((a, b) => (a as Operand) > (b as Operand))],
  ['>=', ofPlain((a, b) => (a as Operand) >= (b as Operand))],
  ['+', sum],
  ['-', ofPlain((a, b) => (a as Operand) - (b as Operand))],
  ['*', ofPlain((a, b) => (a as Operand) * (b as Operand))],
  ['/', ofPlain((a, b) => (a as Operand) / (b as Operand))],
  ['%', ofPlain((a, b) => (a as Operand) % (b as Operand))],
]);

function ofPlain(operate: (a: Plain, b: Plain) => Plain | Unknown): BinaryOperator {
  return (a, b) => (isPlain(a) && isPlain(b) ? operate(a, b) : unknown);
}

export type UnaryOperator = (found: unknown) => Plain | Unknown;

export const unaryOperators: ReadonlyMap<string, UnaryOperator> = new Map<string, UnaryOperator>([
  ['!', (found) => !found],
  ['typeof', (found) => typeof found],
  ['-', (found) => (typeof found === 'number' ? -found : unknown)],
]);

function sum(a: unknown, b: unknown): Plain | Unknown {
  // What most expressions are made of: the whole is short only where both parts are.
  if (typeof a === 'string' && typeof b === 'string') return ifShort(a + b);
  if (!isPlain(a) || !isPlain(b)) return unknown;
  const found: string | number = (a as Operand) + (b as Operand);
  return typeof found === 'string' ? ifShort(found) : found;
}

/** `value == null` is what people write; where one kind would have to become the other, the sandbox is asked. */
function areLike(a: Plain, b: Plain): boolean | Unknown {
  if (a === null || a === undefined) return b === null || b === undefined;
  if (b === null || b === undefined) return false;
  return typeof a === typeof b ? a === b : unknown;
}

function not(found: boolean | Unknown): boolean | Unknown {
  return found === unknown ? unknown : !found;
}
