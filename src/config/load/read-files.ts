// Reads configuration files from the file system. Each result holds the bytes or the reason for their absence. Never throws,
// and never waits for anything except the disk: a path that is not a file is refused before it is opened.
import { constants, type Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { maxFileBytes, type SourceFile } from '../yaml/source-text.ts';

export type ReadFile = (path: string) => Promise<SourceFile>;

/** Paths of streams that were open at the start of the process, such as standard input and the `<(…)` of a shell. */
const handedOver = /^\/(?:dev\/stdin|dev\/fd\/\d+|proc\/self\/fd\/\d+)$/;

export async function readConfigurationFile(path: string): Promise<SourceFile> {
  try {
    const isHandedOver = handedOver.test(path);
    const refused = refusalOf(path, await stat(path), isHandedOver);
    if (refused !== undefined) return refused;
    // Non-blocking: a pipe may have replaced the file since, and opening a pipe without a writer waits for ever.
    const flags = constants.O_RDONLY | (isHandedOver ? 0 : constants.O_NONBLOCK);
    await using file = await open(path, flags);
    const now = await file.stat();
    const refusedNow = refusalOf(path, now, isHandedOver);
    if (refusedNow !== undefined) return refusedNow;
    // A file can grow and a pipe has no size, so reading stops after one byte more than the limit.
    const chunks: Uint8Array[] = [];
    let length = 0;
    while (length <= maxFileBytes) {
      const { bytesRead, buffer } = await file.read(new Uint8Array(64 * 1024));
      if (bytesRead === 0) break;
      chunks.push(buffer.subarray(0, bytesRead));
      length += bytesRead;
    }
    const text = Buffer.concat(chunks);
    return now.isFile() ? { name: path, text } : { name: path, text, isStream: true };
  } catch (cause) {
    return problemOf(path, cause);
  }
}

function refusalOf(name: string, found: Stats, isHandedOver: boolean): SourceFile | undefined {
  if (found.isDirectory()) return { name, problem: 'directory' };
  if (found.isFile()) return found.size > maxFileBytes ? { name, problem: 'too-large', bytes: found.size } : undefined;
  if (isHandedOver) return undefined;
  if (found.isFIFO()) return { name, problem: 'no-file', what: 'a named pipe' };
  if (found.isSocket()) return { name, problem: 'no-file', what: 'a socket' };
  return { name, problem: 'no-file', what: 'a device' };
}

export async function readConfigurationFiles(paths: readonly string[], read: ReadFile): Promise<SourceFile[]> {
  const files: SourceFile[] = [];
  // Sequentially, because a pipe that is given twice must be read in order.
  for (const path of paths) files.push(await read(path));
  return files;
}

export const closedFile = 'a file that this process may not read';

const reasons: Record<string, string> = {
  EACCES: closedFile,
  EPERM: closedFile,
  ELOOP: 'symbolic links in a circle',
  EMFILE: 'no free file descriptor',
};

function problemOf(name: string, cause: unknown): SourceFile {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  if (code === 'ENOENT' || code === 'ENOTDIR') return { name, problem: 'missing' };
  if (code === 'EISDIR') return { name, problem: 'directory' };
  return {
    name,
    problem: 'unreadable',
    reason: reasons[code] ?? `an error of the file system (${code || String(cause)})`,
  };
}
