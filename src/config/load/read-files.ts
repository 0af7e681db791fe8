// Configuration files from the file system, each as its bytes or as the reason why there are none. Nothing is thrown.
import { open } from 'node:fs/promises';
import { maxFileBytes, type SourceFile } from '../yaml/source-text.ts';

export type ReadFile = (path: string) => Promise<SourceFile>;

export async function readConfigurationFile(path: string): Promise<SourceFile> {
  try {
    await using file = await open(path, 'r');
    const stat = await file.stat();
    if (stat.isDirectory()) return { name: path, problem: 'directory' };
    if (stat.size > maxFileBytes) return { name: path, problem: 'too-large', bytes: stat.size };
    // A file can grow, and a pipe has no size: one byte more than allowed is enough to know.
    const chunks: Uint8Array[] = [];
    let length = 0;
    while (length <= maxFileBytes) {
      const { bytesRead, buffer } = await file.read(new Uint8Array(64 * 1024));
      if (bytesRead === 0) break;
      chunks.push(buffer.subarray(0, bytesRead));
      length += bytesRead;
    }
    const text = Buffer.concat(chunks);
    return stat.isFile() ? { name: path, text } : { name: path, text, isStream: true };
  } catch (cause) {
    return problemOf(path, cause);
  }
}

export async function readConfigurationFiles(paths: readonly string[], read: ReadFile): Promise<SourceFile[]> {
  const files: SourceFile[] = [];
  // One after the other: the same pipe given twice must be read in order.
  for (const path of paths) files.push(await read(path));
  return files;
}

const reasons: Record<string, string> = {
  EACCES: 'a file that this process may not read',
  EPERM: 'a file that this process may not read',
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
