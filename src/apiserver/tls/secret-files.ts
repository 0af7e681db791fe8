// Reads and writes the files of a server's secrets: private keys, peppers. In: a path and a text. Out: a file that is whole on the
// disk, for its owner alone.
import { open, readFile, rename } from 'node:fs/promises';

/** Undefined when there is no such file. */
export async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    const remedy = remedies[code];
    if (remedy === undefined) throw error;
    throw new Error(`read ${path}: ${remedy}`, { cause: error });
  }
}

const remedies: Readonly<Record<string, string>> = {
  EISDIR: 'wanted a file, found a folder; move it away, and bring the file back from a backup',
  EACCES: 'this user may not read the file; give it to the user that runs Hostward',
};

/** Renaming prevents half a file after a crash, and the file is on the disk before anything rests on it. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const file = await open(`${path}.new`, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
}
