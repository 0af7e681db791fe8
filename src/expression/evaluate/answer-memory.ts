// Remembers the answers of the sandbox, so that a resync of unchanged objects never enters it. Expressions are deterministic
// and the text of a request holds everything that they can see, so the same text has the same answer. Two generations
// approximate the order of last use: what was not asked for during a whole generation is forgotten.
import { answerMemoryLimits } from '../limits.ts';
import { countOf, type GroupResult } from './request.ts';

export interface AnswerMemoryOptions {
  entries?: number;
  chars?: number;
}

/** As JSON where there are objects among the results or errors, so that each caller gets objects of its own. */
type Stored = readonly GroupResult[] | string;

interface Remembered {
  /** Undefined once it is forgotten. */
  answer: Stored | undefined;
  entries: number;
  chars: number;
}

export class AnswerMemory {
  readonly #maxEntries: number;
  readonly #maxChars: number;
  #young = new Map<string, Remembered>();
  #old = new Map<string, Remembered>();
  /** Of the young generation. */
  #entries = 0;
  #chars = 0;

  constructor(options: AnswerMemoryOptions = {}) {
    // Two generations together stay within the limits.
    this.#maxEntries = (options.entries ?? answerMemoryLimits.entries) / 2;
    this.#maxChars = (options.chars ?? answerMemoryLimits.chars) / 2;
  }

  /** The lists are shared and may only be read; objects in them are new each time. */
  recall(text: string): readonly GroupResult[] | undefined {
    const known = this.#young.get(text) ?? this.#again(text);
    return typeof known?.answer === 'string' ? JSON.parse(known.answer) : known?.answer;
  }

  /** The lists of the answer belong to the memory from here on: other holders may only read them. */
  remember(text: string, answer: readonly GroupResult[]): void {
    const entries = 1 + countOf(answer);
    const plainChars = plainCharsIn(answer);
    const fewestChars = text.length + (plainChars ?? 0);
    // Asked before anything is written as JSON: a hundred thousand errors would be written in vain.
    if (entries > this.#maxEntries || fewestChars > this.#maxChars) return;
    if (plainChars !== undefined) {
      this.#keep(text, { answer, entries, chars: fewestChars });
      return;
    }
    if (!answer.every(isRepeatable)) return;
    const json = JSON.stringify(answer);
    this.#keep(text, { answer: json, entries, chars: text.length + json.length });
  }

  /** An answer of the old generation, put down in the young one. */
  #again(text: string): Remembered | undefined {
    const old = this.#old.get(text);
    // A copy: to put it down can end the old generation, which is then cut loose.
    const known = old && { ...old };
    if (known !== undefined) this.#putDown(text, known);
    return known;
  }

  #keep(text: string, known: Remembered): void {
    // Requests that were under way at the same time bring the same answer more than once.
    if (known.chars <= this.#maxChars && !this.#young.has(text)) this.#putDown(text, known);
  }

  #putDown(text: string, known: Remembered): void {
    if (this.#entries + known.entries > this.#maxEntries || this.#chars + known.chars > this.#maxChars) this.#age();
    this.#young.set(text, known);
    this.#entries += known.entries;
    this.#chars += known.chars;
  }

  #age(): void {
    forgetAll(this.#old);
    this.#old = this.#young;
    this.#young = new Map();
    this.#entries = 0;
    this.#chars = 0;
  }
}

/**
 * Entry by entry, not the map as a whole: V8 places tables and objects that used to grow old among the old from the start, and
 * whatever a dead one of them still points to outlives it until the next full collection.
 */
function forgetAll(generation: Map<string, Remembered>): void {
  for (const [text, known] of generation) {
    known.answer = undefined;
    generation.delete(text);
  }
}

/** An expression that ran out of time or memory may have been unlucky; one that threw throws again. */
function isRepeatable({ results, errors }: GroupResult): boolean {
  const areLasting = errors.every(({ error: { kind } }) => kind === 'threw' || kind === 'type' || kind === 'size');
  // A value that does not exist can stay undefined, which says the same as null.
  return areLasting && results.every((result) => isJson(result ?? null));
}

/** Characters of all texts among the results; undefined when there is an object among them, as an error is one. */
function plainCharsIn(answer: readonly GroupResult[]): number | undefined {
  let chars = 0;
  for (const { results, errors } of answer) {
    if (errors.length > 0) return undefined;
    for (const result of results) {
      if (typeof result === 'string') chars += result.length;
      else if (typeof result === 'object' && result !== null) return undefined;
    }
  }
  return chars;
}

/** Whether JSON gives the value back as it is: it writes Infinity, which `1e400` is read as, as null. */
export function isJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return value !== undefined;
  return Array.isArray(value) ? value.every(isJson) : Object.values(value).every(isJson);
}
