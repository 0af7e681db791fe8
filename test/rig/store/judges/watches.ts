// What a watch promises, one judge a promise: ordered, unique, atomic, reliable, resumable, bookmarkable, and the previous value right. Each
// compares what one watch delivered with the log as all saw it.
import type { StoreEvent } from '../../../../src/store/store.ts';
import { type History, isWrite, type Violation, type Watched } from '../history.ts';
import type { Change, KnownLog } from './known-log.ts';

export type WatchJudge = (watched: Watched, log: SeenLog) => string[];

/** The log with what the judges ask of it. */
export class SeenLog {
  readonly changes: readonly Change[];
  #history: History;
  #unseen = new Map<string, Set<string | undefined>>();

  constructor(history: History, log: KnownLog) {
    this.#history = history;
    this.changes = log.changes;
    for (const key of log.removedSomewhere) this.#unseen.set(key, new Set([undefined]));
    for (const operation of history.operations) {
      if (!isWrite(operation) || operation.answered.kind !== 'unknown') continue;
      const { key, value } = operation.asked;
      if (value !== undefined && log.revisionOf(value) !== undefined) continue;
      this.#unseen.set(key, (this.#unseen.get(key) ?? new Set()).add(value));
    }
  }

  /** What a watch must deliver after one revision and up to another. */
  between(prefix: string, after: number, upTo: number): Change[] {
    return this.changes.filter(({ key, revision }) => key.startsWith(prefix) && revision > after && revision <= upTo);
  }

  before(key: string, revision: number): Change | undefined {
    return this.changes.findLast((change) => change.key === key && change.revision < revision);
  }

  /** A write without an answer that nobody saw may have come in between. */
  mayHold(key: string, value: string | undefined): boolean {
    return this.#unseen.get(key)?.has(value) === true;
  }

  hasUnseen(key: string): boolean {
    return this.#unseen.has(key);
  }

  /** The revision that made the object which the change put or deleted. */
  createRevisionOf(key: string, revision: number): number {
    let created = revision;
    for (const change of this.changes.filter((one) => one.key === key && one.revision < revision).reverse()) {
      if (change.value === undefined) return created;
      created = change.revision;
    }
    return created;
  }

