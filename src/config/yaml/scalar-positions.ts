// Translates a place inside a YAML text value to a position in the file. The two differ because of escapes, quotes, folded
// lines and block indentation. The value is read again with the offset of each character; if the result differs from the
// parser's text, the position is the beginning of the value.
import type { Position } from '../fault.ts';
import type { ScalarNode } from './tree.ts';

/** An expression has at most 4,096 characters, and some more with escapes. Faults in longer texts get the beginning. */
const maxReadChars = 65_536;

/** The characters of the value, each with its offset in the file. */
interface CharMap {
  text: string;
  offsets: number[];
}

export function positionInText(node: ScalarNode, line: number, column: number): Position {
  const { source, start, end } = node.span;
  const reading = readingOf(node);
  if (reading === undefined) return source.positionAt(start);
  const index = indexIn(node.text, line, column);
  // After the last character, for an expression that ends too early.
  const last = reading.offsets.at(-1);
  const offset = reading.offsets[index] ?? (last === undefined ? start : last + 1);
  return source.positionAt(Math.min(offset, end));
}

const readingsOf = new WeakMap<ScalarNode, { reading: CharMap | undefined }>();

/** Cached, because one text may have a fault in every line. */
function readingOf(node: ScalarNode): CharMap | undefined {
  const known = readingsOf.get(node);
  if (known !== undefined) return known.reading;
  const { start, end } = node.span;
  const read = end - start > maxReadChars ? undefined : readAgain(node);
  const reading = read !== undefined && sameText(read.text, node.text) ? read : undefined;
  readingsOf.set(node, { reading });
  return reading;
}

function indexIn(text: string, line: number, column: number): number {
  let from = 0;
  for (let at = 1; at < line; at++) {
    const next = text.indexOf('\n', from);
    if (next < 0) break;
    from = next + 1;
  }
  return Math.min(text.length, from + column - 1);
}

/** Line breaks at the end depend on the block style, and no fault points to them. */
function sameText(a: string, b: string): boolean {
  return a.replace(/\n+$/, '') === b.replace(/\n+$/, '');
}

function readAgain(node: ScalarNode): CharMap {
  const { source, start, end } = node.span;
  const raw = source.text.slice(start, end);
  switch (node.style) {
    case 'plain':
      return readFlow(raw, start, undefined);
    case 'single':
      return readFlow(raw.slice(1, -1), start + 1, 'single');
    case 'double':
      return readFlow(raw.slice(1, -1), start + 1, 'double');
    case 'literal':
    case 'folded':
      return readBlock(raw, start, { indent: blockIndent(raw, node.text), isFolded: node.style === 'folded' });
    default:
      return node.style satisfies never;
  }
}

const shortEscapes: Record<string, string> = {
  '0': '\0',
  a: '\x07',
  b: '\b',
  t: '\t',
  '\t': '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  e: '\x1b',
  N: '\x85',
  _: '\xa0',
  L: '\u2028',
  P: '\u2029',
};
const longEscapes: Record<string, number> = { x: 2, u: 4, U: 8 };

function readFlow(raw: string, base: number, quotes: 'single' | 'double' | undefined): CharMap {
  const reading: CharMap = { text: '', offsets: [] };
  const put = (text: string, offset: number): void => {
    for (let index = 0; index < text.length; index++) reading.offsets.push(base + offset);
    reading.text += text;
  };
  let at = 0;
  while (at < raw.length) {
    const char = raw[at] as string;
    const fold = /\s/.test(char) ? /^[ \t]*\r?\n\s*/.exec(raw.slice(at, at + maxFold)) : null;
    if (fold !== null) {
      const breaks = fold[0].split('\n').length - 1;
      put(breaks === 1 ? ' ' : '\n'.repeat(breaks - 1), at);
      at += fold[0].length;
    } else if (quotes === 'single' && char === "'") {
      put("'", at);
      at += 2;
    } else if (quotes === 'double' && char === '\\') {
      const { text, length } = readEscape(raw, at);
      put(text, at);
      at += length;
    } else {
      put(char, at);
      at++;
    }
  }
  return reading;
}

/** Longest white space around a line break that is recognised; after a longer run the texts differ. */
const maxFold = 1000;

function readEscape(raw: string, at: number): { text: string; length: number } {
  const letter = raw[at + 1] ?? '';
  const digits = longEscapes[letter];
  if (digits !== undefined) {
    const code = Number.parseInt(raw.slice(at + 2, at + 2 + digits), 16);
    const isCharacter = Number.isInteger(code) && code <= 0x10ffff;
    return { text: isCharacter ? String.fromCodePoint(code) : '', length: 2 + digits };
  }
  const continued = /^\\\r?\n[ \t]*/.exec(raw.slice(at, at + maxFold));
  if (continued !== null) return { text: '', length: continued[0].length };
  return { text: shortEscapes[letter] ?? letter, length: 2 };
}

/** The additional indentation in the file of the first line that is not empty. */
function blockIndent(raw: string, text: string): number {
  const written = firstIndent(raw.split('\n').slice(1));
  return Math.max(0, written - firstIndent(text.split('\n')));
}

function firstIndent(lines: readonly string[]): number {
  const first = lines.find((line) => line.trim() !== '');
  return first === undefined ? 0 : first.length - first.trimStart().length;
}

interface BlockLine {
  text: string;
  offset: number;
}

function blockLines(raw: string, base: number, indent: number): BlockLine[] {
  const lines: BlockLine[] = [];
  let offset = raw.indexOf('\n') + 1;
  if (offset === 0) return lines;
  for (const line of raw.slice(offset).split('\n')) {
    const cut = Math.min(indent, line.length - line.trimStart().length);
    lines.push({ text: line.slice(cut).replace(/\r$/, ''), offset: base + offset + cut });
    offset += line.length + 1;
  }
  return lines;
}

function readBlock(raw: string, base: number, { indent, isFolded }: { indent: number; isFolded: boolean }): CharMap {
  const reading: CharMap = { text: '', offsets: [] };
  const put = (text: string, offset: number, isSpread: boolean): void => {
    for (let index = 0; index < text.length; index++) reading.offsets.push(isSpread ? offset + index : offset);
    reading.text += text;
  };
  let before: BlockLine | undefined;
  let breaks = 0;
  for (const line of blockLines(raw, base, indent)) {
    if (line.text === '') {
      breaks++;
      continue;
    }
    const isMore = (other: BlockLine) => /^[ \t]/.test(other.text);
    const foldsInto = isFolded && before !== undefined && !isMore(before) && !isMore(line);
    const gap = before === undefined ? '\n'.repeat(breaks) : foldsInto ? folded(breaks) : '\n'.repeat(breaks + 1);
    put(gap, before === undefined ? line.offset : before.offset + before.text.length, false);
    put(line.text, line.offset, true);
    before = line;
    breaks = 0;
  }
  return reading;
}

function folded(emptyLines: number): string {
  return emptyLines === 0 ? ' ' : '\n'.repeat(emptyLines);
}
