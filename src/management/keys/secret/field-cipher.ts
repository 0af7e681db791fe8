// Encryption of the hidden fields that are stored: AES-256-GCM under a key that lies outside the database. The uid of the
// object is bound in, so that a value copied to another object does not open there.
import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { RandomBytes } from './token.ts';

const keyBytes = 32;
/** 96 bits, as GCM wants them; a new one for every value. */
const nonceBytes = 12;
const tagBytes = 16;
const version = 'v1';

export class FieldCipher {
  readonly #key: Uint8Array;
  readonly #random: RandomBytes;

  constructor(key: Uint8Array, random: RandomBytes) {
    if (key.length !== keyBytes) throw new Error(`read the field key: wanted ${keyBytes} bytes, found ${key.length}`);
    this.#key = key;
    this.#random = random;
  }

  seal(text: string, uid: string): string {
    const nonce = this.#random(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(uid));
    const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${version}:${sealed.toString('base64')}`;
  }

  /** Undefined when it was sealed under another key, for another object, or has been changed. */
  open(sealed: string, uid: string): string | undefined {
    if (!sealed.startsWith(`${version}:`)) return undefined;
    const bytes = Buffer.from(sealed.slice(version.length + 1), 'base64');
    if (bytes.length < nonceBytes + tagBytes) return undefined;
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(Buffer.from(uid)).setAuthTag(bytes.subarray(-tagBytes));
    try {
      const body = decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8');
      return body + decipher.final('utf8');
    } catch {
      return undefined;
    }
  }
}