  /** How far the store may have forgotten at the moment: because somebody had asked, or because a replica was started anew or has judged a record late. */
  compactedBefore(moment: number): number {
    const { base, kills, cuts, freezes = 0, late = 0, promises } = this.#history;
    if (promises.hasGaps && kills + cuts + freezes + late > 0) return Number.POSITIVE_INFINITY;
    let most = base;
    for (const { asked, calledAt } of this.#history.operations)
      if (asked.verb === 'compact' && calledAt < moment) most = Math.max(most, asked.upTo);
    return most;
  }
}

export const watchJudges: Readonly<Record<string, WatchJudge>> = {
  ordered(watched) {
    const found: string[] = [];
    let last = watched.afterRevision;
    for (const { revision } of eventsOf(watched)) {
      if (revision < last) found.push(`revision ${revision} came after ${last}`);
      last = Math.max(last, revision);
    }
    return found;
  },

  unique(watched) {
    const seen = new Set([watched.afterRevision]);
    return eventsOf(watched)
      .filter(({ revision }) => seen.size === seen.add(revision).size)
      .map(({ revision }) => `revision ${revision} came twice, or was where the watch began`);
  },

  atomic(watched) {
    const home = new Map<number, number>();
    const found: string[] = [];
    watched.deliveries.forEach(({ delivery }, nth) => {
      if (delivery.kind !== 'events') return;
      const keys = new Map<number, string>();
      for (const { revision, key } of delivery.events) {
        if ((home.get(revision) ?? nth) !== nth) found.push(`revision ${revision} came in two pieces`);
        if ((keys.get(revision) ?? key) !== key) found.push(`revision ${revision} has two keys`);
        home.set(revision, nth);
        keys.set(revision, key);
        if (!key.startsWith(watched.prefix)) found.push(`${key} does not begin with ${watched.prefix}`);
      }
    });
    return found;
  },

  reliable(watched, log) {
    const delivered = revisionsOf(watched);
    const first = Math.min(...delivered);
    const last = Math.max(watched.owes ?? 0, ...delivered);
    const found = log
      .between(watched.prefix, Math.max(watched.afterRevision, delivered.size === 0 ? 0 : first), last)
      .filter(({ revision }) => !delivered.has(revision))
      .map(({ revision, key }) => `revision ${revision} of ${key} never came, although ${last} was due`);
    for (const { at, delivery } of watched.deliveries)
      if (delivery.kind === 'end' && delivery.how === 'overflow' && log.compactedBefore(at) === 0)
        found.push('it ended as too slow, and nobody had compacted');
    return found;
  },

  resumable(watched, log) {
    const { afterRevision, prefix, compactedRevision, returnedAt } = watched;
    if (compactedRevision !== undefined) {
      const asked = log.compactedBefore(returnedAt);
      if (afterRevision >= compactedRevision)
        return [`refused at ${afterRevision} as older than ${compactedRevision}, which it is not`];
      return compactedRevision <= asked
        ? []
        : [`refused as older than ${compactedRevision}, compacted was only ${asked}`];
    }
    const first = eventsOf(watched)[0]?.revision;
    if (first === undefined) return [];
    return log
      .between(prefix, afterRevision, first - 1)
      .map(({ revision, key }) => `it went on after ${afterRevision} with ${first}: ${revision} of ${key} is missing`);
  },

  bookmarkable(watched, log) {
    const found: string[] = [];
    const delivered = new Set<number>();
    let last = watched.afterRevision;
    for (const { delivery } of watched.deliveries) {
      if (delivery.kind === 'events')
        for (const { revision } of delivery.events) {
          delivered.add(revision);
          if (revision <= last) found.push(`revision ${revision} came after the bookmark ${last}`);
        }
      if (delivery.kind !== 'bookmark') continue;
      if (delivery.revision < last) found.push(`the bookmark ${delivery.revision} came after ${last}`);
      for (const { revision, key } of log.between(watched.prefix, watched.afterRevision, delivery.revision))
        if (!delivered.has(revision)) found.push(`the bookmark ${delivery.revision} came before ${revision} of ${key}`);
      last = Math.max(last, delivery.revision);
    }
    return found;
  },

  previous(watched, log) {
    return eventsOf(watched).flatMap((event) => [...previousFault(event, log)]);
  },
};

function* previousFault(event: StoreEvent, log: SeenLog): Generator<string> {
  const { key, revision, type, value, previous, createRevision } = event;
  const before = log.before(key, revision)?.value;
  if (previous !== before && !log.mayHold(key, previous))
    yield `revision ${revision} of ${key} says that ${JSON.stringify(before)} was ${JSON.stringify(previous)}`;
  if (type === 'delete' && value !== previous)
    yield `the delete ${revision} of ${key} shows ${JSON.stringify(value)} instead of the last value ${JSON.stringify(previous)}`;
  if (log.hasUnseen(key)) return;
  const created = log.createRevisionOf(key, revision);
  if (createRevision !== created)
    yield `revision ${revision} of ${key} says it was made at ${createRevision}, which was at ${created}`;
}

export function judgeWatches(history: History, log: KnownLog): Violation[] {
  const seen = new SeenLog(history, log);
  const found: Violation[] = [];
  for (const watched of history.watches)
    for (const [judge, judges] of Object.entries(watchJudges))
      for (const what of judges(watched, seen))
        found.push({
          judge,
          what: `client ${watched.client}, watch of ${watched.prefix} after ${watched.afterRevision}: ${what}`,
        });
  return found;
}

export function eventsOf({ deliveries }: Watched): StoreEvent[] {
  return deliveries.flatMap(({ delivery }) => (delivery.kind === 'events' ? delivery.events : []));
}

function revisionsOf(watched: Watched): Set<number> {
  return new Set(eventsOf(watched).map(({ revision }) => revision));
}
