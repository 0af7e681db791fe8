// Remembers what was made of long lists of plain values, where the results hang on nothing but the values. A list is
// remembered as a whole: looking up each of a thousand addresses takes longer than working it out.
import { Memo, type MemoOptions, plainCharsOf } from './memo.ts';
import { areSame, hashOf } from './question.ts';
import type { Plain } from './shortcut-operators.ts';

interface ListQuestion {
  /** Tells questions apart that have the same values. */
  shelf: number;
  values: readonly unknown[];
}

export class ListMemo {
  readonly #memo: Memo<ListQuestion, readonly Plain[]>;

  constructor(options?: MemoOptions) {
    this.#memo = new Memo({ keyOf, isSame }, options);
  }

  recall(shelf: number, values: readonly unknown[]): readonly Plain[] | undefined {
    return this.#memo.recall({ shelf, values });
  }

  /** The lists belong to the memory from here on: whoever holds them may only read. A list with an object in it is not kept. */
  remember(shelf: number, values: readonly unknown[], results: readonly Plain[]): void {
    const [valueChars, resultChars] = [plainCharsOf(values), plainCharsOf(results)];
    if (valueChars === undefined || resultChars === undefined) return;
    this.#memo.remember({ shelf, values }, results, {
      entries: values.length + results.length,
      chars: valueChars + resultChars,
    });
  }
}

/** The first and the last tell most lists apart. */
function keyOf({ shelf, values }: ListQuestion): number {
  return hashOf([shelf, values[0], values[values.length - 1]]);
}

function isSame(known: ListQuestion, { shelf, values }: ListQuestion): boolean {
  return known.shelf === shelf && areSame(known.values, values);
}
