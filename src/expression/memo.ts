// Remembers what expressions made of what they were asked. Expressions are pure, so the same question has the same answer; a
// resync of unchanged objects then never enters the sandbox. Two generations stand in for an exact order of last use: what
// was not asked for during a whole generation is forgotten.
import { memoLimits } from './limits.ts';

export interface MemoOptions {
  entries?: number;
  chars?: number;
}

/** How many values there are in a question and its answer, and characters in all of their texts. */
interface Size {
  entries: number;
  chars: number;
}

interface Known<Question, Answer> extends Size {
  /** Undefined once it is forgotten. */
  question: Question | undefined;
  answer: Answer | undefined;
  /** Another one with the same key: they would drive each other out. */
  next: Known<Question, Answer> | undefined;
}

type Generation<Question, Answer> = Map<number, Known<Question, Answer>>;

/** Where a question is kept; whether it is the one that was asked, isSame decides. */
interface Keys<Question> {
  keyOf(question: Question): number;
  isSame(known: Question, question: Question): boolean;
}

export class Memo<Question, Answer> {
  readonly #keys: Keys<Question>;
  readonly #maxEntries: number;
  readonly #maxChars: number;
  #young: Generation<Question, Answer> = new Map();
  #old: Generation<Question, Answer> = new Map();
  #entries = 0;
  #chars = 0;

  constructor(keys: Keys<Question>, options: MemoOptions = {}) {
    this.#keys = keys;
    // Two generations together stay within the limit.
    this.#maxEntries = (options.entries ?? memoLimits.entries) / 2;
    this.#maxChars = (options.chars ?? memoLimits.chars) / 2;
  }

  recall(question: Question): Answer | undefined {
    const key = this.#keys.keyOf(question);
    const young = this.#find(this.#young.get(key), question);
    if (young !== undefined) return young.answer;
    const old = this.#find(this.#old.get(key), question);
    if (old === undefined) return undefined;
    // First, as putting it down again may be what makes its generation forgotten.
    const { answer } = old;
    this.#putDown(key, { question, answer: answer as Answer, size: old });
    return answer;
  }

  fits({ entries, chars }: Size): boolean {
    return this.#maxEntries >= 1 && entries <= this.#maxEntries && chars <= this.#maxChars;
  }

  remember(question: Question, answer: Answer, size: Size): void {
    if (!this.fits(size)) return;
    const key = this.#keys.keyOf(question);
    // Those that were asked at the same time would fill it with copies.
    if (this.#find(this.#young.get(key), question) === undefined) this.#putDown(key, { question, answer, size });
  }

  #putDown(
    key: number,
    { question, answer, size: { entries, chars } }: { question: Question; answer: Answer; size: Size },
  ): void {
    if (this.#entries + entries > this.#maxEntries || this.#chars + chars > this.#maxChars) this.#age();
    this.#young.set(key, { question, answer, entries, chars, next: this.#young.get(key) });
    this.#entries += entries;
    this.#chars += chars;
  }

  #find(first: Known<Question, Answer> | undefined, question: Question): Known<Question, Answer> | undefined {
    let known = first;
    while (known !== undefined && !this.#keys.isSame(known.question as Question, question)) known = known.next;
    return known;
  }

  #age(): void {
    for (const first of this.#old.values()) forget(first);
    this.#old = this.#young;
    this.#young = new Map();
    this.#entries = 0;
    this.#chars = 0;
  }
}

/** V8 takes objects that used to grow old for old from the start, and whatever hangs on one of those outlives it by far. */
function forget<Question, Answer>(first: Known<Question, Answer>): void {
  for (let known: Known<Question, Answer> | undefined = first; known !== undefined; known = known.next) {
    known.question = undefined;
    known.answer = undefined;
  }
}

/** Characters of the texts in a list; undefined when there is an object in it. */
export function plainCharsOf(list: readonly unknown[]): number | undefined {
  let chars = 0;
  for (const part of list) {
    if (typeof part === 'string') chars += part.length;
    else if (typeof part === 'object' && part !== null) return undefined;
  }
  return chars;
}
