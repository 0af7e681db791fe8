// What a replica keeps in dataDir beside its logs: a file in which it remembers its name and what it knows of its store, for the next start,
// and a lock.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { textOfFile, writeWhole } from '../../../apiserver/tls/secret-files.ts';
import { isRecord, parsedJson } from '../../../object/text/json.ts';
import { StoreFault } from '../../../store/errors.ts';
import { replicaFile } from '../../keys/folder/data-folder.ts';

const lockFile = 'replica.lock';
/** Of SQLite. */
const busy = 5;

/** What a replica knows of itself and of its store. */
export interface ReplicaFile {
  replica: string;
  epoch?: string;
  /** The name in the seals of its records. */
  store?: string;
  /** How far it had read when it said so last in the store: a store that knows less was set back. */
  told?: number;
  /** The epoch in which this replica saw that the host was set back; over with the next one. */
  setBackIn?: string;
}

export async function replicaIn(folder: string): Promise<ReplicaFile> {
  const known = await knownReplicaIn(folder);
  if (known !== undefined) return known;
  const made: ReplicaFile = { replica: randomBytes(5).toString('hex') };
  await writeReplica(folder, made);
  return made;
}

/** Undefined in a folder of no replica. */
export async function knownReplicaIn(folder: string): Promise<ReplicaFile | undefined> {
  const path = join(folder, replicaFile);
  const text = await textOfFile(path);
  if (text === undefined) return undefined;
  const known = parsedJson(text);
  if (isRecord(known) && typeof known['replica'] === 'string') return known as unknown as ReplicaFile;
  throw new Error(`read ${path}: wanted the name of this replica, found a damaged file; remove it`);
}

export async function writeReplica(folder: string, known: ReplicaFile): Promise<void> {
  await writeWhole(join(folder, replicaFile), `${JSON.stringify(known)}\n`);
}

/** Two processes would write one audit log and one journal. */
export function lockOf(folder: string): DatabaseSync {
  const path = join(folder, lockFile);
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(path, { timeout: 0 });
    lock.exec('PRAGMA locking_mode = EXCLUSIVE');
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    if (lock?.isOpen === true) lock.close();
    const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined;
    if (code !== busy) throw new StoreFault('STORE_OPEN_FAILED', `Cannot open "${path}": ${error}`, { cause: error });
    throw new StoreFault('STORE_LOCKED', `Cannot open "${path}": another process has locked it`, { cause: error });
  }
}
