// Computes the end of a key and its state at a given time. Times are milliseconds since the epoch.
export interface KeyTimes {
  creationMs: number;
  /** Seconds; 0 = no end. */
  ttl: number;
  /** The ttl counts from the last use instead of the creation. */
  afterLastActivity: boolean;
}

/** A hundred years; beyond it a time is a slip. */
export const longestTTL = 3_153_600_000;

/** Undefined = the key does not end. */
export function expiryOf(times: KeyTimes, lastActivityMs: number | undefined): number | undefined {
  if (times.ttl === 0) return undefined;
  // A use counts even before the creation, as after a clock was set back: the end is then the one that status shows.
  const base = times.afterLastActivity ? (lastActivityMs ?? times.creationMs) : times.creationMs;
  return base + times.ttl * 1000;
}

/** At exactly the instant the key has expired. */
export function isExpired(times: KeyTimes, lastActivityMs: number | undefined, nowMs: number): boolean {
  const expiry = expiryOf(times, lastActivityMs);
  return expiry !== undefined && nowMs >= expiry;
}

/** Expired keys stay readable for a while, so that somebody can find out why a pipeline stopped. */
export const keptAfterExpiryMs = 7 * 24 * 60 * 60 * 1000;

/** A pipeline makes hundreds of kubeconfigs a day, and they count against the quota of the owner. */
export const kubeconfigKeptAfterExpiryMs = 60 * 60 * 1000;

export function isDueForRemoval(
  times: KeyTimes,
  lastActivityMs: number | undefined,
  nowMs: number,
  keptMs = keptAfterExpiryMs,
): boolean {
  const expiry = expiryOf(times, lastActivityMs);
  return expiry !== undefined && nowMs >= expiry + keptMs;
}
