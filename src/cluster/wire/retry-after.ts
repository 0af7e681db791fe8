// Reads the time that a server asks us to wait, from the Retry-After header or from a Status, and limits it.

/** Without a limit, one wrong value such as an hour would stop the sync for an hour. */
export const maxRetryAfterMs = 60_000;

/** The header holds seconds or an HTTP date; undefined when the header is absent or unreadable. */
export function retryAfterMs(header: string | undefined, wallTime: Date): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^[0-9]+$/.test(text)) return Math.min(Number(text) * 1000, maxRetryAfterMs);
  // Date.parse alone would read "-5" or "1.5" as a year, so only the date forms of HTTP pass.
  if (!/^[A-Za-z]{3,9},? /.test(text)) return undefined;
  const atMs = Date.parse(text);
  if (Number.isNaN(atMs)) return undefined;
  return Math.min(Math.max(0, atMs - wallTime.getTime()), maxRetryAfterMs);
}

/** `details.retryAfterSeconds` of a Status. */
export function retryAfterSecondsMs(seconds: unknown): number | undefined {
  return typeof seconds === 'number' && seconds > 0 ? Math.min(seconds * 1000, maxRetryAfterMs) : undefined;
}
