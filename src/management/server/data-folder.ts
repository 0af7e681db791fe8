// Opens the folder of the management API: the database, the secrets that must not lie in it, and its own certificate authority.
// Only the owner of the folder may read it. The database is opened first, because its lock keeps other processes out of the
// folder.
import { randomBytes } from 'node:crypto';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { textOf, writeWhole } from '../../apiserver/tls/secret-files.ts';
import { isRecord } from '../../object/text/json.ts';
import { FieldCipher } from '../keys/secret/field-cipher.ts';
import { Peppers } from '../keys/secret/pepper.ts';
import type { RandomBytes } from '../keys/secret/token.ts';

export interface Secrets {
  peppers: Peppers;
  cipher: FieldCipher;
  /** Proves the audit log. */
  auditKey: Uint8Array;
}

const secretsFile = 'secrets.json';
const secretBytes = 32;

export function databasePath(folder: string): string {
  return join(folder, 'keys.db');
}

/** File names of the chains of lines, without the ending. */
export const auditName = 'audit';
export const revocationsName = 'revocations';

export async function makeDataFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // An existing folder may have another mode.
  await chmod(folder, 0o700);
}

/** For a command that must not make new secrets: undefined when the folder has none. */
export async function readSecrets(folder: string): Promise<Secrets | undefined> {
  const path = join(folder, secretsFile);
  const known = await textOf(path);
  return known === undefined ? undefined : secretsOf(known, path, randomBytes);
}

/** `hasKeys`: the database holds keys already, which lost secrets would silently kill. */
export async function openSecrets(folder: string, random: RandomBytes, hasKeys: boolean): Promise<Secrets> {
  const path = join(folder, secretsFile);
  const known = await textOf(path);
  if (known !== undefined) return secretsOf(known, path, random);
  if (hasKeys)
    throw new Error(`read ${path}: want the secrets of the keys in the database, there is no such file; restore it`);
  const make = () => Buffer.from(random(secretBytes)).toString('base64');
  const made = { peppers: [{ version: 1, bytes: make() }], fieldKey: make(), auditKey: make() };
  const text = `${JSON.stringify(made, undefined, 2)}\n`;
  await writeWhole(path, text);
  return secretsOf(text, path, random);
}

function secretsOf(text: string, path: string, random: RandomBytes): Secrets {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`read ${path}: want JSON, it is damaged; restore it from a backup`);
  }
  const { peppers, fieldKey, auditKey } = isRecord(value) ? value : {};
  if (!Array.isArray(peppers) || typeof fieldKey !== 'string' || typeof auditKey !== 'string')
    throw new Error(`read ${path}: want peppers, fieldKey and auditKey, one of them is missing`);
  const versions = peppers.filter(isRecord).map(({ version, bytes }) => {
    return { version: Number(version), bytes: Buffer.from(String(bytes), 'base64') };
  });
  return {
    peppers: new Peppers(versions),
    cipher: new FieldCipher(Buffer.from(fieldKey, 'base64'), random),
    auditKey: Buffer.from(auditKey, 'base64'),
  };
}
