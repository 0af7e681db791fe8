// Makes the folder that an option names, with its parents, or says in one sentence that it cannot.
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** mkdirSync() of Node, when told to make the parents, tries for ever where the system makes none, as below /proc. */
export function makeFolder(option: string, folder: string): void {
  try {
    make(resolve(folder));
  } catch (error) {
    throw new Error(`${option} "${folder}": no folder can be made there: ${(error as Error).message}`);
  }
}

/**
 * Empties the folder or makes it. What an earlier run has made there goes; a folder that holds anything else stays as it is, because a slip in an
 * option must not cost somebody a home.
 */
export function makeFolderAnew(option: string, folder: string, { what, of }: { what: string; of: RegExp }): void {
  const found = statSync(folder, { throwIfNoEntry: false });
  const entries = found?.isDirectory() === true ? readdirSync(folder) : [];
  if (entries.length > 0 && !entries.some((name) => of.test(name)))
    throw new Error(
      `${option} "${folder}": the folder holds something, and it is no ${what}: name another one, or empty it`,
    );
  if (entries.length > 0) rmSync(folder, { recursive: true });
  makeFolder(option, folder);
}

function make(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return;
  if (found === undefined) make(dirname(path));
  mkdirSync(path);
}
