// Keeps verified tokens by the digest of their text, so that a signature is checked once and not at every request. The cache does
// not say that a token is alive: times and revocations are checked at every use.
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

  /** Called after the keys have changed: tokens of a removed key are no longer valid. */
  clear(): void {
    this.#good.clear();
  }
}
