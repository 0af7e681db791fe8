// The time that a request gets at first, while others wait behind it. Nearly all requests take a millisecond; a request that
// needs more runs again in the other process, alone and with the full time limit.

const leastMs = 15;
/** On a slow machine a millisecond is enough to read and write 20,000 characters; the slice allows four times that. */
const charsPerMs = 5_000;
/** A batch of eight such requests just ends within the slice of the batch. */
const costlyShare = 1 / 8;

export function firstSliceMs(chars: number): number {
  return leastMs + Math.ceil(chars / charsPerMs);
}

/** Whether requests like this one would keep the others waiting. */
export function isCostly(cpuMs: number, chars: number): boolean {
  return cpuMs > firstSliceMs(chars) * costlyShare;
}
