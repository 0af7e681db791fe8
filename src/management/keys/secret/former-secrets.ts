// Values that opened a key until it was deleted or rotated. Whoever sends one too often is refused with 401: whether another
// replica has made such a key is asked of the store only so often, and the answer beyond that is 503. A value that a client brought may be
// brought again, so it is not remembered.
import type { StoredSecret } from './key-record.ts';
import type { Peppers } from './pepper.ts';

/** Some hundred kilobytes; of more, those that ended first are asked for in the store again. */
const most = 10_000;

export class FormerSecrets {
  readonly #digests = new Set<string>();

  /** `kept`: those of the same key that go on. */
  end(secrets: readonly StoredSecret[], kept: readonly StoredSecret[] = []): void {
    for (const { digest, isSupplied } of secrets) {
      if (isSupplied || kept.some((one) => one.digest === digest)) continue;
      this.#digests.add(digest);
      const [oldest] = this.#digests;
      if (this.#digests.size > most && oldest !== undefined) this.#digests.delete(oldest);
    }
  }

  has(text: string, peppers: Peppers): boolean {
    return this.#digests.size > 0 && peppers.digests(text).some(({ digest }) => this.#digests.has(digest));
  }
}
