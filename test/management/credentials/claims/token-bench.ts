// Tokens as an issuer makes them, and as somebody makes them who should not: a key, a key set, and claims that a test changes.
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { payloadOf, type TokenClaims } from '../../../../src/management/credentials/claims/claims.ts';
import type { KeySet } from '../../../../src/management/credentials/claims/key-set.ts';
import { readKeySet } from '../../../../src/management/credentials/claims/key-set.ts';

export const issuer = 'https://platform.example';
export const audience = 'c1';
export const nowMs = Date.parse('2026-01-01T00:00:00Z');
const now = nowMs / 1000;

export const claims: TokenClaims = {
  issuer,
  audience: [issuer, audience],
  issuedAt: now,
  notBefore: now,
  expires: now + 3_600,
  id: 'jti-1',
  subjectUid: 'uid-alice',
  subjectKind: 'user',
  subjectName: 'alice',
  keyUid: 'uid-key',
  keyName: 'ci',
  generation: 3,
  groups: ['devs'],
  isAdministrator: false,
  clusters: ['c1'],
  projects: { shop: 'user' },
  spaces: ['c1/shop/s1/shop-s1'],
  scopes: [{ clusters: [{ cluster: 'c1' }] }],
  networks: undefined,
};

export interface Signer {
  kid: string;
  privateKey: KeyObject;
  jwk: Record<string, unknown>;
}

export function makeSigner(kid: string): Signer {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return { kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg: 'EdDSA', use: 'sig' } };
}

export const signer = makeSigner('one');
export const keys: KeySet = readKeySet({ keys: [signer.jwk] }) ?? new Map();
export const keySetDocument = { keys: [signer.jwk] };

export function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

export interface Made {
  header?: Record<string, unknown>;
  payload?: Record<string, unknown>;
  by?: Signer;
}

/** With every member replaced that the test gives. */
export function tokenOf({ header = {}, payload = {}, by = signer }: Made = {}): string {
  const signed = `${part({ alg: 'EdDSA', typ: 'dct+jwt', kid: by.kid, ...header })}.${part({ ...payloadOf(claims), ...payload })}`;
  return `${signed}.${sign(null, Buffer.from(signed), by.privateKey).toString('base64url')}`;
}

/** Signed with a text that everybody knows: the public key. */
export function hmacToken(): string {
  const signed = `${part({ alg: 'HS256', typ: 'dct+jwt', kid: signer.kid })}.${part(payloadOf(claims))}`;
  return `${signed}.${createHmac('sha256', String(signer.jwk['x'])).update(signed).digest('base64url')}`;
}

/** With another character in the middle of its signature. */
export function withOther(token: string): string {
  const at = token.length - 40;
  return token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1);
}

/** The payload of a token. */
export function payloadIn(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')) as Record<string, unknown>;
}

/** What is wrong with a token that the right key signed: its claims at a time in seconds, and what the 401 says. */
export const wronglySigned: readonly [string, (now: number) => Record<string, unknown>, string][] = [
  ['for somewhere else', () => ({ aud: ['https://elsewhere.example', 'c9'] }), 'not for this cluster'],
  ['of another platform', () => ({ iss: 'https://elsewhere.example' }), 'comes from another platform'],
  ['after its end', (now) => ({ exp: now - 60 }), 'has expired; create a new one'],
  ['before its beginning', (now) => ({ nbf: now + 600 }), 'compare the clocks'],
  ['without scopes', () => ({ scopes: undefined }), 'lacks claims'],
];
