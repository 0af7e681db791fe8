// The metrics of the management API: keys by state, keys that end soon, failed authentications, open watches, and requests that
// pass the proxy.
import type { CallerLimits, Held } from '../../apiserver/limits/caller-limits.ts';
import type { Clock } from '../../clock.ts';
import { type Metrics, readSeries } from '../../metrics.ts';
import type { KeyBook } from './book/key-book.ts';
import type { KeyWorld } from './life/credential.ts';
import { expiryOf } from './life/expiry.ts';
import { inTurns } from './life/in-turns.ts';
import type { KeyFacts } from './life/key-facts.ts';
import { type KeyState, keyState, keyStates } from './life/key-state.ts';
import { keysOfLeavers } from './life/leavers.ts';

/** One scrape reads every series, and must not count a hundred thousand keys for each of them. */
const countsAreGoodForMs = 500;
/** Takes about ten milliseconds. */
const countedAtOnce = 5_000;
const soonMs = 7 * 24 * 60 * 60 * 1000;

export interface Counted {
  counts: KeyCounts;
  failedLogins(): number;
  watches(): number;
  /** Requests and sessions that pass through to clusters. */
  proxied(): number;
  /** Records of a store that others can write, and that are not believed. */
  recordsAside(): number;
  limits: CallerLimits;
  unproven: { readonly count: number; readonly gaveWay: number };
}

interface EndingKey {
  name: string;
  atMs: number;
}

type Counts = Record<KeyState, number> & {
  expiringSoon: number;
  /** Some of them, the next to end first. */
  nextToEnd: readonly EndingKey[];
  ofLeavers: number;
};

const namedAtMost = 10;

export interface KeyCountsOptions {
  book: Pick<KeyBook, 'size' | 'facts' | 'heldByOthers'>;
  world: KeyWorld;
  clock: Clock;
}

/** Counts the keys for metrics and for `hostward status`. */
export class KeyCounts {
  readonly #parts: KeyCountsOptions;
  #last: { atMs: number; counts: Counts } | undefined;
  #isCounting = false;

  constructor(parts: KeyCountsOptions) {
    this.#parts = parts;
  }

  /** Of very many keys the last result, while they are counted again in turns with requests. */
  read(goodForMs = countsAreGoodForMs): Counts {
    const { book, clock } = this.#parts;
    const atMs = clock.now();
    const isGood = this.#last !== undefined && atMs - this.#last.atMs < goodForMs;
    if (!isGood && book.size <= countedAtOnce) this.#last = { atMs, counts: this.#countNow() };
    else if (!isGood && !this.#isCounting) void this.#countInTurns(atMs);
    return this.#last?.counts ?? noKeys();
  }

  #countNow(): Counts {
    const add = this.#adding();
    for (const facts of this.#parts.book.facts()) add(facts);
    return add(undefined);
  }

  async #countInTurns(atMs: number): Promise<void> {
    this.#isCounting = true;
    const add = this.#adding();
    for await (const facts of inTurns(this.#parts.book.facts())) add(facts);
    this.#last = { atMs, counts: add(undefined) };
    this.#isCounting = false;
  }

  #adding(): (facts: KeyFacts | undefined) => Counts {
    const { book, world, clock } = this.#parts;
    const nowMs = clock.wallTime().getTime();
    const left = keysOfLeavers(book.heldByOthers(), world, nowMs);
    const ofLeavers = left.reduce((sum, { keys }) => sum + keys.length, 0);
    const counts: Counts = { ...noKeys(), ofLeavers };
    return (facts) => {
      if (facts === undefined) return counts;
      const state = keyState(facts, world, nowMs);
      counts[state]++;
      const expiryMs = expiryOf(facts.times, world.lastActivityMs(facts));
      if (state !== 'active' || expiryMs === undefined || expiryMs - nowMs > soonMs) return counts;
      // A key for a day, as of a kubeconfig or of one run, ends as it was meant to.
      if (facts.times.ttl * 1000 <= soonMs) return counts;
      counts.expiringSoon++;
      counts.nextToEnd = withKey(counts.nextToEnd, { name: facts.name, atMs: expiryMs });
      return counts;
    };
  }
}

function withKey(known: readonly EndingKey[], key: EndingKey): readonly EndingKey[] {
  if (known.length >= namedAtMost && key.atMs >= (known.at(-1)?.atMs ?? 0)) return known;
  return [...known, key].sort((a, b) => a.atMs - b.atMs).slice(0, namedAtMost);
}

function noKeys(): Counts {
  const states = Object.fromEntries(keyStates.map((state) => [state, 0])) as Record<KeyState, number>;
  return { ...states, expiringSoon: 0, nextToEnd: [], ofLeavers: 0 };
}

export function declareKeyMetrics(metrics: Metrics, counted: Counted): void {
  const counts = () => counted.counts.read();
  for (const state of keyStates) {
    const help = 'Access keys by state';
    readSeries(metrics, { name: 'hostward_access_keys', help, labels: { state }, read: () => counts()[state] });
  }
  const series: [string, string, () => number][] = [
    [
      'hostward_access_keys_expiring',
      'Active access keys that end within seven days and were made for longer',
      () => counts().expiringSoon,
    ],
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
      () => counted.unproven.count,
    ],
    [
      'hostward_connections_given_way_total',
      'Connections without authentication that were closed because there were too many',
      () => counted.unproven.gaveWay,
    ],
    ['hostward_proxied_requests', 'Requests, streams and sessions on their way to clusters', () => counted.proxied()],
    [
      'hostward_management_records_aside',
      'Records of a store in a cluster that cannot be read or believed, such as forged ones',
      () => counted.recordsAside(),
    ],
  ];
  for (const [name, help, read] of series)
    readSeries(metrics, { name, help, labels: {}, isCounter: name.endsWith('_total'), read });
  declareLimits(metrics, counted.limits);
}

const held: readonly Held[] = ['connections', 'requests', 'watches', 'proxied', 'bodies'];

function declareLimits(metrics: Metrics, limits: CallerLimits): void {
  for (const limit of held) {
    const open = { name: 'hostward_management_open', help: 'Held open by access keys, by kind' };
    readSeries(metrics, { ...open, labels: { limit }, read: () => limits.open(limit) });
    const refused = {
      name: 'hostward_management_refused_by_limit_total',
      help: 'Answers of 429 because a key, an owner, or all keys together held too much',
    };
    readSeries(metrics, { ...refused, labels: { limit }, isCounter: true, read: () => limits.refused(limit) });
    const gaveWay = {
      name: 'hostward_management_gave_way_total',
      help: 'Ended for an owner who holds less, because all keys together held too much',
    };
    readSeries(metrics, { ...gaveWay, labels: { limit }, isCounter: true, read: () => limits.gaveWay(limit) });
  }
}
