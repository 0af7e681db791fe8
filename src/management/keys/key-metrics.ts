// The metrics of the management API: keys by state, keys that end soon, failed authentications, open watches, and requests that
// pass the proxy.
import type { CallerLimits, Held } from '../../apiserver/limits/caller-limits.ts';
import type { Clock } from '../../clock.ts';
import { type Metrics, readSeries } from '../../metrics.ts';
import type { KeyWorld } from './life/credential.ts';
import { expiryOf } from './life/expiry.ts';
import type { KeyFacts } from './life/key-facts.ts';
import { type KeyState, keyState, keyStates } from './life/key-state.ts';
import { keysOfLeavers } from './life/leavers.ts';

/** One scrape reads every series, and must not count a hundred thousand keys for each of them. */
const countsAreGoodForMs = 500;
const soonMs = 7 * 24 * 60 * 60 * 1000;

export interface Counted {
  facts(): Iterable<KeyFacts>;
  world: KeyWorld;
  failedLogins(): number;
  watches(): number;
  /** Requests and sessions that pass through to clusters. */
  proxied(): number;
  limits: CallerLimits;
  strangers: { readonly count: number; readonly gaveWay: number };
}

export function keyCounts(
  { facts, world }: Pick<Counted, 'facts' | 'world'>,
  nowMs: number,
): Record<KeyState, number> & { expiringSoon: number; ofLeavers: number } {
  const left = keysOfLeavers(facts(), world, nowMs);
  const ofLeavers = left.reduce((sum, { keys }) => sum + keys.length, 0);
  const counts = { ...noKeys(), expiringSoon: 0, ofLeavers };
  for (const one of facts()) {
    const state = keyState(one, world, nowMs);
    counts[state]++;
    const expiryMs = expiryOf(one.times, world.lastActivityMs(one));
    if (state === 'active' && expiryMs !== undefined && expiryMs - nowMs <= soonMs) counts.expiringSoon++;
  }
  return counts;
}

function noKeys(): Record<KeyState, number> {
  return Object.fromEntries(keyStates.map((state) => [state, 0])) as Record<KeyState, number>;
}

export function declareKeyMetrics(metrics: Metrics, counted: Counted, clock: Clock): void {
  let last: { atMs: number; counts: ReturnType<typeof keyCounts> } | undefined;
  const counts = () => {
    const atMs = clock.now();
    if (last === undefined || atMs - last.atMs >= countsAreGoodForMs)
      last = { atMs, counts: keyCounts(counted, clock.wallTime().getTime()) };
    return last.counts;
  };
  for (const state of keyStates) {
    const help = 'Access keys by state';
    readSeries(metrics, { name: 'hostward_access_keys', help, labels: { state }, read: () => counts()[state] });
  }
  const series: [string, string, () => number][] = [
    ['hostward_access_keys_expiring', 'Active access keys that end within seven days', () => counts().expiringSoon],
    [
      'hostward_access_keys_of_leavers',
      'Access keys of others that a user knows who has left',
      () => counts().ofLeavers,
    ],
    [
      'hostward_failed_authentications_total',
      'Requests with credentials that are not good',
      () => counted.failedLogins(),
    ],
    ['hostward_management_watches', 'Open watches of the management API', () => counted.watches()],
    [
      'hostward_unauthenticated_connections',
      'Connections on which nobody has authenticated yet',
      () => counted.strangers.count,
    ],
    [
      'hostward_connections_given_way_total',
      'Connections without authentication that were closed because there were too many',
      () => counted.strangers.gaveWay,
    ],
    ['hostward_proxied_requests', 'Requests, streams and sessions on their way to clusters', () => counted.proxied()],
  ];
  for (const [name, help, read] of series)
    readSeries(metrics, { name, help, labels: {}, isCounter: name.endsWith('_total'), read });
  declareLimits(metrics, counted.limits);
}

const held: readonly Held[] = ['connections', 'requests', 'watches', 'bodies'];

function declareLimits(metrics: Metrics, limits: CallerLimits): void {
  for (const limit of held) {
    const open = { name: 'hostward_management_open', help: 'Held open by access keys, by kind' };
    readSeries(metrics, { ...open, labels: { limit }, read: () => limits.open(limit) });
    const refused = {
      name: 'hostward_management_refused_by_limit_total',
      help: 'Answers of 429 because a key, or all keys together, held too much',
    };
    readSeries(metrics, { ...refused, labels: { limit }, isCounter: true, read: () => limits.refused(limit) });
  }
}
