// How often a source may send credentials that are not good. A bucket for each address: a few at once are a person who mistypes,
// more are somebody who guesses. Requests with a good key never ask here.
import type { Clock } from '../../clock.ts';

/** At once; a broken pipeline of ten jobs is still told 401 and not 429. */
const burst = 20;
/** One more every second. */
const perSecond = 1;
/** The longest that an address is asked to wait. */
const longestWaitSeconds = 60;
/** So many addresses are remembered; a guesser with more has the oldest forgotten. */
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
