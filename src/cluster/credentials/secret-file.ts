// Reads one small file that credentials or a configuration name, and explains a failure in words.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { ClusterFault } from '../errors.ts';
import { messageOf } from '../errors.ts';

/** The trimmed text of a file that credentials name, or undefined and one fault more. */
export async function readSecretFile(path: string, what: string, faults: ClusterFault[]): Promise<string | undefined> {
  const fault = (message: string, fix: string): undefined => {
    faults.push({ code: 'CLUSTER_CREDENTIALS_UNREADABLE', message, fix });
  };
  try {
    const text = (await readNamedFile(path)).trim();
    if (text !== '') return text;
    return fault(`reading the ${what} "${path}": the file is empty`, 'write the file again; while it rotates, wait');
  } catch (error) {
    return fault(`reading the ${what} "${path}": ${reasonOf(error)}`, 'check the path and the permissions of the file');
  }
}

/** A pipe or a device would be waited for without an end, and not even SIGTERM would end the process. */
export async function readNamedFile(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    if (!found.isFile() && !found.isDirectory())
      throw new Error(`it is ${found.isFIFO() ? 'a named pipe' : 'a device'}, not a file`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** The reason in words for the file errors that people meet. */
export function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EISDIR') return 'it is a directory, not a file';
  if (code === 'EACCES' || code === 'EPERM') return 'no permission to read it';
  if (code === 'ENOTDIR') return 'a part of the path is not a directory';
  return messageOf(error);
}

export function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT';
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
