// Limits the rate of wrong credentials from each address. A few wrong credentials at once are a person's mistakes; a steady flow
// is somebody who guesses. Requests with a good key are never limited.
import type { Clock } from '../../clock.ts';
import { TokenBucket } from '../../token-bucket.ts';

/**
 * Wrong credentials that an address may send at once, and one more every second. A broken pipeline of ten jobs still gets 401 and
 * not 429.
 */
const rate = { burst: 20, perSecond: 1 };
const longestWaitMs = 60_000;
/** Remembered addresses. With more, the oldest is forgotten. */
const maxSources = 10_000;

export class FailedLogins {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, TokenBucket>();
  /** Since the start. */
  count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Seconds to wait, or undefined while the source may go on. */
  failed = (source: string): number | undefined => {
    this.count++;
    const nowMs = this.#clock.now();
    const bucket = this.#buckets.get(source) ?? new TokenBucket(rate, nowMs);
    this.#buckets.delete(source);
    this.#buckets.set(source, bucket);
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > maxSources && oldest !== undefined) this.#buckets.delete(oldest);
    const waitMs = bucket.owe(nowMs, longestWaitMs);
    return waitMs === 0 ? undefined : Math.ceil(waitMs / 1000);
  };
}
