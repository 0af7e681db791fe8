// Computes the stored form of a secret: its HMAC-SHA-256 under a pepper that lies outside the database. Peppers have versions, so
// that keys that were made under the old pepper stay valid after a new one is added.
import { createHmac, timingSafeEqual } from 'node:crypto';

/** HMAC-SHA-256, passed in so that a test can count the calls. */
export type Hmac = (pepper: Uint8Array, text: string) => Uint8Array;

export const hmacSha256: Hmac = (pepper, text) => createHmac('sha256', pepper).update(text, 'utf8').digest();

export interface Pepper {
  version: number;
  bytes: Uint8Array;
}

/** The digest in hex, with the version of its pepper. */
export interface SecretDigest {
  version: number;
  digest: string;
}

/** More are a rotation that was never finished; every unknown key is computed under each of them. */
export const maxPeppers = 4;
const pepperBytes = 32;

export class Peppers {
  #versions: readonly Pepper[];
  #inUse = Number.POSITIVE_INFINITY;
  readonly #hmac: Hmac;

  constructor(peppers: readonly Pepper[], hmac: Hmac = hmacSha256) {
    this.#versions = checked(peppers);
    this.#hmac = hmac;
  }

  /** Newest first. */
  get versions(): readonly Pepper[] {
    return this.#versions;
  }

  /** Takes what the folder holds now. */
  take(peppers: readonly Pepper[]): void {
    this.#versions = checked(peppers);
  }

  /** A newer version proves keys and makes none: another replica may lack it. */
  useUpTo(version: number): void {
    this.#inUse = version;
  }

  /** The one that new keys are made with. */
  get newest(): Pepper {
    return (this.versions.find(({ version }) => version <= this.#inUse) ?? this.versions.at(-1)) as Pepper;
  }

  digest(text: string): SecretDigest {
    return { version: this.newest.version, digest: this.#hex(this.newest, text) };
  }

  /** Digests under the pepper of this version; empty when the pepper is absent. */
  digestUnder(version: number, text: string): string[] {
    return this.versions.filter((pepper) => pepper.version === version).map((pepper) => this.#hex(pepper, text));
  }

  /** Under every pepper, newest first: how a supplied key is found. */
  digests(text: string): SecretDigest[] {
    return this.versions.map((pepper) => ({ version: pepper.version, digest: this.#hex(pepper, text) }));
  }

  /** One HMAC and one comparison in constant time, also when the pepper of the version is lost. */
  proves(text: string, stored: SecretDigest): boolean {
    const pepper = this.versions.find(({ version }) => version === stored.version);
    const computed = this.#hmac(pepper?.bytes ?? this.newest.bytes, text);
    const expected = Buffer.from(stored.digest, 'hex');
    const isSized = expected.length === computed.length;
    const isEqual = timingSafeEqual(computed, isSized ? expected : Buffer.alloc(computed.length));
    return isEqual && isSized && pepper !== undefined;
  }

  #hex(pepper: Pepper, text: string): string {
    return Buffer.from(this.#hmac(pepper.bytes, text)).toString('hex');
  }
}

function checked(peppers: readonly Pepper[]): readonly Pepper[] {
  if (peppers.length === 0 || peppers.length > maxPeppers)
    throw new Error(`read the peppers: wanted 1 to ${maxPeppers}, found ${peppers.length}`);
  const short = peppers.find(({ bytes }) => bytes.length < pepperBytes);
  if (short !== undefined)
    throw new Error(`read pepper ${short.version}: wanted ${pepperBytes} bytes, found ${short.bytes.length}`);
  return peppers.toSorted((a, b) => b.version - a.version);
}
