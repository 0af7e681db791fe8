// Regular expressions of the simplest expressions: those that are a text with anchors at most, as people write them to take a
// prefix or an ending away. They are searched for as texts, so that no pattern ever runs in this process. Pure.

import { ifShort, isShortText, unknown } from './shortcut-operators.ts';
import { isSearchable, stepsForEach, type TextMethod } from './shortcut-texts.ts';

interface TextPattern {
  literal: string;
  isAtStart: boolean;
  isAtEnd: boolean;
  isGlobal: boolean;
}

/** The method of a text that is given such a pattern, to be applied to the parameters after it; undefined for any other. */
export function patternMethod(name: string, regex: { pattern: string; flags: string }): TextMethod | undefined {
  const pattern = textPatternOf(regex);
  if (pattern === undefined || !(name === 'replace' || (name === 'replaceAll' && pattern.isGlobal))) return undefined;
  const { literal } = pattern;
  return {
    fewest: 1,
    most: 1,
    steps: pattern.isGlobal ? stepsForEach : 0,
    apply: (text, instead) =>
      isSearchable(text, literal) && isSearchable(text, instead) && !instead.includes('$')
        ? ifShort(replaced(text, pattern, instead))
        : unknown,
  };
}

/** What `test` of such a pattern says to its parameter; undefined for any other. */
export function patternTest(regex: { pattern: string; flags: string }): ((text: unknown) => unknown) | undefined {
  const pattern = textPatternOf(regex);
  if (pattern === undefined) return undefined;
  const { literal } = pattern;
  return (text) => (isShortText(text) && isSearchable(text, literal) ? placeOf(pattern, text) >= 0 : unknown);
}

/** All that means something else than itself somewhere in a pattern. */
const syntax = '\\^$.*+?()[]{}|/';

function textPatternOf({ pattern, flags }: { pattern: string; flags: string }): TextPattern | undefined {
  if (flags !== '' && flags !== 'g') return undefined;
  const isAtStart = pattern.startsWith('^');
  let isAtEnd = false;
  let literal = '';
  for (let at = isAtStart ? 1 : 0; at < pattern.length; at++) {
    const sign = pattern[at] as string;
    const next = pattern[at + 1];
    if (sign === '$' && next === undefined) isAtEnd = true;
    else if (sign !== '\\') {
      if (syntax.includes(sign)) return undefined;
      literal += sign;
    } else {
      if (next === undefined || !(syntax.includes(next) || next === '-')) return undefined;
      literal += next;
      at++;
    }
  }
  return { literal, isAtStart, isAtEnd, isGlobal: flags === 'g' };
}

function placeOf({ literal, isAtStart, isAtEnd }: TextPattern, text: string): number {
  if (isAtStart) return (isAtEnd ? text === literal : text.startsWith(literal)) ? 0 : -1;
  if (isAtEnd) return text.endsWith(literal) ? text.length - literal.length : -1;
  return text.indexOf(literal);
}

function replaced(text: string, pattern: TextPattern, instead: string): string {
  const { literal, isAtStart, isAtEnd, isGlobal } = pattern;
  if (isGlobal && !isAtStart && !isAtEnd) return text.replaceAll(literal, instead);
  const at = placeOf(pattern, text);
  return at < 0 ? text : text.slice(0, at) + instead + text.slice(at + literal.length);
}
