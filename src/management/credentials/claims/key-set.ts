// Reads the public keys of tokens, by their ids. In: a JWKS document. Out: its Ed25519 keys; all other keys are left out, so that
// no token can choose another algorithm.
import { createPublicKey, type KeyObject } from 'node:crypto';
import { isRecord } from '../../../object/text/json.ts';

/** An issuer has two or three; a document with more is damaged or hostile. */
export const maxKeys = 32;

export type KeySet = ReadonlyMap<string, KeyObject>;

/** Undefined = the document is no key set. */
export function readKeySet(document: unknown): KeySet | undefined {
  const keys = isRecord(document) ? document['keys'] : undefined;
  if (!Array.isArray(keys) || keys.length > maxKeys) return undefined;
  const found = new Map<string, KeyObject>();
  for (const jwk of keys) {
    const key = isRecord(jwk) ? publicKeyOf(jwk) : undefined;
    if (key !== undefined && isRecord(jwk)) found.set(String(jwk['kid']), key);
  }
  return found;
}

function publicKeyOf(jwk: Record<string, unknown>): KeyObject | undefined {
  const { kty, crv, x, kid, alg = 'EdDSA', use = 'sig' } = jwk;
  if (kty !== 'OKP' || crv !== 'Ed25519' || alg !== 'EdDSA' || use !== 'sig') return undefined;
  if (typeof x !== 'string' || typeof kid !== 'string' || kid === '') return undefined;
  try {
    return createPublicKey({ key: { kty, crv, x }, format: 'jwk' });
  } catch {
    return undefined;
  }
}
