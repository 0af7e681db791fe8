// Removes the oldest full files of the audit log. A line of the log itself says first which lines go, so that a verification tells a
// removal on purpose from one by somebody else. In: the folder and how many files stay. Out: files that are gone.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Digest, readLine } from './chain.ts';
import { chainFiles, lastLineOf } from './chain-file.ts';

export interface Removal {
  /** Number and digest of the last line that is removed. */
  through: number;
  last: string;
  files: number;
}

export interface RetentionOptions {
  folder: string;
  /** Name of the log, without the ending. */
  name: string;
  digest: Digest;
  /** Full files that stay next to the one that is written; 0 = all. */
  keep: number;
  /** Resolves when the line about the removal is on the disk. */
  note(removal: Removal): Promise<void>;
}

/** Returns how many files are gone. Throws for a file that was changed: it is evidence, and stays. */
export async function removeOldFiles({ folder, name, digest, keep, note }: RetentionOptions): Promise<number> {
  if (keep === 0) return 0;
  const full = (await chainFiles(folder, name)).filter((file) => file !== `${name}.log`);
  const old = full.slice(0, Math.max(0, full.length - keep));
  const newest = old.at(-1);
  if (newest === undefined) return 0;
  const path = join(folder, newest);
  const line = await lastLineOf(path);
  const read = line === undefined ? undefined : readLine(line, digest);
  if (read === undefined)
    throw new Error(`remove ${path}: its last line was changed; look into the file and move it away`);
  await note({ through: read.seq, last: read.digest, files: old.length });
  // Oldest first, so that a crash leaves no gap in the middle.
  for (const file of old) await rm(join(folder, file), { force: true });
  return old.length;
}
