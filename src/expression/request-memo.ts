// Remembers the answers to requests by all that they can depend on. To remember each list of values by itself would take longer,
// where objects have a few addresses, than all else that the daemon does for them.
import { Memo, type MemoOptions, plainCharsOf } from './memo.ts';
import { areSame, type Question } from './question.ts';
import { countOf, type GroupResult } from './request.ts';

export class RequestMemo {
  /** Where there are objects or errors among the results, as JSON, so that everybody gets objects of their own. */
  readonly #memo: Memo<Question, readonly GroupResult[] | string>;

  constructor(options?: MemoOptions) {
    this.#memo = new Memo(
      { keyOf: ({ key }) => key, isSame: (known, { parts }) => areSame(known.parts, parts) },
      options,
    );
  }

  /** Lists to read only, but with new objects in them each time. */
  recall(question: Question): readonly GroupResult[] | undefined {
    const known = this.#memo.recall(question);
    return typeof known === 'string' ? JSON.parse(known) : known;
  }

  /** Whoever else holds the lists of the answer may only read. */
  remember(question: Question, answer: readonly GroupResult[]): void {
    const { parts } = question;
    const length = plainCharsOf(parts) as number;
    const entries = parts.length + countOf(answer);
    const plainChars = plainCharsIn(answer);
    if (plainChars !== undefined) {
      this.#memo.remember(question, answer, { entries, chars: length + plainChars });
      return;
    }
    // To write down what does not fit would take its time, of a hundred thousand errors for one.
    if (!this.#memo.fits({ entries, chars: length }) || !answer.every(isForGood)) return;
    const json = JSON.stringify(answer);
    this.#memo.remember(question, json, { entries, chars: length + json.length });
  }
}

/** What ran out of time or memory may have been unlucky; what threw throws again. */
function isForGood({ errors }: GroupResult): boolean {
  return errors.every(({ error: { kind } }) => kind === 'threw' || kind === 'type' || kind === 'size');
}

/** Undefined when there is an object in it, as an error is one. */
function plainCharsIn(answer: readonly GroupResult[]): number | undefined {
  let sum = 0;
  for (const { results, errors } of answer) {
    const chars = errors.length > 0 ? undefined : plainCharsOf(results);
    if (chars === undefined) return undefined;
    sum += chars;
  }
  return sum;
}
