// A backup is a folder with a copy of the database, copies of the files of dataDir that must not lie in the database, and this
// manifest, the list of both. The manifest is written last, so that a folder with a manifest is a complete backup.
import { createHash } from 'node:crypto';
import { isRecord } from '../../../object/text/json.ts';
import type { Pepper } from '../../keys/secret/pepper.ts';

export const manifestName = 'manifest.json';
export const databaseName = 'keys.db';
export const secretsName = 'secrets.json';
const format = 1;

export interface BackupFile {
  /** Relative to the folder, with slashes. */
  name: string;
  /** In hex. */
  sha256: string;
}

export interface Manifest {
  /** RFC 3339. */
  madeAt: string;
  /** Everything up to this revision is in the copy. */
  revision: number;
  /** The database first. */
  files: readonly BackupFile[];
  /** Files of dataDir that were left out. */
  leftOut: readonly string[];
  /** Which secrets prove the keys of the copy, without the secrets. */
  peppers: readonly { version: number; fingerprint: string }[];
}

export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify({ format, ...manifest }, undefined, 2)}\n`;
}

/** Undefined for a text that is no manifest of this format. */
export function readManifest(text: string): Manifest | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value) || value['format'] !== format) return undefined;
  const { madeAt, revision, files, leftOut, peppers } = value;
  const isWhole =
    typeof madeAt === 'string' &&
    typeof revision === 'number' &&
    [files, leftOut, peppers].every(Array.isArray) &&
    (files as unknown[]).every((file) => isRecord(file) && isPlainName(file['name']));
  return isWhole ? (value as unknown as Manifest) : undefined;
}

/** A name must not lead out of the folder that it is written to. */
function isPlainName(name: unknown): boolean {
  return typeof name === 'string' && name.split('/').every((part) => /^[\w.-]+$/.test(part) && !/^\.+$/.test(part));
}

/** The secret has 256 random bits, so its digest reveals nothing about it. */
export function fingerprintsOf(peppers: readonly Pepper[]): Manifest['peppers'] {
  return peppers.map(({ version, bytes }) => ({ version, fingerprint: sha256(bytes).slice(0, 32) }));
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
