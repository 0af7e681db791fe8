// The text of an access key: `mpk_<id>_<secret><checksum>`. The id finds the key, the secret proves it, and the checksum
// lets a scanner, and us, tell a mistyped key from a real one without any look-up.
import { crc32 } from 'node:zlib';

/** Cryptographically random bytes. */
export type RandomBytes = (count: number) => Uint8Array;

const prefix = 'mpk_';
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** 96 bits: ids are public, and two of them must never meet. */
const idBytes = 12;
const idLength = 17;
const secretBytes = 32;
const secretLength = 43;
const checksumLength = 6;

const form = new RegExp(`^${prefix}([0-9A-Za-z]{${idLength}})_([0-9A-Za-z]{${secretLength + checksumLength}})$`);

/** Longer texts than any key, supplied ones included, are refused before anything is computed. */
export const maxTokenLength = 256;

export interface NewToken {
  text: string;
  id: string;
}

/** With the id of a key whose secret is replaced, or with a new one. */
export function makeToken(random: RandomBytes, id = base62(random(idBytes), idLength)): NewToken {
  const secret = base62(random(secretBytes), secretLength);
  const body = `${prefix}${id}_${secret}`;
  return { text: body + checksumOf(body), id };
}

export type ReadToken =
  | { kind: 'own'; id: string }
  /** Begins as a generated key does and is not one: mistyped, cut or made up. */
  | { kind: 'malformed' }
  /** May be the value of a key that was supplied. */
  | { kind: 'supplied' };

export function readToken(text: string): ReadToken {
  if (text.length > maxTokenLength || text === '') return { kind: 'malformed' };
  if (!text.startsWith(prefix)) return { kind: 'supplied' };
  const id = form.exec(text)?.[1];
  if (id === undefined) return { kind: 'malformed' };
  const body = text.slice(0, -checksumLength);
  return checksumOf(body) === text.slice(-checksumLength) ? { kind: 'own', id } : { kind: 'malformed' };
}

function checksumOf(body: string): string {
  return digits(BigInt(crc32(body)), checksumLength);
}

function base62(bytes: Uint8Array, length: number): string {
  return digits(BigInt(`0x${Buffer.from(bytes).toString('hex')}`), length);
}

function digits(number: bigint, length: number): string {
  let text = '';
  for (let rest = number; text.length < length; rest /= 62n) text = alphabet[Number(rest % 62n)] + text;
  return text;
}
