// Looks at the start whether the files of a chain are as they were written, while the server serves. In: the folder as it is now.
// Out: the first line that does not fit. Memory and time are bounded: `hostward audit verify` is the whole look.
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, pause } from '../../../clock.ts';
import { type ChainState, type Digest, maxLineLength } from './chain.ts';
import { chainFiles } from './chain-file.ts';
import { ChainCheck } from './verify.ts';

/** The file that is written and as many full ones as stay by default; more would be read for an hour at every start. */
const mostFiles = 11;
/** Read at a time: its lines are checked in a few milliseconds, which no request notices. */
const pieceBytes = 256 * 1024;
/** After each piece, so that the look takes at most a fifth of a processor. */
const restMs = 20;

export interface FoundDamage {
  file: string;
  /** From 1. */
  line: number;
  reason: string;
}

export interface DamageOptions {
  folder: string;
  /** Name of the log, without the ending. */
  name: string;
  digest: Digest;
  clock: Clock;
  isStopping: () => boolean;
}

/** Opens the files now, and reads them up to their present ends: from here on they may grow, move aside and be removed. */
export async function openForDamage(options: DamageOptions): Promise<() => Promise<FoundDamage | undefined>> {
  const names = (await chainFiles(options.folder, options.name)).slice(-mostFiles);
  const files: OpenFile[] = [];
  try {
    for (const name of names) {
      const handle = await open(join(options.folder, name), 'r');
      files.push({ name, handle, size: 0 });
    }
    for (const file of files) file.size = (await file.handle.stat()).size;
  } catch (error) {
    await closeAll(files);
    throw error;
  }
  return () => findDamage(files, options).finally(() => closeAll(files));
}

interface OpenFile {
  name: string;
  handle: FileHandle;
  size: number;
}

async function closeAll(files: readonly OpenFile[]): Promise<void> {
  for (const { handle } of files) await handle.close();
}

async function findDamage(files: readonly OpenFile[], options: DamageOptions): Promise<FoundDamage | undefined> {
  let after: ChainState | undefined;
  for (const file of files) {
    const check = new ChainCheck(options.digest, after);
    const broken = await checkFile(file, check, options);
    if (broken !== undefined) return { file: file.name, ...broken };
    after = check.state;
  }
  return undefined;
}

async function checkFile({ handle, size }: OpenFile, check: ChainCheck, { clock, isStopping }: DamageOptions) {
  let rest = Buffer.alloc(0);
  const piece = Buffer.alloc(pieceBytes);
  for (let from = 0; from < size && !isStopping(); ) {
    const { bytesRead } = await handle.read(piece, 0, Math.min(pieceBytes, size - from), from);
    // Somebody has cut the file off in the meantime; the next start reports it.
    if (bytesRead === 0) return undefined;
    from += bytesRead;
    const bytes = Buffer.concat([rest, piece.subarray(0, bytesRead)]);
    const end = bytes.lastIndexOf(0x0a);
    rest = bytes.subarray(end + 1);
    const lines = bytes.subarray(0, Math.max(0, end)).toString('utf8').split('\n');
    for (const line of end < 0 ? [] : lines) {
      const broken = check.next(line);
      if (broken !== undefined) return broken;
    }
    if (rest.length > 4 * maxLineLength) return { line: check.lines + 1, reason: 'the line was changed' };
    if (from < size) await pause(clock, restMs);
  }
  return undefined;
}

export function damageText({ file, line, reason }: FoundDamage): string {
  return `${file}:${line}: ${reason}; keep the files as they are, compare them with the copies in your log storage, and run hostward audit verify`;
}
