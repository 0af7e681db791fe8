// Judges requests that an API server has failed, forbidden or rejected, and computes when to repeat them. Pure.

/** Whether a pass may succeed as soon as the API server is well. */
export function failedByServer(outcome: { kind: string; reason?: string } | undefined): boolean {
  return outcome?.kind === 'retry' || (outcome?.kind === 'refused' && outcome.reason === 'Forbidden');
}

/** Whether a pass will be made again because of what a server answered; a wrong object may be right by then. */
export function waitsForServer(outcome: { kind: string; reason?: string } | undefined): boolean {
  return failedByServer(outcome) || (outcome?.kind === 'refused' && outcome.reason === 'HostRefused');
}

/**
 * People grant a missing permission, so one try a minute is enough in the long run. But an API server that has just started
 * forbids every request until it has read its roles. Therefore the first retry comes soon, and the pauses grow.
 */
const firstForbiddenMs = 1_000;
const longestForbiddenMs = 60_000;

/**
 * A wrong object stays wrong until it changes, but an admission policy (422 too) may end at any time, and no window shows its
 * end. The last pause is long, because a tenant may have any number of wrong objects.
 */
const firstRejectedMs = 10_000;
const longestRejectedMs = 10 * 60_000;

/** `refusedForMs` is the time since the first of the consecutive refusals. Undefined for a reason that no later try can end. */
export function refusedDelayMs(reason: string, refusedForMs: number): number | undefined {
  if (reason === 'Forbidden') return growing(firstForbiddenMs, refusedForMs, longestForbiddenMs);
  if (reason === 'HostRefused') return Math.min(Math.max(firstRejectedMs, refusedForMs), longestRejectedMs);
  return undefined;
}

/**
 * No window shows what is in the way: the host Service, which follows the virtual one within a second, or an object of other people, which
 * stays for long, until somebody does what our message asks for.
 */
export function unwatchedDelayMs(refusedForMs: number): number {
  return growing(1_000, refusedForMs, 60_000);
}

/** Of Secrets and ConfigMaps, whose host window shows our own copies alone. What is refused for itself changes with the object. */
export function contentDelayMs(reason: string, refusedForMs: number): number {
  if (reason === 'NotOwned') return unwatchedDelayMs(refusedForMs);
  return refusedDelayMs(reason, refusedForMs) ?? longestRejectedMs;
}

function growing(firstMs: number, refusedForMs: number, longestMs: number): number {
  return Math.min(Math.max(firstMs, 2 * refusedForMs), longestMs);
}
