// Checks whether a file of chained lines is complete. It names the first wrong line and its fault.
import { beginning, type ChainState, type Digest, readLine } from './chain.ts';

export type Verified =
  /** `state` is the state for the next file. A torn last line comes from a crash; it was never acknowledged. */
  | { kind: 'whole'; lines: number; state: ChainState; torn: boolean }
  /** `line` counts from 1. */
  | { kind: 'broken'; line: number; reason: string };

export interface VerifyOptions {
  digest: Digest;
  /** Where the file before ended; absent for the first file, and then its own first line is believed. */
  after?: ChainState;
  /** The digest of the last line, noted elsewhere. Without it, a removed end of the file is not found. */
  last?: string;
}

export function verifyChain(text: string, options: VerifyOptions): Verified {
  const lines = text.split('\n');
  const rest = lines.pop() ?? '';
  let state = options.after;
  for (const [index, line] of lines.entries()) {
    const read = readLine(line, options.digest);
    if (read === undefined) return { kind: 'broken', line: index + 1, reason: 'the line was changed' };
    if (state !== undefined && read.seq !== state.next) {
      const reason = `wanted line number ${state.next}, found ${read.seq}: lines are missing, or not in order`;
      return { kind: 'broken', line: index + 1, reason };
    }
    if (state !== undefined && read.previous !== state.previous)
      return { kind: 'broken', line: index + 1, reason: 'it follows another line than the one before it' };
    state = { next: read.seq + 1, previous: read.digest };
  }
  const end = state ?? beginning;
  if (options.last !== undefined && end.previous !== options.last)
    return {
      kind: 'broken',
      line: lines.length + 1,
      reason: 'the file ends too early: its last line is not the known one',
    };
  return { kind: 'whole', lines: lines.length, state: end, torn: rest !== '' };
}

/** Several files in their order, each going on where the one before ended. */
export function verifyFiles(
  files: readonly { name: string; text: string }[],
  options: VerifyOptions,
): { name: string; result: Verified }[] {
  const { last, ...shared } = options;
  let after = options.after;
  return files.map(({ name, text }, index) => {
    const isLast = index === files.length - 1;
    const given = {
      ...shared,
      ...(after === undefined ? {} : { after }),
      ...(isLast && last !== undefined ? { last } : {}),
    };
    const result = verifyChain(text, given);
    // A torn line in the middle was cut off by hand, not by a crash of the last writer.
    if (result.kind === 'whole') after = result.state;
    return { name, result };
  });
}
