// The metrics of the management API: keys by state, keys that end soon, failed authentications, open watches, and requests that
// pass the proxy.
import type { Clock } from '../../clock.ts';
import { type Metrics, readSeries } from '../../metrics.ts';
import { expiryOf, isExpired } from '../keys/life/expiry.ts';
import type { KeyFacts } from '../keys/life/key-facts.ts';

export type KeyState = 'active' | 'disabled' | 'expired' | 'terminating';
const states: readonly KeyState[] = ['active', 'disabled', 'expired', 'terminating'];
const soonMs = 7 * 24 * 60 * 60 * 1000;

export interface Counted {
  facts(): Iterable<KeyFacts>;
  lastActivityMs(facts: KeyFacts): number | undefined;
  failedLogins(): number;
  watches(): number;
  /** Requests and sessions that pass through to clusters. */
  proxied(): number;
  strangers: { readonly count: number; readonly gaveWay: number };
}

export function keyCounts(
  { facts, lastActivityMs }: Pick<Counted, 'facts' | 'lastActivityMs'>,
  nowMs: number,
): Record<KeyState, number> & { expiringSoon: number } {
  const counts = { active: 0, disabled: 0, expired: 0, terminating: 0, expiringSoon: 0 };
  for (const one of facts()) {
    const lastMs = lastActivityMs(one);
    const state = stateOf(one, lastMs, nowMs);
    counts[state]++;
    const expiryMs = expiryOf(one.times, lastMs);
    if (state === 'active' && expiryMs !== undefined && expiryMs - nowMs <= soonMs) counts.expiringSoon++;
  }
  return counts;
}

function stateOf({ isDeleted, isDisabled, times }: KeyFacts, lastMs: number | undefined, nowMs: number): KeyState {
  if (isDeleted) return 'terminating';
  if (isExpired(times, lastMs, nowMs)) return 'expired';
  return isDisabled ? 'disabled' : 'active';
}

export function declareKeyMetrics(metrics: Metrics, counted: Counted, clock: Clock): void {
  const counts = () => keyCounts(counted, clock.wallTime().getTime());
  for (const state of states) {
    const help = 'Access keys by state';
    readSeries(metrics, { name: 'hostward_access_keys', help, labels: { state }, read: () => counts()[state] });
  }
  const series: [string, string, () => number][] = [
    ['hostward_access_keys_expiring', 'Active access keys that end within seven days', () => counts().expiringSoon],
    ['hostward_failed_authentications', 'Requests with credentials that are not good', () => counted.failedLogins()],
    ['hostward_management_watches', 'Open watches of the management API', () => counted.watches()],
    [
      'hostward_unauthenticated_connections',
      'Connections on which nobody has authenticated yet',
      () => counted.strangers.count,
    ],
    [
      'hostward_connections_given_way',
      'Connections without authentication that were closed because there were too many',
      () => counted.strangers.gaveWay,
    ],
    ['hostward_proxied_requests', 'Requests, streams and sessions on their way to clusters', () => counted.proxied()],
  ];
  for (const [name, help, read] of series) readSeries(metrics, { name, help, labels: {}, read });
}
