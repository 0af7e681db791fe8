// The file in dataDir in which a replica remembers its name and what it knows of its store, for the next start.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { textOfFile, writeWhole } from '../../../apiserver/tls/secret-files.ts';
import { isRecord, parsedJson } from '../../../object/text/json.ts';
import { replicaFile } from '../../keys/folder/data-folder.ts';

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
  const path = join(folder, replicaFile);
  const text = await textOfFile(path);
  if (text !== undefined) {
    const known = parsedJson(text);
    if (isRecord(known) && typeof known['replica'] === 'string') return known as unknown as ReplicaFile;
    throw new Error(`read ${path}: wanted the name of this replica, found a damaged file; remove it`);
  }
  const made: ReplicaFile = { replica: randomBytes(5).toString('hex') };
  await writeReplica(folder, made);
  return made;
}

export async function writeReplica(folder: string, known: ReplicaFile): Promise<void> {
  await writeWhole(join(folder, replicaFile), `${JSON.stringify(known)}\n`);
}
