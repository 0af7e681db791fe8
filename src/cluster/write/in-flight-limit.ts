// How many requests a server bears at a time, learnt from its answers: more while they come as fast as the fastest did,
// fewer when they queue up over there, half at a 429. Arithmetic only.

export const initialInFlight = 8;
/** Past this a real kube-apiserver on two cores gave no more writes a second, only slower ones. */
export const maxInFlight = 32;
/**
 * Requests that may queue, at the server or with us, which cannot be told apart: below the first the limit grows, above the second it
 * shrinks. Where we are the slower side, answers that lie ready together are worked on together, and that is cheaper.
 */
const queueLow = 8;
const queueHigh = 20;
/** The fastest answer is believed a little less with each one, or one lucky answer would hold the limit down for ever. */
const fastestGrowth = 1.0001;
const smoothing = 0.1;

export class InFlightLimit {
  #limit: number;
  #max: number;
  #fastestMs = Number.POSITIVE_INFINITY;
  #smoothMs = 0;
  #lastCutMs = Number.NEGATIVE_INFINITY;

  constructor(max = maxInFlight) {
    this.#max = max;
    this.#limit = Math.min(initialInFlight, max);
  }

  get value(): number {
    return Math.max(1, Math.floor(this.#limit));
  }

  /** `inFlight` counts the answered one. */
  answered(tookMs: number, inFlight: number): void {
    this.#fastestMs = Math.min(this.#fastestMs * fastestGrowth, Math.max(tookMs, 0.05));
    this.#smoothMs = this.#smoothMs === 0 ? tookMs : this.#smoothMs + smoothing * (tookMs - this.#smoothMs);
    // Nothing is learnt about the limit from a server that was not asked for so much.
    if (inFlight < this.value) return;
    const queued = this.#limit * (1 - Math.min(1, this.#fastestMs / this.#smoothMs));
    if (queued < queueLow) this.#limit = Math.min(this.#max, this.#limit + 1 / this.#limit);
    else if (queued > queueHigh) this.#limit = Math.max(1, this.#limit - 1 / this.#limit);
  }

  /** A 429, a time-out, a broken connection. What was sent together fails together and counts once. */
  pushedBack(nowMs: number): void {
    if (nowMs - this.#lastCutMs < Math.max(50, this.#smoothMs)) return;
    this.#lastCutMs = nowMs;
    this.#limit = Math.max(1, this.#limit / 2);
  }
}
