// Estimates how long V8 compiles a regular expression. V8 compiles without looking at the clock, so a pattern that takes minutes
// can only be ended by killing the process. The time doubles with every part that may match nothing and with every Unicode class.
import type { Literal } from 'acorn';
import { realmLimits } from '../limits.ts';
import type { NodeFault } from './expression-fault.ts';

/**
 * The weight of the heaviest sequence in the pattern; each unit can double the time. Looks at nothing outside itself, because
 * the realm of the sandbox runs the text of this function on patterns that expressions make at run time.
 */
export function patternWeight(source: string, isUnicode: boolean): number {
  /** A class of thousands of characters, which V8 splits into pairs of surrogates. */
  const unicodeClass = 5;
  /** V8 writes out repetitions of up to three copies and counts longer ones. */
  const mostCopies = 3;
  const endless = mostCopies + 1;
  let at = 0;
  const isDigit = (char: string | undefined): boolean => char !== undefined && char >= '0' && char <= '9';
  const number = (): number => {
    let value = 0;
    for (; isDigit(source[at]); at++) value = value * 10 + +(source[at] as string);
    return value;
  };
  /** Behind `\`; leaves `at` behind the escape. */
  const escaped = (): { weight: number; isEmpty: boolean } => {
    const char = source[at++];
    if (char === 'b' || char === 'B') return { weight: 1, isEmpty: true };
    if (!isUnicode) return { weight: 0, isEmpty: false };
    if (char === 'p' || char === 'P') {
      while (at < source.length && source[at] !== '}') at++;
      at++;
      return { weight: unicodeClass, isEmpty: false };
    }
    return { weight: char === 'W' || char === 'S' || char === 'D' ? 1 : 0, isEmpty: false };
  };
  /** Behind `[`. */
  const set = (): { weight: number; isEmpty: boolean } => {
    let weight = isUnicode && source[at] === '^' ? 1 : 0;
    while (at < source.length && source[at] !== ']') {
      if (source[at++] === '\\') weight += escaped().weight;
    }
    at++;
    return { weight, isEmpty: false };
  };
  /** Behind `(`. */
  const group = (): { weight: number; isEmpty: boolean } => {
    let isLook = false;
    if (source[at] === '?') {
      at++;
      if (source[at] === '<') at++;
      isLook = source[at] === '=' || source[at] === '!';
      if (isLook) at++;
    }
    const inside = alternatives();
    at++;
    return isLook ? { weight: inside.weight + 1, isEmpty: true } : inside;
  };
  const atom = (): { weight: number; isEmpty: boolean } => {
    const char = source[at++];
    if (char === '(') return group();
    if (char === '[') return set();
    if (char === '\\') return escaped();
    if (char === '^' || char === '$') return { weight: 1, isEmpty: true };
    return { weight: isUnicode && char === '.' ? 1 : 0, isEmpty: false };
  };
  /** The least and the largest number of repetitions; undefined when what follows is no quantifier. */
  const repetitions = (): { least: number; most: number } | undefined => {
    const char = source[at];
    if (char === '?' || char === '*' || char === '+') {
      at++;
      return { least: char === '+' ? 1 : 0, most: char === '?' ? 1 : endless };
    }
    if (char !== '{' || !isDigit(source[at + 1])) return undefined;
    const start = at++;
    const least = number();
    let most = least;
    if (source[at] === ',') {
      at++;
      most = isDigit(source[at]) ? number() : endless;
    }
    if (source[at++] === '}') return { least, most };
    at = start;
    return undefined;
  };
  const term = (): { weight: number; isEmpty: boolean } => {
    const { weight, isEmpty } = atom();
    const range = repetitions();
    if (range === undefined) return { weight, isEmpty };
    if (source[at] === '?') at++;
    const { least, most } = range;
    const isWritten = most <= mostCopies;
    const copies = isWritten ? most : (least < mostCopies ? least : mostCopies) + 1;
    const optional = isWritten ? most - least : least <= mostCopies ? 1 : 0;
    // A part that may match nothing gets a check in each loop.
    return {
      weight: (copies < 1 ? 1 : copies) * weight + optional + (isEmpty ? 1 : 0),
      isEmpty: isEmpty || least === 0,
    };
  };
  const sequence = (): { weight: number; isEmpty: boolean } => {
    let weight = 0;
    let isEmpty = true;
    while (at < source.length && source[at] !== '|' && source[at] !== ')') {
      const part = term();
      weight += part.weight;
      isEmpty &&= part.isEmpty;
    }
    return { weight, isEmpty };
  };
  const alternatives = (): { weight: number; isEmpty: boolean } => {
    let heaviest = 0;
    let count = 0;
    let isEmpty = false;
    do {
      if (count++ > 0) at++;
      const one = sequence();
      if (one.weight > heaviest) heaviest = one.weight;
      isEmpty ||= one.isEmpty;
    } while (source[at] === '|');
    // Where nothing is a match, each alternative is one more way past the group.
    return { weight: heaviest + (isEmpty ? count - 1 : 0), isEmpty };
  };
  let total = 0;
  // A stray ")" ends a sequence; V8 refuses such a pattern, and what follows is still counted.
  while (at < source.length) {
    total += alternatives().weight;
    at++;
  }
  return total;
}

/**
 * Which regular expressions an expression may not spell out: those that V8 would compile for seconds without looking at the
 * clock.
 */
export function patternFaults(node: Literal): NodeFault[] {
  if (node.regex == null) return [];
  const { pattern, flags } = node.regex;
  if (pattern.length > realmLimits.pattern) {
    return [fault(node, `regular expression has more than ${realmLimits.pattern} characters`)];
  }
  if (flags.includes('v')) {
    return [{ at: node, message: 'flag "v" of a regular expression is not available', fix: 'use the flag "u"' }];
  }
  if (patternWeight(pattern, flags.includes('u')) <= realmLimits.patternWeight) return [];
  return [
    fault(
      node,
      'regular expression has too many optional parts, repeated groups or Unicode classes to be compiled in time',
    ),
  ];
}

function fault(at: Literal, message: string): NodeFault {
  return { at, message, fix: 'split it into several shorter ones' };
}
