// Parses the text of a path into segments, or returns one fault with its position and a fix. The grammar is that of vCluster,
// and single quotes are also quotes. Syntax of other path languages is refused by name, because vCluster would read it as an
// odd key that silently matches nothing.
import { inQuotes } from '../../object/text/in-quotes.ts';

/** One level of a path: a key or every element. An index is also a key; the container decides its meaning. */
export type Segment = { kind: 'key'; key: string } | { kind: 'every' };

export interface PathFault {
  kind: 'fault';
  /** Counts from 1 in the text as written. */
  column: number;
  message: string;
  fix: string;
}

export type Segments = { kind: 'ok'; segments: Segment[] } | PathFault;

/** No path into a Kubernetes object is longer; the limit keeps messages and status lines readable. */
const maxPathLength = 1_024;
/** The sandbox refuses results that nest deeper, so no path needs more segments. */
const maxSegments = 64;

/** A key that can be an index. No list is longer, and a larger number would lose precision. */
export const arrayIndex = /^(?:0|[1-9]\d{0,9})$/;

/** Whether the key can be an index of an array, or is inherited by every object. */
export function isSpecialKey(key: string): boolean {
  return key in Object.prototype || arrayIndex.test(key);
}

/** The text between two separators: its content, the part of it outside quotes, and its position. */
interface PathPiece {
  content: string;
  unquoted: string;
  isQuoted: boolean;
  start: number;
  end: number;
}

type Scanned<T> = T | PathFault;

export function parseSegments(written: string): Segments {
  const text = written.trimEnd();
  const start = text.length - text.trimStart().length;
  const foreign = foreignRoot(text, start);
  if (foreign !== undefined) return foreign;
  const segments: Segment[] = [];
  let at = start;
  while (at < text.length) {
    const step = text[at] === '[' ? scanBracket(text, at) : scanPlain(text, at);
    if ('kind' in step) return step;
    if (step.segment !== undefined) segments.push(step.segment);
    at = step.next;
    if (segments.length > maxSegments) {
      return fault(at - 1, `path goes more than ${maxSegments} levels down`, 'address a field nearer to the root');
    }
  }
  if (segments.length === 0 && start < text.length) {
    return fault(start, 'path names no key', 'write "" for the whole object');
  }
  return { kind: 'ok', segments };
}

