// Remembers what an expression made of the values of an object. Expressions are pure, so the same values and the same context
// give the same results; a resync of unchanged objects then never enters the sandbox. What is remembered is a whole list of
// matched values: looking up each of a thousand addresses costs more than sending them. Two generations stand in for an
// exact order of last use: what was not asked for during a whole generation is forgotten.
import { hashText } from '../object/text-hash.ts';
import { memoLimits } from './limits.ts';

/** A result that can be handed out again and again: plain values as they are, objects as JSON, so that nobody shares one. */
type Remembered = string | number | boolean | null | { json: string };

/** What was asked, the values and whatever else the results depend on; and once it is remembered, what came of it. */
export interface Question {
  values: readonly unknown[];
  /** All values as JSON, when one of them is an object. */
  json: string | undefined;
  /** Context, paths and missing keys as far as the expression can see them. */
  extra: string;
  /** Made of the others: looked for on the way in, put down on the way out. */
  key: PlaceKey;
  chars: number;
  results: readonly Remembered[];
  hasObjects: boolean;
}

/** Finds the place; whether it holds the answer, isSame decides. A number where it can be: a Map hashes every text anew. */
type PlaceKey = string | number;

/** The memory of one expression. */
export interface Shelf {
  young: Map<PlaceKey, Question>;
  old: Map<PlaceKey, Question>;
}

export interface MemoOptions {
  entries?: number;
  chars?: number;
}

export class Memo {
  readonly #maxEntries: number;
  readonly #maxChars: number;
  #shelves: Shelf[] = [];
  #entries = 0;
  #chars = 0;

  constructor(options: MemoOptions = {}) {
    // Two generations together stay within the limit.
    this.#maxEntries = (options.entries ?? memoLimits.entries) / 2;
    this.#maxChars = (options.chars ?? memoLimits.chars) / 2;
  }

  shelf(): Shelf {
    const shelf = { young: new Map(), old: new Map() };
    this.#shelves.push(shelf);
    return shelf;
  }

  /** The results: a list to read only, but with new objects in it each time. */
  recall(shelf: Shelf, question: Question): readonly unknown[] | undefined {
    const { key } = question;
    let known = shelf.young.get(key);
    if (known === undefined || !isSame(known, question)) {
      known = shelf.old.get(key);
      if (known === undefined || !isSame(known, question)) return undefined;
      this.#put(shelf, known);
    }
    return known.hasObjects ? known.results.map(handOut) : known.results;
  }

  /** The question and the lists belong to the memory from here on: whoever holds them may only read. */
  remember(shelf: Shelf, question: Question, results: readonly unknown[]): void {
    if (this.#maxEntries < 1) return;
    const plainChars = plainCharsOf(results);
    question.values = question.json === undefined ? trimmed(question.values) : [];
    question.hasObjects = plainChars === undefined;
    question.results = question.hasObjects ? results.map(rememberedOf) : (results as readonly Remembered[]);
    question.chars += plainChars ?? keptCharsOf(question.results);
    this.#put(shelf, question);
  }

  #put(shelf: Shelf, known: Question): void {
    const { chars, key } = known;
    const entries = known.results.length;
    if (chars > this.#maxChars || entries > this.#maxEntries) return;
    if (this.#entries + entries > this.#maxEntries || this.#chars + chars > this.#maxChars) this.#age();
    shelf.young.set(key, known);
    this.#entries += entries;
    this.#chars += chars;
  }

  #age(): void {
    for (const shelf of this.#shelves) {
      shelf.old = shelf.young;
      shelf.young = new Map();
    }
    this.#entries = 0;
    this.#chars = 0;
  }
}

const noResults: readonly Remembered[] = [];
const shownOfText = 64;
/** More is not hashed whole. */
const longText = 3 * shownOfText;
const hashMultiplier = 0x21f0aaad;

export function question(values: readonly unknown[], extra: string): Question {
  const plain = plainQuestion(values, extra);
  if (plain !== undefined) return plain;
  const json = JSON.stringify(values);
  const chars = extra.length + json.length;
  return { values, json, extra, key: json, chars, results: noResults, hasObjects: false };
}

/** Undefined when one of the values is an object: such a question takes reading all that is in them. */
export function plainQuestion(values: readonly unknown[], extra: string): Question | undefined {
  const plainChars = plainCharsOf(values);
  if (plainChars === undefined) return undefined;
  const chars = extra.length + plainChars;
  return { values, json: undefined, extra, key: keyOf(values, extra), chars, results: noResults, hasObjects: false };
}

/** Of plain values: the first and the last tell most lists apart. */
function keyOf(values: readonly unknown[], extra: string): PlaceKey {
  const [only] = values;
  // Copies of a manifest differ in a name that no glimpse shows: in one place they would drive each other out.
  if (values.length === 1 && extra === '' && typeof only === 'string' && only.length > longText) return only;
  const first = hashPlain(only);
  const ends = values.length > 1 ? Math.imul(first, 31) ^ hashPlain(values[values.length - 1]) : first;
  return extra === '' ? ends : `${ends}|${extra}`;
}

function hashPlain(value: unknown): number {
  if (typeof value === 'number') return Math.imul(value * 0x10001, hashMultiplier);
  if (typeof value !== 'string') return value === true ? 1 : 0;
  return hashText(value.length > longText ? glimpseOf(value) : value, hashMultiplier);
}

/** Certificates, say, begin alike. */
function glimpseOf(text: string): string {
  const middle = text.length >>> 1;
  return text.slice(0, shownOfText) + text.slice(middle, middle + shownOfText) + text.slice(-shownOfText);
}

/** A short list that grew by pushes holds room for seventeen; one value stands in a list that was made for it. */
const grownRoom = 17;

function trimmed(list: readonly unknown[]): readonly unknown[] {
  return list.length > 1 && list.length < grownRoom ? list.slice() : list;
}

function isSame(known: Question, { values, json, extra }: Question): boolean {
  if (known.extra !== extra || known.json !== json) return false;
  if (json !== undefined) return true;
  if (known.values.length !== values.length) return false;
  for (let at = 0; at < values.length; at++) {
    if (known.values[at] !== values[at]) return false;
  }
  return true;
}

/** Characters of the texts in a list; undefined when there is an object in it. */
function plainCharsOf(list: readonly unknown[]): number | undefined {
  let chars = 0;
  for (const part of list) {
    if (typeof part === 'string') chars += part.length;
    else if (typeof part === 'object' && part !== null) return undefined;
  }
  return chars;
}

function keptCharsOf(list: readonly Remembered[]): number {
  let chars = 0;
  for (const part of list) {
    if (typeof part === 'string') chars += part.length;
    else if (typeof part === 'object' && part !== null) chars += part.json.length;
  }
  return chars;
}

function rememberedOf(value: unknown): Remembered {
  if (typeof value === 'object' && value !== null) return { json: JSON.stringify(value) };
  return (value ?? null) as Remembered;
}

function handOut(known: Remembered): unknown {
  return typeof known === 'object' && known !== null ? JSON.parse(known.json) : known;
}
