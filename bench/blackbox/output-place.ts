// Whether a result will have a place, asked before a measurement of minutes.
import { closeSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** Why no file can be written there, as the rest of a sentence that begins with its name. */
export function whyNoFile(file: string): string | undefined {
  const path = resolve(file);
  try {
    const before = statSync(path, { throwIfNoEntry: false });
    if (before?.isDirectory() === true) return ' is a folder: name a file in it';
    if (statSync(dirname(path), { throwIfNoEntry: false })?.isDirectory() !== true) return ': there is no such folder';
    // Opening a pipe would wait for its reader.
    if (before !== undefined && !before.isFile()) return undefined;
    // Only an attempt says it: below /proc root may write, and cannot.
    closeSync(openSync(path, 'a'));
    if (before === undefined) rmSync(path);
    return undefined;
  } catch (error) {
    return `: cannot be written: ${(error as Error).message}`;
  }
}

/** The same of a folder for files, which is made when only itself is missing: Node, told to make its parents too, tries for ever below /proc. */
export function whyNoFolder(folder: string): string | undefined {
  try {
    if (statSync(folder, { throwIfNoEntry: false }) === undefined) mkdirSync(folder);
    return whyNoFile(join(folder, '.hostward-bench'));
  } catch (error) {
    return `: cannot be made: ${(error as Error).message}`;
  }
}
