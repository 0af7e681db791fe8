// Checks whether a file of chained lines is complete. It names the first wrong line and its fault.
import {
  beginning,
  type ChainHead,
  type ChainState,
  type Digest,
  type LostLines,
  looksTorn,
  type ReadLine,
  readLine,
} from './chain.ts';
import type { Removal } from './retention.ts';

export type VerifiedChain =
  /** `state` is the state for the next file. A torn last line comes from a crash; it was never acknowledged. */
  | {
      kind: 'whole';
      lines: number;
      state: ChainState;
      torn: boolean;
      first?: First;
      removals: readonly RemovalNoted[];
      losses: readonly LossNoted[];
    }
  /** `line` counts from 1. */
  | { kind: 'broken'; line: number; reason: string };

/** The first line of a file. */
type First = Pick<ReadLine, 'seq' | 'previous'>;

export interface RemovalNoted extends Pick<Removal, 'through' | 'last'> {
  time: string;
}

/** A start has found that lines were cut off. */
export interface LossNoted extends LostLines {
  time: string;
}

export interface VerifyOptions {
  digest: Digest;
  /** Where the file before ended; absent for the first file, and then its own first line is believed. */
  after?: ChainState;
  /** The digest of the last line, noted elsewhere. Without it, a removed end of the file is not found. */
  last?: string;
  /** Number and digest of a line, noted elsewhere. If the file has this line, it must be the same. */
  known?: ChainHead | undefined;
}

/** Follows the lines of one file. */
export class ChainCheck {
  readonly #digest: Digest;
  readonly #known: ChainHead | undefined;
  readonly removals: RemovalNoted[] = [];
  readonly losses: LossNoted[] = [];
  first: First | undefined;
  lines = 0;
  /** Behind the last line; undefined before the first one of the first file. */
  state: ChainState | undefined;

  constructor(digest: Digest, after: ChainState | undefined, known?: ChainHead) {
    this.#digest = digest;
    this.#known = known;
    this.state = after;
  }

  /** Undefined when the line fits. */
  next(text: string): { line: number; reason: string } | undefined {
    this.lines++;
    const broken = (reason: string) => ({ line: this.lines, reason });
    const read = readLine(text, this.#digest);
    if (read === undefined) return broken('the line was changed');
    if (this.state !== undefined && read.seq !== this.state.next)
      return broken(`wanted line number ${this.state.next}, found ${read.seq}: lines are missing, or not in order`);
    if (this.state !== undefined && read.previous !== this.state.previous)
      return broken('it was written after another line than the one before it');
    if (read.seq === this.#known?.line && read.digest !== this.#known.digest)
      return broken(`line number ${read.seq} is not the one that the store has seen`);
    this.first ??= { seq: read.seq, previous: read.previous };
    const removal = removalIn(read);
    if (removal !== undefined) this.removals.push(removal);
    const loss = lossIn(read);
    if (loss !== undefined) this.losses.push(loss);
    this.state = { next: read.seq + 1, previous: read.digest };
    return undefined;
  }
}

export function verifyChain(text: string, options: VerifyOptions): VerifiedChain {
  const lines = text.split('\n');
  const rest = lines.pop() ?? '';
  const check = new ChainCheck(options.digest, options.after, options.known);
  for (const line of lines) {
    const broken = check.next(line);
    if (broken !== undefined) return { kind: 'broken', ...broken };
  }
  const broken = (reason: string): VerifiedChain => ({ kind: 'broken', line: lines.length + 1, reason });
  if (!looksTorn(rest)) return broken('another program wrote the end of the file');
  const { state: end = beginning, first, removals, losses } = check;
  if (options.last !== undefined && end.previous !== options.last)
    return broken('the file ends too early: its last line is not the known one');
  const whole = { lines: lines.length, state: end, torn: rest !== '', removals, losses };
  return { kind: 'whole', ...whole, ...(first === undefined ? {} : { first }) };
}

function removalIn({ entry: { stage, through, last, time } }: ReadLine): RemovalNoted | undefined {
  if (stage !== 'removed' || typeof through !== 'number' || typeof last !== 'string') return undefined;
  return { through, last, time: String(time) };
}

function lossIn({ entry: { stage, of, after, seen, time } }: ReadLine): LossNoted | undefined {
  if (stage !== 'lost' || typeof after !== 'number' || typeof seen !== 'number') return undefined;
  return { of: String(of), after, seen, time: String(time) };
}

/** Several files in their order, each going on where the one before ended. Each text is forgotten before the next is read. */
export async function verifyFiles(
  files: readonly { name: string; read(): Promise<string> }[],
  options: VerifyOptions,
): Promise<{ name: string; result: VerifiedChain }[]> {
  const { last, ...shared } = options;
  let after = options.after;
  const found: { name: string; result: VerifiedChain }[] = [];
  for (const [index, { name, read }] of files.entries()) {
    const isLast = index === files.length - 1;
    const given = {
      ...shared,
      ...(after === undefined ? {} : { after }),
      ...(isLast && last !== undefined ? { last } : {}),
    };
    const result = verifyChain(await read(), given);
    // A torn line in the middle was cut off by hand, not by a crash of the last writer.
    if (result.kind === 'whole') after = result.state;
    found.push({ name, result });
  }
  return found;
}

/** What is known of the lines before the first file. */
export type Before =
  | { kind: 'nothing' }
  /** A line of the log says that they were removed. */
  | { kind: 'removed'; through: number; time: string }
  /** Somebody moved the files away, or the files are not given. */
  | { kind: 'elsewhere'; through: number };

export function linesBefore(results: readonly VerifiedChain[]): Before {
  const whole = results.filter((result) => result.kind === 'whole');
  const [one] = results;
  if (one?.kind !== 'whole' || one.first === undefined || one.first.seq === 1) return { kind: 'nothing' };
  const { seq, previous } = one.first;
  const noted = whole
    .flatMap(({ removals }) => removals)
    .find(({ through, last }) => through === seq - 1 && last === previous);
  return noted === undefined
    ? { kind: 'elsewhere', through: seq - 1 }
    : { kind: 'removed', through: noted.through, time: noted.time };
}
