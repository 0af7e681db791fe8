// The range of keys that begin with a prefix, in byte order. One bound at each end: SQLite walks from the first of several lower ones.
import { compareKeys } from '../key-order.ts';

/** SQLite sorts every blob behind every text. */
const behindAllTexts = new Uint8Array(0);
const firstSurrogate = 0xd800;
const behindSurrogates = 0xe000;
const lastCodePoint = 0x10ffff;

/** The least key behind all that begin with the prefix. */
export function beyondPrefix(prefix: string): string | Uint8Array {
  const points = [...prefix];
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const next = (last.codePointAt(0) as number) + 1;
    if (next <= lastCodePoint)
      return points.join('') + String.fromCodePoint(next === firstSurrogate ? behindSurrogates : next);
  }
  return behindAllTexts;
}

/** The least key with the prefix behind `afterKey`. */
export function firstBehind(prefix: string, afterKey: string | undefined): string {
  return afterKey === undefined || compareKeys(afterKey, prefix) < 0 ? prefix : `${afterKey}\0`;
}
