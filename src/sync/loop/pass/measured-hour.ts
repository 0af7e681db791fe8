// The last hour in numbers: how long changes took from the event to the host, and how many writes were made. In: single values
// with their time. Out: one point for each ten seconds, for a picture. It takes 30 KB whatever happens.

const slotMs = 10_000;
const slotsKept = 360;
/** A delay is kept as the number of its step; each step is half as long again as the one before, so a percentile is known to a quarter. */
const steps = 40;
const firstStepMs = 0.1;
const growth = 1.5;

export interface MeasuredPoint {
  /** Begin of its ten seconds, on the clock that the values came with. */
  atMs: number;
  writesPerSecond: number;
  /** Undefined when no change arrived in this time. */
  p50Ms?: number;
  p99Ms?: number;
}

export class MeasuredHour {
  readonly #delays = new Uint16Array(slotsKept * steps);
  readonly #writes = new Uint32Array(slotsKept);
  /** The number of ten seconds that a slot was last used for. */
  readonly #numbers = new Float64Array(slotsKept).fill(-1);

  noteDelay(delayMs: number, nowMs: number): void {
    const place = this.#slot(nowMs) * steps + stepOf(delayMs);
    const count = this.#delays[place] as number;
    if (count < 0xffff) this.#delays[place] = count + 1;
  }

  noteWrite(nowMs: number): void {
    const slot = this.#slot(nowMs);
    this.#writes[slot] = (this.#writes[slot] as number) + 1;
  }

  /** Oldest first; times without a change and without a write are left out. */
  points(nowMs: number): MeasuredPoint[] {
    const newest = Math.floor(nowMs / slotMs);
    const points: MeasuredPoint[] = [];
    for (let number = Math.max(0, newest - slotsKept + 1); number <= newest; number++) {
      const slot = number % slotsKept;
      if (this.#numbers[slot] !== number) continue;
      // The newest ten seconds are not over: their rate is that of the time until now.
      const lengthMs = number === newest ? Math.max(1_000, nowMs - number * slotMs) : slotMs;
      const delays = this.#delays.subarray(slot * steps, (slot + 1) * steps);
      const [p50Ms, p99Ms] = [percentile(delays, 0.5), percentile(delays, 0.99)];
      points.push({
        atMs: number * slotMs,
        writesPerSecond: (this.#writes[slot] as number) / (lengthMs / 1000),
        ...(p50Ms !== undefined && { p50Ms }),
        ...(p99Ms !== undefined && { p99Ms }),
      });
    }
    return points;
  }

  /** Memory of the ring in bytes. */
  get bytes(): number {
    return this.#delays.byteLength + this.#writes.byteLength + this.#numbers.byteLength;
  }

  #slot(nowMs: number): number {
    const number = Math.floor(nowMs / slotMs);
    const slot = number % slotsKept;
    if (this.#numbers[slot] === number) return slot;
    this.#numbers[slot] = number;
    this.#writes[slot] = 0;
    this.#delays.fill(0, slot * steps, (slot + 1) * steps);
    return slot;
  }
}

function stepOf(delayMs: number): number {
  if (delayMs <= firstStepMs) return 0;
  return Math.min(steps - 1, Math.ceil(Math.log(delayMs / firstStepMs) / Math.log(growth)));
}

/** The upper end of the step in which it lies. */
function percentile(counts: Uint16Array, share: number): number | undefined {
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return undefined;
  let left = Math.max(1, Math.ceil(all * share));
  for (const [step, count] of counts.entries()) {
    left -= count;
    if (left <= 0) return Math.round(firstStepMs * growth ** step * 100) / 100;
  }
  return undefined;
}
