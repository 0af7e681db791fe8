// Opens the folder of the management API: the database, the secrets that must not lie in it, and its own certificate authority.
// Only the owner of the folder may read it. The database is opened first, because its lock keeps other processes out of the
// folder.
import { hkdfSync, randomBytes } from 'node:crypto';
import { access, chmod, constants, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { folderFault, makeFolder, textOfFile, writeOnce } from '../../../apiserver/tls/secret-files.ts';
import { isRecord } from '../../../object/text/json.ts';
import type { SealKey } from '../../../store/kubernetes/trust/seals.ts';
import type { Store } from '../../../store/store.ts';
import { FieldCipher } from '../secret/field-cipher.ts';
import { Peppers, type SecretDigest } from '../secret/pepper.ts';
import type { RandomBytes } from '../secret/token.ts';

export interface Secrets {
  peppers: Peppers;
  cipher: FieldCipher;
  /** Proves the audit log. */
  auditKey: Uint8Array;
  /** Seal the records of a store that others can write. */
  sealKeys: readonly SealKey[];
}

const secretsName = 'secrets.json';
const databaseName = 'keys.db';
/** Names a replica whose records are in a cluster. */
export const replicaFile = 'replica.json';
export const secretBytes = 32;

export function databasePath(folder: string): string {
  return join(folder, databaseName);
}

/** File names of the chains of lines, without the ending. */
export const auditName = 'audit';
export const revocationsName = 'revocations';
/** The keys that sign direct tokens; in no backup. */
export const tokenKeysFile = 'token-keys.json';

export async function makeDataFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder, 0o700);
    // An existing folder may have another mode.
    await chmod(folder, 0o700);
    // Not a write: on a full disk the server starts and answers reads.
    await access(folder, constants.W_OK);
  } catch (error) {
    throw folderFault(folder, error);
  }
}

/** Whether no server has used the folder; a folder that cannot be read has its own fault when it is opened. */
export async function isUnused(folder: string): Promise<boolean> {
  try {
    const names = await readdir(folder);
    return ![databaseName, secretsName, replicaFile].some((name) => names.includes(name));
  } catch (thrown) {
    return isRecord(thrown) && thrown['code'] === 'ENOENT';
  }
}

/** The name of the replica that uses the folder; undefined where none with a store in a cluster has. */
export async function replicaOf(folder: string): Promise<string | undefined> {
  try {
    const known: unknown = JSON.parse((await textOfFile(join(folder, replicaFile))) ?? '');
    return isRecord(known) && typeof known['replica'] === 'string' ? known['replica'] : undefined;
  } catch {
    return undefined;
  }
}

/** For a command that must not make new secrets: undefined when the folder has none. */
export async function readSecrets(folder: string): Promise<Secrets | undefined> {
  const path = join(folder, secretsName);
  const known = await textOfFile(path);
  return known === undefined ? undefined : secretsOf(known, path, randomBytes);
}

/** `hasKeys`: the database holds keys already, which lost secrets would silently kill. */
export async function openSecrets(folder: string, random: RandomBytes, hasKeys: boolean): Promise<Secrets> {
  const path = join(folder, secretsName);
  const known = await textOfFile(path);
  if (known !== undefined) return secretsOf(known, path, random);
  if (hasKeys)
    throw new Error(`read ${path}: wanted the secrets of the keys in the database, found no such file; ${wayOut}`);
  const make = () => Buffer.from(random(secretBytes)).toString('base64');
  const made = { peppers: [{ version: 1, bytes: make() }], fieldKey: make(), auditKey: make() };
  // Several replicas may make the secrets of their common folder at the same time.
  const there = await writeOnce(path, `${JSON.stringify(made, undefined, 2)}\n`);
  return secretsOf(there, path, random);
}

function secretsOf(text: string, path: string, random: RandomBytes): Secrets {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`read ${path}: wanted JSON, found a damaged file; ${wayOut}`);
  }
  const { peppers, fieldKey, auditKey, sealKeys } = isRecord(value) ? value : {};
  if (!Array.isArray(peppers) || typeof fieldKey !== 'string' || typeof auditKey !== 'string')
    throw new Error(`read ${path}: one of peppers, fieldKey and auditKey is missing; ${wayOut}`);
  const versions = peppers.filter(isRecord).map(({ version, bytes }) => {
    return { version: Number(version), bytes: Buffer.from(String(bytes), 'base64') };
  });
  const audit = Buffer.from(auditKey, 'base64');
  if (audit.length < secretBytes)
    throw new Error(`read ${path}: wanted an auditKey of ${secretBytes} bytes, found ${audit.length}; ${wayOut}`);
  try {
    const cipher = new FieldCipher(Buffer.from(fieldKey, 'base64'), random);
    return { peppers: new Peppers(versions), cipher, auditKey: audit, sealKeys: sealKeysOf(sealKeys, audit) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`read ${path}: ${why}; ${wayOut}`, { cause: error });
  }
}

