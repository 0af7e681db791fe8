// Remembers what an expression made of the values of an object. Expressions are pure, so the same values and the same context
// give the same results; a resync of unchanged objects then never enters the sandbox. What is remembered is a whole list of
// matched values: looking up each of a thousand addresses costs more than sending them. Two generations stand in for an
// exact order of last use: what was not asked for during a whole generation is forgotten.
import { memoLimits } from './limits.ts';

/** A result that can be handed out again and again: plain values as they are, objects as JSON, so that nobody shares one. */
type Remembered = string | number | boolean | null | { json: string };

/** What was asked: the values, and whatever else the results depend on. */
export interface Question {
  values: readonly unknown[];
  /** All values as JSON, when one of them is an object. */
  json: string | undefined;
  /** Context, paths and missing keys as far as the expression can see them. */
  extra: string;
}

interface Known extends Question {
  results: readonly Remembered[];
  hasObjects: boolean;
}

/** The memory of one expression. */
export interface Shelf {
  young: Map<string, Known>;
  old: Map<string, Known>;
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

  /** The results, new objects each time. */
  recall(shelf: Shelf, question: Question): unknown[] | undefined {
    const key = keyOf(question);
    let known = shelf.young.get(key);
    if (known === undefined || !isSame(known, question)) {
      known = shelf.old.get(key);
      if (known === undefined || !isSame(known, question)) return undefined;
      this.#put(shelf, key, known);
    }
    return known.hasObjects ? known.results.map(handOut) : [...known.results];
  }

  remember(shelf: Shelf, question: Question, results: readonly unknown[]): void {
    if (this.#maxEntries < 1) return;
    const hasObjects = results.some((result) => typeof result === 'object' && result !== null);
    const kept = hasObjects ? results.map(rememberedOf) : (results as Remembered[]);
    const { values, json, extra } = question;
    this.#put(shelf, keyOf(question), {
      values: json === undefined ? [...values] : [],
      json,
      extra,
      results: [...kept],
      hasObjects,
    });
  }

  #put(shelf: Shelf, key: string, known: Known): void {
    const entries = known.results.length;
    const chars = charsOf(known);
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

const shownOfText = 64;

/** Finds the place; whether it holds the answer, isSame decides. Short, because every character of it is hashed. */
function keyOf({ values, json, extra }: Question): string {
  if (json !== undefined) return json;
  const [first] = values;
  if (values.length === 1 && extra === '' && typeof first === 'string') return first;
  const last = values[values.length - 1];
  return `${values.length}|${clip(first)}|${clip(last)}|${extra}`;
}

function clip(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, shownOfText) : String(value);
}

function isSame(known: Known, { values, json, extra }: Question): boolean {
  if (known.extra !== extra || known.json !== json) return false;
  if (json !== undefined) return true;
  if (known.values.length !== values.length) return false;
  for (let at = 0; at < values.length; at++) {
    if (known.values[at] !== values[at]) return false;
  }
  return true;
}

function charsOf({ values, json, extra, results }: Known): number {
  let chars = extra.length + (json?.length ?? 0);
  for (const value of values) if (typeof value === 'string') chars += value.length;
  for (const result of results) {
    if (typeof result === 'string') chars += result.length;
    else if (typeof result === 'object' && result !== null) chars += result.json.length;
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
