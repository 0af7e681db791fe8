// Reads and writes the files of a server's secrets: private keys, peppers. In: a path and a text. Out: a file that is whole on the
// disk, for its owner alone.
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, link, mkdir, open, readFile, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A file or folder that a setting names cannot be used. Who knows the settings finds the one that names it. */
export class NamedFileFault extends Error {
  readonly file: string;
  /** Last key of the setting, where one file may be in several. */
  readonly member: string | undefined;

  constructor(file: string, why: string, member?: string) {
    super(why);
    this.name = 'NamedFileFault';
    this.file = file;
    this.member = member;
  }
}

/** Makes a folder with its parents. mkdir() of Node, when told to make the parents, tries for ever where the system makes none, as below /proc. */
export async function makeFolder(path: string, mode: number): Promise<void> {
  if (await isFolder(path)) return;
  await makeFolder(dirname(path), mode);
  try {
    await mkdir(path, { mode });
  } catch (error) {
    // Another process may have made it in the meantime.
    if (!(await isFolder(path))) throw error;
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** For a folder that cannot be made or written. */
export function folderFault(folder: string, error: unknown): NamedFileFault {
  return new NamedFileFault(folder, `cannot write in "${folder}": ${folderReason(error)}`);
}

function folderReason(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return folderReasons[code] ?? message;
}

/** Why a folder can neither be used nor made; undefined when it can. Makes nothing, so that a mere question leaves no trace. */
export async function folderProblem(path: string): Promise<string | undefined> {
  try {
    const found = await nearest(path);
    if (!found.isFolder) return found.path === path ? folderReasons['EEXIST'] : folderReasons['ENOTDIR'];
    await access(found.path, constants.W_OK | constants.X_OK);
    if (found.path !== path && makesNoFolder.has((await statfs(found.path)).type)) return folderReasons['ENOENT'];
    return undefined;
  } catch (error) {
    return folderReason(error);
  }
}

/** File systems that the kernel makes up: access() allows root to write there, and mkdir() fails. proc, sysfs, devpts. */
const makesNoFolder: ReadonlySet<number> = new Set([0x9fa0, 0x62656572, 0x1cd1]);

/** The path itself, or the nearest folder above it that exists. */
async function nearest(path: string): Promise<{ path: string; isFolder: boolean }> {
  try {
    return { path, isFolder: (await stat(path)).isDirectory() };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if ((code !== 'ENOENT' && code !== 'ENOTDIR') || dirname(path) === path) throw error;
    return nearest(dirname(path));
  }
}

const folderReasons: Readonly<Record<string, string>> = {
  ENOENT: 'the system makes no folder there',
  ENOTDIR: 'a part of the path is a file',
  EEXIST: 'it is a file, not a folder',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'its file system is read-only',
  ENOSPC: 'no space is left on its disk',
  EDQUOT: 'its disk quota is used up',
};

/** Undefined when there is no such file. */
export async function textOfFile(path: string): Promise<string | undefined> {
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

/** Of several processes that make the file at the same time one has made it, and each returns what is there then. */
export async function writeOnce(path: string, text: string): Promise<string> {
  const own = `${path}.${randomBytes(6).toString('hex')}`;
  await writeWhole(own, text);
  try {
    await link(own, path);
    return text;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST') return await withoutLinks(path, text, error);
    return (await textOfFile(path)) ?? text;
  } finally {
    await rm(own, { force: true });
  }
}

/** Some file systems of several machines know no second name of a file. */
async function withoutLinks(path: string, text: string, cause: unknown): Promise<string> {
  const { code = '' } = cause as NodeJS.ErrnoException;
  if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(code)) throw cause;
  try {
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    return text;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return (await textOfFile(path)) ?? text;
  }
}
