// Limits the rate of wrong credentials from each address. A few wrong credentials at once are a person's mistakes; a steady flow
// is somebody who guesses. Requests with a good key are never limited.
import type { Clock } from '../../clock.ts';
import { TokenBuckets } from '../../pace/token-bucket.ts';
import { sourceOf } from './source.ts';

/**
 * Wrong credentials that an address may send at once, and one more every second. A broken pipeline of ten jobs still gets 401 and
 * not 429.
 */
const rate = { burst: 20, perSecond: 1 };
const longestWaitMs = 60_000;

export class FailedLogins {
  readonly #clock: Clock;
  readonly #buckets = new TokenBuckets(rate);
  /** Since the start. */
  count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Seconds to wait, or undefined while the source may go on. */
  failed = (source: string): number | undefined => {
    this.count++;
    const nowMs = this.#clock.now();
    const waitMs = this.#buckets.of(sourceOf(source), nowMs).owe(nowMs, longestWaitMs);
    return waitMs === 0 ? undefined : Math.ceil(waitMs / 1000);
  };
}
