// Finds the record of a key by the text of a bearer token. An unknown id costs as much as a wrong secret: the same look-up, the
// same number of HMACs and comparisons, so that the time of a refusal does not tell whether an id exists.
import type { KeyRecord, StoredSecret } from './key-record.ts';
import { secretSlots } from './key-record.ts';
import type { Peppers, SecretDigest } from './pepper.ts';
import { readToken } from './token.ts';

/** Indexes of the keys that exist; both answer from memory and at once. */
export interface KeyIndex {
  byId(id: string): KeyRecord | undefined;
  /** Among the supplied secrets of all keys. */
  bySupplied(digest: SecretDigest): KeyRecord | undefined;
}

export type CheckedSecret =
  /** `isFormer`: by the value that a rotation left. */
  | { kind: 'proved'; record: KeyRecord; isFormer: boolean }
  /** Not a key by its form: no look-up was made. */
  | { kind: 'malformed' }
  | { kind: 'unknown' };

const zeroDigest = '0'.repeat(64);

export function checkSecret(text: string, index: KeyIndex, peppers: Peppers, nowMs: number): CheckedSecret {
  const token = readToken(text);
  if (token.kind === 'malformed') return token;
  const record = token.kind === 'own' ? index.byId(token.id) : findSupplied(text, index, peppers);
  // A key that does not exist is proved as well, against digests that nothing has.
  const empty: StoredSecret = {
    version: peppers.newest.version,
    digest: zeroDigest,
    validUntilMs: 0,
    isSupplied: false,
  };
  let isProved = false;
  let isFormer = false;
  for (let slot = 0; slot < secretSlots; slot++) {
    const secret = record?.secrets[slot] ?? empty;
    const isRight = peppers.proves(text, secret);
    const isInTime = secret.validUntilMs === undefined || nowMs < secret.validUntilMs;
    isProved = isProved || (isRight && isInTime);
    isFormer = slot > 0 && isRight;
  }
  return record !== undefined && isProved ? { kind: 'proved', record, isFormer } : { kind: 'unknown' };
}

function findSupplied(text: string, index: KeyIndex, peppers: Peppers): KeyRecord | undefined {
  const found = peppers.digests(text).map((digest) => index.bySupplied(digest));
  return found.find((record) => record !== undefined);
}
