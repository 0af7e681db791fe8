// Remembers the answers to requests by their texts. A request holds all that its answer can depend on, and its text has to be
// written for the sandbox anyway; to remember each list of values by itself would take longer, where objects have a few
// addresses, than all else that the daemon does for them.
import { hashSome } from '../object/text-hash.ts';
import { Memo, type MemoOptions, plainCharsOf } from './memo.ts';
import type { GroupResult } from './request.ts';

export class RequestMemo {
  /** Where there are objects among the results, as JSON, so that everybody gets objects of their own. */
  readonly #memo: Memo<string, readonly GroupResult[] | string>;

  constructor(options?: MemoOptions) {
    this.#memo = new Memo({ keyOf, isSame: (known, text) => known === text }, options);
  }

  /** Lists to read only, but with new objects in them each time. */
  recall(text: string): readonly GroupResult[] | undefined {
    const known = this.#memo.recall(text);
    return typeof known === 'string' ? JSON.parse(known) : known;
  }

  /** An answer without errors. Whoever else holds its lists may only read. */
  remember(text: string, answer: readonly GroupResult[]): void {
    const entries = answer.reduce((sum, { results }) => sum + results.length, 0);
    const plainChars = plainCharsIn(answer);
    if (plainChars !== undefined) {
      this.#memo.remember(text, answer, { entries, chars: text.length + plainChars });
      return;
    }
    const json = JSON.stringify(answer);
    this.#memo.remember(text, json, { entries, chars: text.length + json.length });
  }
}

function keyOf(text: string): number {
  return hashSome(text, 0x21f0aaad);
}

/** Undefined when there is an object in it. */
function plainCharsIn(answer: readonly GroupResult[]): number | undefined {
  let sum = 0;
  for (const { results } of answer) {
    const chars = plainCharsOf(results);
    if (chars === undefined) return undefined;
    sum += chars;
  }
  return sum;
}
