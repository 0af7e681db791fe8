// Takes a backup of a management API that has its folder open, whether it serves or not. In: the database, dataDir, a new folder.
// Out: the manifest. Requests go on while the database copies itself.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, open, readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { makeFolder, writeWhole } from '../../../apiserver/tls/secret-files.ts';
import type { Pepper } from '../../keys/secret/pepper.ts';
import {
  type BackupFile,
  databaseName,
  fingerprintsOf,
  type Manifest,
  manifestName,
  manifestText,
  sha256,
} from './backup-manifest.ts';

export interface BackupSource {
  /** Where the secrets lie. */
  secretsDir: string;
  copyDatabase(path: string): Promise<void>;
  currentRevision(): Promise<number>;
  peppers: readonly Pepper[];
  now: Date;
}

/** `taken`: the folder is not empty. */
export type BackupTaken = { kind: 'done'; manifest: Manifest } | { kind: 'taken' };

/**
 * Not copied as a secret: the database, the logs, sockets, what a crash or a restore left, the name of a replica, and the keys of
 * direct tokens, which a restore makes again.
 */
const notSecret =
  /^(?:keys\.db.*|replica\..*|token-keys\.json|(?:audit|revocations)(?:-\d+)?\.log.*|.*\.sock|.*\.new)$/;
const deepest = 3;
/** Hostward makes a handful of keys and certificates; a dataDir with more files has files of another program. */
const mostFiles = 1000;
const largestFile = 1024 * 1024;

export async function takeBackup(source: BackupSource, to: string, withSecrets: boolean): Promise<BackupTaken> {
  if (!(await isFree(to))) return { kind: 'taken' };
  await makeFolder(to, 0o700);
  await chmod(to, 0o700);
  try {
    return { kind: 'done', manifest: await copyInto(source, to, withSecrets) };
  } catch (error) {
    // Without the removal, half a backup could be mistaken for a complete one.
    await rm(to, { recursive: true, force: true });
    throw error;
  }
}

async function copyInto(source: BackupSource, to: string, withSecrets: boolean): Promise<Manifest> {
  const { secretsDir, now, peppers } = source;
  // Taken before the copy: a restore then repeats some revocations that the copy already has, which does no harm.
  const revision = await source.currentRevision();
  const database = join(to, databaseName);
  await source.copyDatabase(database);
  const secrets = await secretFiles(secretsDir);
  const files: BackupFile[] = [{ name: databaseName, sha256: await digestOf(database) }];
  if (withSecrets) for (const name of secrets) files.push(await copied(secretsDir, to, name));
  const leftOut = withSecrets ? [] : secrets;
  const madeAt = now.toISOString();
  const manifest = { madeAt, revision, files, leftOut, peppers: fingerprintsOf(peppers) };
  await writeWhole(join(to, manifestName), manifestText(manifest));
  await syncFolder(to);
  return manifest;
}

async function isFree(folder: string): Promise<boolean> {
  try {
    return (await readdir(folder)).length === 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true;
    throw error;
  }
}

/** Names of the files of a folder that hold secrets, relative to it. */
async function secretFiles(folder: string, below = '', depth = 1): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
    const name = below === '' ? entry.name : `${below}/${entry.name}`;
    if (notSecret.test(entry.name)) continue;
    if (entry.isFile()) found.push(name);
    else if (entry.isDirectory() && depth < deepest) found.push(...(await secretFiles(folder, name, depth + 1)));
    if (found.length > mostFiles) throw new Error(`back up ${folder}: want at most ${mostFiles} files, there are more`);
  }
  return found.sort();
}

async function copied(from: string, to: string, name: string): Promise<BackupFile> {
  const bytes = await readFile(join(from, name));
  if (bytes.length > largestFile)
    throw new Error(`back up ${join(from, name)}: want at most ${largestFile} bytes, it has ${bytes.length}`);
  const path = join(to, name);
  await makeFolder(dirname(path), 0o700);
  await writeWhole(path, bytes.toString('utf8'));
  return { name, sha256: sha256(bytes) };
}

export async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** Without this, a power loss could remove the new files from their folder. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
