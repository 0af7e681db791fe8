// Makes the folder that an option names, with its parents, or says in one sentence that it cannot.
import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** mkdirSync() of Node, when told to make the parents, tries for ever where the system makes none, as below /proc. */
export function makeFolder(option: string, folder: string): void {
  try {
    make(resolve(folder));
  } catch (error) {
    throw new Error(`${option} "${folder}": no folder can be made there: ${(error as Error).message}`);
  }
}

function make(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return;
  if (found === undefined) make(dirname(path));
  mkdirSync(path);
}