/** Refuses a too long path, and the roots of other path languages. */
function foreignRoot(text: string, start: number): PathFault | undefined {
  const rest = text.slice(start);
  if (text.length > maxPathLength) {
    return fault(
      maxPathLength,
      `path is longer than ${maxPathLength} characters`,
      'address a field nearer to the root',
    );
  }
  if (/^\$(?=$|\.(?!\.)|\[)/.test(rest)) {
    const bare = rest.slice(1).replace(/^\./, '');
    return fault(
      start,
      'path starts with "$", the root of JSONPath; paths start at the object',
      `write ${inQuotes(bare)}`,
    );
  }
  if (/^#?\//.test(rest)) {
    const keys = rest
      .replace(/^#?\//, '')
      .split('/')
      .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
    return fault(start, 'path is a JSON Pointer; levels are separated by dots', `write ${inQuotes(pathText(keys))}`);
  }
  if (rest.startsWith('{')) {
    const bare = rest.replace(/^\{\.?/, '').replace(/\}$/, '');
    return fault(start, "path is in kubectl's braces", `write ${inQuotes(bare)}`);
  }
  return undefined;
}

function scanPlain(text: string, from: number): Scanned<{ segment?: Segment; next: number }> {
  let start = from;
  if (text[from] === '.') {
    if (text[from + 1] === '.') {
      return fault(from, 'recursive descent ".." is not part of the path language', 'name every level, or "*" for all');
    }
    start = from + 1;
    if (start >= text.length || text[start] === '[') return { next: start };
  }
  const piece = scanPiece(text, start, '.[]');
  if ('kind' in piece) return piece;
  if (text[piece.end] === ']') return fault(piece.end, '"]" has no opening "["', 'open it with "[", or quote the key');
  const segment = segmentOf(piece, { inBrackets: false });
  return 'column' in segment ? segment : { segment, next: piece.end };
}

function scanBracket(text: string, from: number): Scanned<{ segment?: Segment; next: number }> {
  const piece = scanPiece(text, from + 1, '[]');
  if ('kind' in piece) return piece;
  if (piece.end >= text.length) return fault(from, '"[" is not closed', 'add "]"');
  const filter = foreignInBrackets(piece);
  if (filter !== undefined) return filter;
  if (text[piece.end] === '[') return fault(piece.end, '"[" inside brackets', 'quote the key: ["a[b"]');
  const segment = segmentOf(piece, { inBrackets: true });
  return 'column' in segment ? segment : { segment, next: piece.end + 1 };
}

/** Reads up to one of the stops. Quotes are removed and their content is literal; there is no escape character. */
function scanPiece(text: string, from: number, stops: string): Scanned<PathPiece> {
  const piece: PathPiece = { content: '', unquoted: '', isQuoted: false, start: from, end: from };
  let at = from;
  while (at < text.length && !stops.includes(text[at] as string)) {
    const mark = text[at] as string;
    if (mark !== '"' && mark !== "'") {
      piece.content += mark;
      piece.unquoted += mark;
      at++;
      continue;
    }
    const close = text.indexOf(mark, at + 1);
    if (close < 0) {
      const other = mark === '"' ? "'" : '"';
      return fault(at, `quote ${mark} is not closed`, `add ${mark}; a key that holds ${mark} goes between ${other}`);
    }
    piece.content += text.slice(at + 1, close);
    piece.isQuoted = true;
    at = close + 1;
  }
  piece.end = at;
  return piece;
}

function foreignInBrackets(piece: PathPiece): PathFault | undefined {
  const { unquoted, start } = piece;
  if (/^\s*[?(@]/.test(unquoted) || unquoted.includes('=')) {
    const fix = 'use "[*]" and decide in the expression, by context.virtualObject and context.path';
    return fault(start, 'filter in brackets; paths select by key, index or "*"', fix);
  }
  // Blanks are removed first, because a pattern that allows blanks everywhere takes quadratic time.
  if (!piece.isQuoted && /^-?\d*:-?\d*(:-?\d*)?$/.test(unquoted.replace(/\s+/g, ''))) {
    return fault(start, 'slice in brackets; paths select one index or "*"', 'use "[*]", or one entry for each index');
  }
  if (unquoted.includes(',')) {
    return fault(start, 'union in brackets; paths select one key, one index or "*"', 'use one entry for each key');
  }
  return undefined;
}

function segmentOf(piece: PathPiece, where: { inBrackets: boolean }): Segment | PathFault {
  const { content, unquoted, isQuoted, start } = piece;
  if (!isQuoted && content === '*') return { kind: 'every' };
  if (content === '') {
    return fault(start, where.inBrackets ? 'nothing between brackets' : 'empty key', 'name the key, or "*" for all');
  }
  if (!isQuoted && /^-\d+$/.test(content)) {
    return fault(start, `negative index ${content}; elements are counted from 0`, 'use an index from 0 on, or "[*]"');
  }
  if (unquoted.includes('*')) {
    return fault(start, '"*" inside a key; only a bare "*" means every element', 'use "*" alone, or quote the key');
  }
  if (unquoted.includes('\\')) {
    return fault(start, 'backslash in a key; paths have no escape character', 'quote the key: ["example.com/key"]');
  }
  if (where.inBrackets && isQuoted && unquoted.trim() === '' && unquoted !== '') {
    return fault(start, 'blank beside the quotes in brackets; it would be part of the key', 'remove the blank');
  }
  // No label or annotation can have this key, and an assignment to it would change the prototype.
  if (content === '__proto__')
    return fault(start, `key "${content}" is reserved by JavaScript`, 'address another field');
  return { kind: 'key', key: content };
}

function fault(index: number, message: string, fix: string): PathFault {
  return { kind: 'fault', column: index + 1, message, fix };
}

/** The text of concrete keys and indexes: `subsets.0.addresses.1.ip`. Parsing it returns the same keys. */
export function pathText(keys: readonly (string | number)[]): string {
  let text = '';
  for (let at = 0; at < keys.length; at++) {
    const key = keys[at] as string | number;
    const piece = typeof key === 'number' ? String(key) : keyText(key);
    text = at === 0 ? piece : `${text}.${piece}`;
  }
  return text;
}

/** Keys that need no quotes; excludes beginnings that the parser would take for another path language. */
const plainKey = /^(?!#\/)[^.[\]"'*\\\s$/{-][^.[\]"'*\\\s]*$/;

function keyText(key: string): string {
  if (plainKey.test(key)) return key;
  if (!key.includes('"')) return `"${key}"`;
  if (!key.includes("'")) return `'${key}'`;
  // Adjacent quoted pieces form one key, so a key with both kinds of quotes alternates between them.
  return key
    .split(/("+)/)
    .filter((part) => part !== '')
    .map((part) => (part.startsWith('"') ? `'${part}'` : `"${part}"`))
    .join('');
}

/** As pathText(), with `*` for every element. */
export function segmentsText(segments: readonly Segment[]): string {
  return segments.map((segment) => (segment.kind === 'every' ? '*' : keyText(segment.key))).join('.');
}
