// The time that a request gets at first, while others wait behind it. Nearly all requests take a millisecond; a request that
// needs more runs again later, alone and with the full time limit.

const leastMs = 25;
/** On a slow machine a millisecond is enough to read and write 20,000 characters; the slice allows four times that. */
const charsPerMs = 5_000;

export function firstSliceMs(chars: number): number {
  return leastMs + Math.ceil(chars / charsPerMs);
}