/** The first one comes from the key of the audit log, so that secrets from before have one; more are written down. */
function sealKeysOf(more: unknown, auditKey: Uint8Array): SealKey[] {
  const first = new Uint8Array(hkdfSync('sha256', auditKey, '', 'hostward record seals', secretBytes));
  const written = (Array.isArray(more) ? more : []).filter(isRecord).map(({ version, bytes }): SealKey => {
    const key = Buffer.from(String(bytes), 'base64');
    if (!Number.isSafeInteger(version) || Number(version) < 2 || key.length < secretBytes)
      throw new Error(`one of sealKeys has no version above 1, or fewer than ${secretBytes} bytes`);
    return { version: Number(version), bytes: key };
  });
  return [{ version: 1, bytes: first }, ...written];
}

const wayOut = 'bring it back from a backup, or see `hostward docs bad-days` for a lost pepper';

const ofTwo =
  'give all replicas the same secretsDir, and another installation a namespace of its own: `hostward doctor` says which it is';

export const proofKey = '/management/secrets-proof';
const proofText = 'hostward';

/** `late`: keys are made with a newer pepper, which this folder lacks. */
export type SecretsCheck = { kind: 'good'; inUse: number } | { kind: 'late'; wanted: number };

/**
 * Sealed with the secrets that the keys were made with: other secrets would silently kill every key. The newest pepper in the proof is
 * the one that new keys are made with. `isShared`: others have the store too, and must have a newer pepper before it is used.
 */
export async function checkSecrets(
  store: Pick<Store, 'get' | 'write'>,
  secrets: Pick<Secrets, 'peppers' | 'cipher'>,
  { folder, isShared }: { folder: string; isShared: boolean },
): Promise<SecretsCheck> {
  const { peppers } = secrets;
  const { record } = await store.get(proofKey, { fresh: true });
  if (record !== undefined && !provesSecrets(record.value, secrets))
    throw new Error(
      `read ${join(folder, secretsName)}: the secrets belong to another server, so that every key of the database would be refused; ${isShared ? ofTwo : wayOut}`,
    );
  const known = record === undefined ? undefined : pepperInUse(record.value, peppers);
  if (known?.isHere === false) return { kind: 'late', wanted: known.version };
  const now = proofOf(secrets, Number.POSITIVE_INFINITY);
  if (known !== undefined && (isShared || samePeppers(record?.value, now)))
    return { kind: 'good', inUse: known.version };
  const written = await store.write(proofKey, { expect: record?.revision ?? 0, value: now });
  // Two replicas with secrets of their own may both find an empty store; one of them was first.
  if (!written.ok) return checkSecrets(store, secrets, { folder, isShared });
  return { kind: 'good', inUse: peppers.versions[0]?.version ?? 0 };
}

/** Of a record that a store keeps of its secrets: the pepper that new keys are made with, and whether it is among these. */
export function pepperInUse(proof: string, peppers: Peppers): { version: number; isHere: boolean } {
  const known = JSON.parse(proof) as SecretsProof;
  const newest = known.peppers.toSorted((a, b) => b.version - a.version)[0];
  if (newest === undefined) return { version: 0, isHere: false };
  const { version, digest } = newest;
  return { version, isHere: peppers.digestUnder(version, proofText).includes(digest) };
}

/** Up to a version, which becomes the one in use. */
export function proofOf({ peppers, cipher }: Pick<Secrets, 'peppers' | 'cipher'>, upTo: number): string {
  const digests = peppers.digests(proofText).filter(({ version }) => version <= upTo);
  const proof: SecretsProof = { peppers: digests, sealed: cipher.seal(proofText, proofKey) };
  return JSON.stringify(proof);
}

/** Whether two records that stores keep of their secrets are about the same peppers. */
export function samePeppers(one: string | undefined, other: string): boolean {
  const peppersIn = (text: string) => JSON.stringify((JSON.parse(text) as SecretsProof).peppers);
  return one !== undefined && peppersIn(one) === peppersIn(other);
}

/** `proof`: the value of the record that a store keeps of its secrets. */
export function provesSecrets(proof: string, { peppers, cipher }: Pick<Secrets, 'peppers' | 'cipher'>): boolean {
  const known = JSON.parse(proof) as SecretsProof;
  const isOfThese = known.peppers.some(({ version, digest }) =>
    peppers.digestUnder(version, proofText).includes(digest),
  );
  return isOfThese && cipher.open(known.sealed, proofKey) === proofText;
}

interface SecretsProof {
  peppers: readonly SecretDigest[];
  sealed: string;
}
