// Limits a rate, and lets a burst pass: the same rule wherever something may happen only so often, altogether or for each source.

export interface Rate {
  /** Tokens at most, which is what may happen at once. */
  burst: number;
  perSecond: number;
}

export class TokenBucket {
  readonly #rate: Rate;
  #tokens: number;
  #atMs: number;

  constructor(rate: Rate, nowMs: number, tokens = rate.burst) {
    this.#rate = rate;
    this.#tokens = tokens;
    this.#atMs = nowMs;
  }

  /** Takes a token, or `count` of them, and returns 0; or returns the milliseconds until the bucket has so many. */
  take(nowMs: number, count = 1): number {
    const missing = count - this.#filled(nowMs);
    if (missing > 0) return Math.max(1, Math.ceil((missing / this.#rate.perSecond) * 1000));
    this.#tokens -= count;
    return 0;
  }

  /** Takes a token also from an empty bucket, and returns the milliseconds that the debt lasts, `mostMs` at most. */
  owe(nowMs: number, mostMs: number): number {
    this.#tokens = Math.max(this.#filled(nowMs) - 1, -(mostMs / 1000) * this.#rate.perSecond);
    return Math.max(0, (-this.#tokens / this.#rate.perSecond) * 1000);
  }

  #filled(nowMs: number): number {
    const { burst, perSecond } = this.#rate;
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#atMs) / 1000) * perSecond);
    this.#atMs = nowMs;
    return this.#tokens;
  }
}

/** Remembered sources. With more, the one that was seen longest ago is forgotten. */
const maxSources = 10_000;

/** A bucket for each source. */
export class TokenBuckets {
  readonly #rate: Rate;
  /** The source that was seen last is the last. */
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  of(source: string, nowMs: number): TokenBucket {
    const bucket = this.#buckets.get(source) ?? new TokenBucket(this.#rate, nowMs);
    this.#buckets.delete(source);
    this.#buckets.set(source, bucket);
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > maxSources && oldest !== undefined) this.#buckets.delete(oldest);
    return bucket;
  }
}
