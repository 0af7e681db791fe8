// Limits a rate, and lets a burst pass: the same rule wherever something may happen only so often.

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

  /** Takes a token and answers 0, or answers how many milliseconds there is none. */
  take(nowMs: number): number {
    const missing = 1 - this.#filled(nowMs);
    if (missing > 0) return Math.max(1, Math.ceil((missing / this.#rate.perSecond) * 1000));
    this.#tokens -= 1;
    return 0;
  }

  /** Takes a token even where there is none, and answers how many milliseconds the debt lasts, `mostMs` at most. */
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
