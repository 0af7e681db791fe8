// The text methods of the simplest expressions: those whose work is in proportion to a short text. Parameters of any other
// type than the usual one, and "$" in a replacement, are the sandbox's. Pure.
import { shortcutLimits } from './limits.ts';
import { ifShort, type Unknown, unknown } from './shortcut-operators.ts';

export interface TextMethod {
  fewest: number;
  most: number;
  /** More parts of an expression that it counts as: whatever makes something for each character takes as long as many others. */
  steps: number;
  /** A list only from split, to take an element or the length of. */
  apply(text: string, first: unknown, second: unknown): string | number | boolean | readonly string[] | Unknown;
}

/** Of what goes through all characters and makes something for each: 20 us of 512 of them, where a part takes a few tens of ns. */
export const stepsForEach = 16;

export const textMethods: ReadonlyMap<string, TextMethod> = new Map<string, TextMethod>([
  ['toLowerCase', ofText((text) => ifShort(text.toLowerCase()))],
  ['toUpperCase', ofText((text) => ifShort(text.toUpperCase()))],
  ['trim', ofText((text) => text.trim())],
  ['trimStart', ofText((text) => text.trimStart())],
  ['trimEnd', ofText((text) => text.trimEnd())],
  ['startsWith', withText((text, wanted) => text.startsWith(wanted))],
  ['endsWith', withText((text, wanted) => text.endsWith(wanted))],
  ['includes', withText((text, wanted) => text.includes(wanted))],
  ['indexOf', withText((text, wanted) => text.indexOf(wanted))],
  ['lastIndexOf', withText((text, wanted) => text.lastIndexOf(wanted))],
  ['split', withText((text, separator) => text.split(separator), stepsForEach)],
  ['slice', withPlaces((text, from, to) => text.slice(from, to))],
  ['substring', withPlaces((text, from, to) => text.substring(from, to))],
  ['replace', withTexts((text, wanted, instead) => text.replace(wanted, instead))],
  ['replaceAll', withTexts((text, wanted, instead) => text.replaceAll(wanted, instead), stepsForEach)],
]);

type Result = ReturnType<TextMethod['apply']>;

/**
 * In the time, and where each character is replaced by the other text, in what comes of it. The other text is looked through
 * even if there is nothing to search.
 */
export function isSearchable(text: string, wanted: unknown): wanted is string {
  return typeof wanted === 'string' && Math.max(text.length, 1) * wanted.length <= shortcutLimits.search;
}

function ofText(apply: (text: string) => Result): TextMethod {
  return { fewest: 0, most: 0, steps: 0, apply };
}

function withText(apply: (text: string, wanted: string) => Result, steps = 0): TextMethod {
  return {
    fewest: 1,
    most: 1,
    steps,
    apply: (text, wanted) => (isSearchable(text, wanted) ? apply(text, wanted) : unknown),
  };
}

function withPlaces(apply: (text: string, from: number, to: number | undefined) => Result): TextMethod {
  const run: TextMethod['apply'] = (text, from, to) =>
    typeof from === 'number' && (typeof to === 'number' || to === undefined) ? apply(text, from, to) : unknown;
  return { fewest: 1, most: 2, steps: 0, apply: run };
}

function withTexts(apply: (text: string, wanted: string, instead: string) => string, steps = 0): TextMethod {
  const run: TextMethod['apply'] = (text, wanted, instead) =>
    isSearchable(text, wanted) && isSearchable(text, instead) && !instead.includes('$')
      ? ifShort(apply(text, wanted, instead))
      : unknown;
  return { fewest: 2, most: 2, steps, apply: run };
}
