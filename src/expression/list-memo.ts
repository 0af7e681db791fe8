// Remembers what was made of long lists of plain values, where the results hang on nothing but the values. A list is
// remembered as a whole: looking up each of a thousand addresses takes longer than working it out.
import { hashSome } from '../object/text-hash.ts';
import { Memo, type MemoOptions, plainCharsOf } from './memo.ts';
import type { Plain } from './shortcut-operators.ts';

interface Question {
  /** Tells questions apart that have the same values. */
  shelf: number;
  values: readonly unknown[];
}

export class ListMemo {
  readonly #memo: Memo<Question, readonly Plain[]>;

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
    this.#memo.remember({ shelf, values }, results, { entries: values.length, chars: valueChars + resultChars });
  }
}

function isSame(known: Question, { shelf, values }: Question): boolean {
  if (known.shelf !== shelf || known.values.length !== values.length) return false;
  for (let at = 0; at < values.length; at++) {
    if (known.values[at] !== values[at]) return false;
  }
  return true;
}

const hashMultiplier = 0x21f0aaad;

/** The first and the last tell most lists apart. */
function keyOf({ shelf, values }: Question): number {
  return Math.imul(hashPlain(values[0]), 31) ^ hashPlain(values[values.length - 1]) ^ shelf;
}

function hashPlain(value: unknown): number {
  if (typeof value === 'number') return Math.imul(value * 0x10001, hashMultiplier);
  if (typeof value !== 'string') return value === true ? 1 : 0;
  return hashSome(value, hashMultiplier);
}
