// Cuts a JSON text into its outline and its values. The outline has the names of the members and a gap for each text and number.
// Thousands of objects of one kind have a handful of outlines, and many values that are the same in all of them. So an object needs memory
// only for the values in which it differs from the first object with its outline. Only for texts that JSON.stringify wrote.

/** Stands for a value in an outline, and between two values. JSON.stringify writes it as an escape. */
export const gap = '\n';

/** A tenant can invent any number of outlines. Beyond this number they are all forgotten, and only later ones are shared. */
const outlineLimit = 1_000;
/** A longer outline belongs to an object with hundreds of addresses, and hardly another object has as many. */
const outlineLength = 4_096;
/** Longer values are most likely of one object alone, and a tenant can write values of 256 KiB. */
const sampleLength = 64;

const colon = 0x3a;
const backslash = 0x5c;

export interface Outline {
  text: string;
  /** The text between the values. Only of an outline that is shared: others would need more memory than their reading costs. */
  parts?: readonly string[];
  /** The values of the first object that had it. An equal value at the same place is not stored again. */
  sample: readonly string[];
}

export function cutText(text: string): { outline: string; values: string[] } {
  const outline: string[] = [];
  const values: string[] = [];
  let done = 0;
  for (let start = text.indexOf('"'); start >= 0; start = text.indexOf('"', start)) {
    let end = endOfText(text, start);
    if (text.charCodeAt(end) === colon) {
      start = end + 1;
      end = endOfNumber(text, start);
      if (end === start) continue;
    }
    outline.push(text.slice(done, start));
    values.push(text.slice(start, end));
    done = end;
    start = end;
  }
  outline.push(text.slice(done));
  return { outline: outline.join(gap), values };
}

/** The first `whole` values are stored in any case, to be read without the outline. */
export function joinValues(values: readonly string[], { sample }: Outline, whole: number): string {
  // join() makes a flat string. A sum would keep all its parts.
  return values.map((value, at) => (at >= whole && value === sample[at] ? '' : value)).join(gap);
}

export function joinText({ text: outline, parts = outline.split(gap), sample }: Outline, values: string): string {
  const own = values.split(gap);
  let text = parts[0] as string;
  for (let at = 1; at < parts.length; at++) text += (own[at - 1] || sample[at - 1]) + (parts[at] as string);
  return text;
}

/** `start` is at the first quote; returns the place after the last one. */
function endOfText(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end + 1;
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === backslash) before--;
  return (at - before) % 2 === 0;
}

/** Returns `start` when no number is there. */
function endOfNumber(text: string, start: number): number {
  let end = start;
  while (isOfNumber(text.charCodeAt(end))) end++;
  return end;
}

/** Digits, signs, the point, and the e of an exponent after a digit. */
function isOfNumber(code: number): boolean {
  return (code >= 0x2b && code <= 0x39 && code !== 0x2c && code !== 0x2f) || code === 0x65;
}

/** Gives equal outlines one value. */
export class Outlines {
  readonly #known = new Map<string, Outline>();

  get size(): number {
    return this.#known.size;
  }

  shared({ outline: text, values }: { outline: string; values: readonly string[] }): Outline {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    if (text.length > outlineLength) return { text, sample: [] };
    if (this.#known.size >= outlineLimit) this.#known.clear();
    const outline = { text, parts: text.split(gap), sample: sampleOf(values) };
    this.#known.set(text, outline);
    return outline;
  }
}

/** Joined first, because a part of a text would keep the whole text, with its long values, in memory. */
function sampleOf(values: readonly string[]): string[] {
  const short = values.map((value) => (value.length <= sampleLength ? value : ''));
  return short.join(gap).split(gap);
}
