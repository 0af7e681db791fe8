// A chain of lines. Each line carries its number and the digest of the line before, so that a line that is changed, removed, added
// or moved breaks the chain. Pure: an entry in, a line out.
import { createHash, createHmac } from 'node:crypto';

/** In hex. With a key, a chain that fits can be made only by a program that can read the key. */
export type Digest = (text: string) => string;

export const plainDigest: Digest = (text) => createHash('sha256').update(text, 'utf8').digest('hex');

export function keyedDigest(key: Uint8Array): Digest {
  return (text) => createHmac('sha256', key).update(text, 'utf8').digest('hex');
}

export interface ChainState {
  /** Number of the next line. */
  next: number;
  /** Digest of the line before; at the beginning of a file that of the last line of the file before. */
  previous: string;
}

/** The last line of a chain, as it is noted elsewhere. */
export interface ChainHead {
  line: number;
  digest: string;
}

/** Lines of a chain that were seen and are gone. */
export interface LostLines {
  /** The name of the chain. */
  of: string;
  /** The last line that is there. */
  after: number;
  seen: number;
}

/** `seen`: the end that was last reported to the store. Undefined while nothing is missing. */
export function lostEnd(
  of: string,
  { line, digest }: ChainHead,
  seen: ChainHead | undefined,
): { lines: LostLines; sentence: string } | undefined {
  if (seen === undefined || seen.line < line || (seen.line === line && seen.digest === digest)) return undefined;
  const sentence = `the end of the ${of} was lost before the start: it ends with line ${line}, and the store has seen line ${seen.line}`;
  return { lines: { of, after: line, seen: seen.line }, sentence };
}

/** The digest before the first line of the first file. */
export const beginning: ChainState = { next: 1, previous: '0'.repeat(64) };

/** No entry is longer, because bodies are never in the log. */
export const maxLineLength = 16 * 1024;

/** Members that the chain itself writes. */
const own = ['seq', 'previous', 'digest'] as const;

/** Without the line break at its end. */
export function chainLine(state: ChainState, entry: object, digest: Digest): { line: string; state: ChainState } {
  const taken = own.find((name) => Object.hasOwn(entry, name));
  if (taken !== undefined) throw new Error(`write an audit line: want an entry without "${taken}", there is one`);
  const body = JSON.stringify({ seq: state.next, previous: state.previous, ...entry }).slice(0, -1);
  const sum = digest(body);
  const line = `${body},"digest":"${sum}"}`;
  if (line.length > maxLineLength)
    throw new Error(`write an audit line: wanted at most ${maxLineLength} characters, found ${line.length}`);
  return { line, state: { next: state.next + 1, previous: sum } };
}

export interface ReadLine {
  seq: number;
  previous: string;
  digest: string;
  /** Everything else. */
  entry: Record<string, unknown>;
}

/** Undefined when the line is not one of a chain, or has been changed. */
export function readLine(line: string, digest: Digest): ReadLine | undefined {
  const match = /^(\{.*),"digest":"([0-9a-f]{64})"\}$/s.exec(line);
  const [, body, sum] = match ?? [];
  if (line.length > maxLineLength || body === undefined || sum === undefined || digest(body) !== sum) return undefined;
  const members = parsed(line);
  if (members === undefined) return undefined;
  const { seq, previous, digest: _, ...entry } = members;
  if (typeof seq !== 'number' || typeof previous !== 'string') return undefined;
  return { seq, previous, digest: sum, entry };
}

/** Without a key, anyone can compute a fitting digest, even of a text that is not JSON. */
function parsed(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** A crash leaves the beginning of a line. Any other text was written by another program, and must not be cut off. */
export function looksTorn(torn: string): boolean {
  const begins = '{"seq":';
  return torn.startsWith(begins) || begins.startsWith(torn);
}
