// Verified tokens by the digest of their text, so that a signature is checked once and not at every request. What is kept never says
// that a token is alive: times and revocations are asked at every use.
import { hash } from 'node:crypto';
import type { KeySet } from './key-set.ts';
import { type Expected, type Verified, verifyText } from './verify-token.ts';

/** A cluster's users and pipelines hold a few thousand; the longest unused are forgotten first. */
export const maxCachedTokens = 10_000;

export class TokenCache {
  readonly #good = new Map<string, Verified>();

  get size(): number {
    return this.#good.size;
  }

  /** Refusals are not kept: an unknown key may be known a moment later. */
  verify(text: string, keys: KeySet, expected: Expected): Verified {
    const digest = hash('sha256', text, 'base64');
    const known = this.#good.get(digest);
    if (known !== undefined) {
      this.#good.delete(digest);
      this.#good.set(digest, known);
      return known;
    }
    const verified = verifyText(text, keys, expected);
    if (verified.kind === 'refused') return verified;
    this.#good.set(digest, verified);
    const [oldest] = this.#good.keys();
    if (this.#good.size > maxCachedTokens && oldest !== undefined) this.#good.delete(oldest);
    return verified;
  }

  /** After the keys have changed: what a key proved that is gone counts no longer. */
  clear(): void {
    this.#good.clear();
  }
}
