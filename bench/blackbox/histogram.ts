// A histogram of times with the same relative precision everywhere, as Gil Tene's HDR histogram has it: buckets that double, each with as many equal
// parts. A million samples take some kilobytes, and a percentile is wrong by a thousandth at most.

/** Parts of a doubling: the lower half of the first bucket is exact, and so three digits hold everywhere. */
const parts = 2048;
const half = parts / 2;

export class Histogram {
  #counts: number[] = [];
  #count = 0;
  #max = 0;
  #sum = 0;

  /** In milliseconds; kept in microseconds. A time below zero counts as zero: two clocks of one machine disagree that much. */
  record(ms: number): void {
    const us = Math.max(0, Math.round(ms * 1000));
    const at = indexOf(us);
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#count++;
    this.#sum += us;
    this.#max = Math.max(this.#max, us);
  }

  get count(): number {
    return this.#count;
  }

  /** NaN without samples. */
  get max(): number {
    return this.#count === 0 ? Number.NaN : this.#max / 1000;
  }

  get mean(): number {
    return this.#sum / this.#count / 1000;
  }

  /** The time that so large a share of the samples does not exceed. */
  percentile(share: number): number {
    const wanted = Math.max(1, Math.ceil(share * this.#count));
    let seen = 0;
    for (let at = 0; at < this.#counts.length; at++) {
      seen += this.#counts[at] ?? 0;
      if (seen >= wanted && this.#count > 0) return Math.min(highestOf(at), this.#max) / 1000;
    }
    return Number.NaN;
  }
}

function indexOf(us: number): number {
  if (us < parts) return us;
  // 32 bits are an hour, and Math.clz32 knows no more.
  const shift = Math.floor(Math.log2(us)) - Math.log2(half);
  return shift * half + Math.floor(us / 2 ** shift);
}

function highestOf(at: number): number {
  if (at < parts) return at;
  const shift = Math.floor(at / half) - 1;
  return (at - shift * half + 1) * 2 ** shift - 1;
}
