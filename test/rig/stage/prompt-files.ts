// Reads files at once instead of in Node's thread pool, as long as a run lasts: a read in another thread ends whenever it likes, and
// virtual time would run on meanwhile. What is read, and how it fails, stays as it is.
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

const { readFile, open } = files;
let users = 0;

export function readFilesAtOnce(): void {
  if (++users > 1) return;
  files.readFile = (async (path: string, options?: never) => readFileSync(path, options)) as never;
  files.open = (async (path: string, flags: number) => openAtOnce(path, flags)) as never;
  syncBuiltinESMExports();
}

export function readFilesAsBefore(): void {
  if (--users > 0) return;
  Object.assign(files, { readFile, open });
  syncBuiltinESMExports();
}

/** What the product asks of an open file. */
function openAtOnce(path: string, flags: number) {
  const file = openSync(path, flags);
  return {
    stat: async () => fstatSync(file),
    readFile: async (encoding: BufferEncoding) => readFileSync(file, encoding),
    close: async () => closeSync(file),
  };
}

/** What a daemon or an API server imports only when it needs it: the first run of a process would differ from the second. */
export async function loadModulesBefore(): Promise<void> {
  await Promise.all([
    import('undici'),
    import('@kubernetes/client-node'),
    import('@kubernetes/client-node/dist/config_types.js'),
    import('yaml'),
    import('js-yaml'),
  ]);
}
