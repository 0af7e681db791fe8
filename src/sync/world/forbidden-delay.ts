// When a request that the API server forbids is sent again. Pure.

/**
 * A missing permission is granted by people, so once a minute is enough in the long run. But an API server that has just
 * started refuses every request until it has read its roles: the first try comes soon, and the pauses grow with the time
 * gone by.
 */
const firstMs = 1_000;
const longestMs = 60_000;

/** `refusedForMs` is the time since the first refusal in a row. */
export function forbiddenDelayMs(refusedForMs: number): number {
  return Math.min(Math.max(firstMs, 2 * refusedForMs), longestMs);
}
