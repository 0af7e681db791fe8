// Limits the rate of wrong credentials from each address. A few wrong credentials at once are a person's mistakes; a steady flow
// is somebody who guesses. Requests with a good key are never limited.
import type { Clock } from '../../clock.ts';

/** Wrong credentials that an address may send at once. A broken pipeline of ten jobs still gets 401 and not 429. */
const burst = 20;
/** One more every second. */
const perSecond = 1;
/** Longest time that an address must wait. */
const longestWaitSeconds = 60;
/** Remembered addresses. With more, the oldest is forgotten. */
const maxSources = 10_000;

interface Bucket {
  tokens: number;
  atMs: number;
}

export class FailedLogins {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();
  /** Since the start. */
  count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Seconds to wait, or undefined while the source may go on. */
  failed = (source: string): number | undefined => {
    this.count++;
    const nowMs = this.#clock.now();
    const before = this.#buckets.get(source) ?? { tokens: burst, atMs: nowMs };
    const tokens = Math.min(burst, before.tokens + ((nowMs - before.atMs) / 1000) * perSecond) - 1;
    this.#buckets.delete(source);
    this.#buckets.set(source, { tokens: Math.max(tokens, -longestWaitSeconds), atMs: nowMs });
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > maxSources && oldest !== undefined) this.#buckets.delete(oldest);
    return tokens >= 0 ? undefined : Math.min(longestWaitSeconds, Math.ceil(-tokens / perSecond));
  };
}
