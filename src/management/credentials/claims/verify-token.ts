// Checks whether a text is a direct token that is valid here and now. The checks run in one order: limits of the text, known key,
// signature, type, issuer, audience, times, revocation. The first failure decides. Pure: keys, revocations and the time are passed
// in.
import { verify } from 'node:crypto';
import { isRecord } from '../../../object/text/json.ts';
import { maxTokenBytes, readClaims, type TokenClaims, tokenType } from './claims.ts';
import type { KeySet } from './key-set.ts';

export type RefusedBecause =
  | 'malformed'
  | 'unknown key'
  | 'signature'
  | 'type'
  | 'claims'
  | 'issuer'
  | 'audience'
  | 'not yet valid'
  | 'expired'
  | 'revoked';

export type Verified = { kind: 'good'; claims: TokenClaims } | { kind: 'refused'; because: RefusedBecause };

/** The clocks of an issuer and an endpoint differ: a token may begin this far ahead, and is valid this long after its end. */
export const aheadSeconds = 60;
export const lateSeconds = 30;

export interface ReadText {
  keyId: string;
  type: unknown;
  /** The part of the text that is signed. */
  signed: string;
  payload: string;
  signature: Buffer;
}

export interface Expected {
  issuer: string;
  audience: string;
}

/** Ed25519 signatures have one length; a text of another length need not be decoded. */
const signatureBytes = 64;
const form = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/;

/** Undefined = this program never issues such a token: too long, not three parts, another algorithm, or unknown extensions. */
export function readText(text: string): ReadText | undefined {
  if (text.length > maxTokenBytes) return undefined;
  const [, header = '', payload = '', signatureText = ''] = form.exec(text) ?? [];
  if (header === '') return undefined;
  const signature = Buffer.from(signatureText, 'base64url');
  // The last character has unused bits. Only one value of these bits is accepted, so that each token has exactly one text.
  if (signature.length !== signatureBytes || signature.toString('base64url') !== signatureText) return undefined;
  const decoded = jsonIn(header);
  if (!isRecord(decoded) || decoded['alg'] !== 'EdDSA' || 'crit' in decoded || 'b64' in decoded) return undefined;
  const { kid, typ } = decoded;
  if (typeof kid !== 'string' || kid === '') return undefined;
  return { keyId: kid, type: typ, signed: `${header}.${payload}`, payload, signature };
}

/** The checks whose result does not change while a token lives, so that it may be cached. */
export function verifyText(text: string, keys: KeySet, { issuer, audience }: Expected): Verified {
  const read = readText(text);
  if (read === undefined) return refused('malformed');
  const key = keys.get(read.keyId);
  if (key === undefined) return refused('unknown key');
  if (!verify(null, Buffer.from(read.signed), key, read.signature)) return refused('signature');
  if (read.type !== tokenType) return refused('type');
  const claims = readClaims(jsonIn(read.payload));
  if (claims === undefined) return refused('claims');
  if (claims.issuer !== issuer) return refused('issuer');
  return claims.audience.includes(audience) ? { kind: 'good', claims } : refused('audience');
}

/** The checks of every use: the times, and whether the key has changed since. */
export function refusedNow(
  claims: TokenClaims,
  nowMs: number,
  isRevoked: (claims: TokenClaims) => boolean,
): RefusedBecause | undefined {
  const latest = nowMs / 1000 + aheadSeconds;
  if (claims.notBefore > latest || claims.issuedAt > latest) return 'not yet valid';
  if (nowMs >= endMs(claims)) return 'expired';
  return isRevoked(claims) ? 'revoked' : undefined;
}

/** When streams of the token end. */
export function endMs({ expires }: TokenClaims): number {
  return (expires + lateSeconds) * 1000;
}

function jsonIn(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}

function refused(because: RefusedBecause): Verified {
  return { kind: 'refused', because };
}

/** Keys never look like this, and supplied keys must not. */
export function looksLikeToken(bearer: string): boolean {
  return bearer.startsWith('eyJ') && bearer.includes('.');
}

/** A sender without a valid signature learns no reason. */
export const unproved: ReadonlySet<RefusedBecause> = new Set(['malformed', 'unknown key', 'signature']);

/** The message of a 401. The holder of a token with a good signature may know its fault. */
export const refusedText: Record<RefusedBecause, string> = {
  malformed: 'Unauthorized',
  'unknown key': 'Unauthorized',
  signature: 'Unauthorized',
  type: 'the token is no direct token',
  claims: 'the token lacks claims of a direct token',
  issuer: 'the token comes from another platform',
  audience: 'the token is not for this cluster',
  'not yet valid': 'the token is not valid yet; compare the clocks',
  expired: 'the token has expired; create a new one',
  revoked: 'the access key of the token was changed, disabled, deleted or has expired; create a new token',
};
