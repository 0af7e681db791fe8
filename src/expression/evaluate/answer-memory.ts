// Remembers the answers of the sandbox, so that a resync of unchanged objects never enters the sandbox. Expressions are
// deterministic, and the text of a request holds every input that they can see, so the same text always has the same answer.
// Two generations approximate the order of last use: an answer that was not recalled during a whole generation is forgotten.
import { answerMemoryLimits } from '../limits.ts';
import { countOf, type GroupResult } from './request.ts';

export interface AnswerMemoryOptions {
  entries?: number;
  chars?: number;
}

/** JSON text when the results or errors contain objects, so that each caller gets objects of its own. */
type Stored = readonly GroupResult[] | string;

interface Remembered {
  /** Undefined after the answer was forgotten. */
  answer: Stored | undefined;
  entries: number;
  chars: number;
}

export class AnswerMemory {
  readonly #maxEntries: number;
  readonly #maxChars: number;
  #young = new Map<string, Remembered>();
  #old = new Map<string, Remembered>();
  /** Entries and characters of the young generation. */
  #entries = 0;
  #chars = 0;

  constructor(options: AnswerMemoryOptions = {}) {
    // Two generations together stay within the limits.
    this.#maxEntries = (options.entries ?? answerMemoryLimits.entries) / 2;
    this.#maxChars = (options.chars ?? answerMemoryLimits.chars) / 2;
  }

  /** The returned lists are shared and may only be read; the objects in them are new for each call. */
  recall(text: string): readonly GroupResult[] | undefined {
    const known = this.#young.get(text) ?? this.#rejuvenate(text);
    return typeof known?.answer === 'string' ? JSON.parse(known.answer) : known?.answer;
  }

  /** The memory keeps the lists of the answer, so the caller may only read them afterwards. */
  remember(text: string, answer: readonly GroupResult[]): void {
    const entries = 1 + countOf(answer);
    const plainChars = plainCharsIn(answer);
    const fewestChars = text.length + (plainChars ?? 0);
    // Checked before JSON.stringify(), which would write a hundred thousand errors only to drop them.
    if (entries > this.#maxEntries || fewestChars > this.#maxChars) return;
    if (plainChars !== undefined) {
      this.#keep(text, { answer, entries, chars: fewestChars });
      return;
    }
    if (!answer.every(isRepeatable)) return;
    const json = JSON.stringify(answer);
    this.#keep(text, { answer: json, entries, chars: text.length + json.length });
  }

  /** Moves an answer from the old generation to the young one. */
  #rejuvenate(text: string): Remembered | undefined {
    const old = this.#old.get(text);
    // A copy, because #add() can end the old generation, and forgetAll() then clears its entries.
    const known = old && { ...old };
    if (known !== undefined) this.#add(text, known);
    return known;
  }

  #keep(text: string, known: Remembered): void {
    // Concurrent requests of one text bring the same answer more than once.
    if (known.chars <= this.#maxChars && !this.#young.has(text)) this.#add(text, known);
  }

  #add(text: string, known: Remembered): void {
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
 * Clears entry by entry instead of dropping the map: V8 allocates long-lived tables and objects in its old generation, and a
 * dead table there keeps all that it points to alive until the next full collection.
 */
function forgetAll(generation: Map<string, Remembered>): void {
  for (const [text, known] of generation) {
    known.answer = undefined;
    generation.delete(text);
  }
}

/** An expression that threw throws again; one that ran out of time or memory may succeed the next time. */
function isRepeatable({ results, errors }: GroupResult): boolean {
  const areLasting = errors.every(({ error: { kind } }) => kind === 'threw' || kind === 'type' || kind === 'size');
  // The result of a missing value can be undefined, which means the same as null.
  return areLasting && results.every((result) => isJson(result ?? null));
}

/** Characters of all texts among the results; undefined when the answer contains an object (an error is an object too). */
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

/** Whether JSON reproduces the value. JSON.parse() reads `1e400` as Infinity, and JSON.stringify() writes Infinity as null. */
export function isJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return value !== undefined;
  return Array.isArray(value) ? value.every(isJson) : Object.values(value).every(isJson);
}
