// Learns from the answers how many requests a server can process at a time. The limit grows while answers are as fast as
// the fastest one, shrinks when requests queue at the server, and halves after a 429. Pure arithmetic.

export const initialInFlight = 8;
/** A write into a connection that has died in silence hangs for half a minute, and must not hold up all the others. */
export const leastInFlight = 4;
/** Above this, a real kube-apiserver on two cores made no more writes a second, only slower ones. */
export const maxInFlight = 32;
/**
 * Requests that may queue at the server or in this process (the two cannot be distinguished). Below `queueLow` the limit grows,
 * above `queueHigh` it shrinks. The gap is wide, because answers that are ready together are cheaper to process together. With 8 and
 * 20 the limit stayed near 10 on a busy machine, and a first sync took a quarter longer between real API servers.
 */
const queueLow = 20;
const queueHigh = 28;
/** The fastest time grows a little with each answer. Otherwise one lucky answer would keep the limit low for ever. */
const fastestGrowth = 1.0001;
const smoothing = 0.1;

export class InFlightLimit {
  #limit: number;
  #max: number;
  #least: number;
  #fastestMs = Number.POSITIVE_INFINITY;
  #smoothMs = 0;
  #lastCutMs = Number.NEGATIVE_INFINITY;

  constructor(max = maxInFlight) {
    this.#max = max;
    this.#least = Math.min(leastInFlight, max);
    this.#limit = Math.min(initialInFlight, max);
  }

  get value(): number {
    return Math.floor(this.#limit);
  }

  /** `inFlight` includes the answered request. */
  answered(tookMs: number, inFlight: number): void {
    this.#fastestMs = Math.min(this.#fastestMs * fastestGrowth, Math.max(tookMs, 0.05));
    this.#smoothMs = this.#smoothMs === 0 ? tookMs : this.#smoothMs + smoothing * (tookMs - this.#smoothMs);
    // With fewer requests in flight than the limit allows, the answer says nothing about the limit.
    if (inFlight < this.value) return;
    const queued = this.#limit * (1 - Math.min(1, this.#fastestMs / this.#smoothMs));
    if (queued < queueLow) this.#limit = Math.min(this.#max, this.#limit + 1 / this.#limit);
    else if (queued > queueHigh) this.#limit = Math.max(this.#least, this.#limit - 1 / this.#limit);
  }

  /** A 429, a time-out or a broken connection. Requests that were sent together fail together and count once. */
  pushedBack(nowMs: number): void {
    if (nowMs - this.#lastCutMs < Math.max(50, this.#smoothMs)) return;
    this.#lastCutMs = nowMs;
    this.#limit = Math.max(this.#least, this.#limit / 2);
  }
}
