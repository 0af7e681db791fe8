// How long a server asks us to wait, in either form of the header or in a Status, never longer than we are willing to.

/** A server that says an hour would silence us for good by one mistake. */
export const maxRetryAfterMs = 60_000;

/** Seconds or an HTTP date; undefined when absent or unreadable. */
export function retryAfterMs(header: string | undefined, wallTime: Date): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^[0-9]+$/.test(text)) return Math.min(Number(text) * 1000, maxRetryAfterMs);
  // Only the date forms of HTTP: Date.parse alone would read "-5" or "1.5" as a year.
  if (!/^[A-Za-z]{3,9},? /.test(text)) return undefined;
  const atMs = Date.parse(text);
  if (Number.isNaN(atMs)) return undefined;
  return Math.min(Math.max(0, atMs - wallTime.getTime()), maxRetryAfterMs);
}

/** `details.retryAfterSeconds` of a Status. */
export function retryAfterSecondsMs(seconds: unknown): number | undefined {
  return typeof seconds === 'number' && seconds > 0 ? Math.min(seconds * 1000, maxRetryAfterMs) : undefined;
}
