// What the histories of a store went through. A checker that has seen no conflict, no kill or no old revision has checked nothing, and says so.
import type { StoreEvent } from '../../../src/store/store.ts';
import type { History, Promises, Violation } from './history.ts';
import { KnownLog } from './judges/known-log.ts';
import { eventsOf } from './judges/watches.ts';

const sights = {
  conflicts: 'a write refused because somebody else was first',
  deletes: 'a delete',
  pagesOfThePast: 'a second page after a write',
  oldLists: 'a list of an old revision',
  oldWatches: 'a watch that delivered an old revision',
  oldReads: 'a read of keys at an old revision',
  cutWatches: 'a watch that delivered old revisions in several pieces',
  resumed: 'a watch that went on where another ended',
  bookmarks: 'a bookmark',
  tooOldWatches: 'a watch refused because of compaction',
  tooOldLists: 'a list refused because of compaction',
  futureLists: 'a list of a revision to come',
  lostWatches: 'a watch that ended because changes may have been missed',
  kills: 'a kill',
  freezes: 'a replica that stood still',
  lost: 'a write without an answer that happened',
  neverHappened: 'a write without an answer that did not happen',
  full: 'a write refused by a full disk',
  aside: 'a record that nobody could judge',
  late: 'a record that was judged late',
} as const;

export type Sight = keyof typeof sights;

const needsKill: readonly Sight[] = ['kills', 'lost', 'neverHappened', 'resumed'];

export class Tally {
  readonly store: string;
  readonly seen = Object.fromEntries(Object.keys(sights).map((sight) => [sight, 0])) as Record<Sight, number>;
  readonly violations: (Violation & { seed: number })[] = [];
  readonly unjudged: { seed: number; what: string }[] = [];
  histories = 0;
  operations = 0;
  #promises: Promises;

  constructor(store: string, promises: Promises) {
    this.store = store;
    this.#promises = promises;
  }

  add(history: History, violations: readonly Violation[]): void {
    this.histories++;
    this.operations += history.operations.length + history.watches.length;
    for (const what of history.unjudged) this.unjudged.push({ seed: history.seed, what });
    for (const one of violations) this.violations.push({ ...one, seed: history.seed });
    for (const sight of sightsOf(history)) this.seen[sight]++;
  }

  /** What was never seen although this store can show it. */
  get missed(): string[] {
    return Object.entries(sights)
      .filter(([name]) => this.#isPossible(name as Sight) && this.seen[name as Sight] === 0)
      .map(([, sentence]) => sentence);
  }

  #isPossible(sight: Sight): boolean {
    // Its writer must be killed beside a deletion that it has not heard of, or must have been far behind.
    if (sight === 'aside' || sight === 'late') return false;
    if (sight === 'lostWatches' || sight === 'freezes') return this.#promises.canBeCut;
    if (sight === 'full') return this.#promises.canBeFull;
    return this.#promises.canBeKilled || !needsKill.includes(sight);
  }
}

function* sightsOf(history: History): Generator<Sight> {
  const log = new KnownLog(history);
  for (let nth = 0; nth < history.kills; nth++) yield 'kills';
  for (let nth = 0; nth < (history.freezes ?? 0); nth++) yield 'freezes';
  for (let nth = 0; nth < (history.aside ?? 0); nth++) yield 'aside';
  for (let nth = 0; nth < (history.late ?? 0); nth++) yield 'late';
  for (const { asked, answered } of history.operations) {
    if (asked.verb === 'write') {
      const { expect, value } = asked;
      if (answered.kind === 'refused' && expect !== undefined && expect !== (answered.current?.revision ?? 0))
        yield 'conflicts';
      if (answered.kind === 'written' && value === undefined) yield 'deletes';
      if (answered.kind !== 'unknown') continue;
      if (answered.why === 'STORE_WRITE_FAILED') yield 'full';
      if (value !== undefined) yield log.revisionOf(value) === undefined ? 'neverHappened' : 'lost';
    }
    const isRead = asked.verb === 'list' || asked.verb === 'read';
    if (!isRead || asked.atRevision === undefined) continue;
    const { atRevision } = asked;
    if (answered.kind === 'compacted') yield 'tooOldLists';
    if (answered.kind === 'futureRevision') yield 'futureLists';
    if (!log.changes.some(({ revision }) => revision > atRevision)) continue;
    if (answered.kind === 'read') yield 'oldReads';
    if (answered.kind === 'page' && asked.verb === 'list')
      yield asked.afterKey === undefined ? 'oldLists' : 'pagesOfThePast';
  }
  const newest = (moment: number) =>
    Math.max(
      0,
      ...history.operations.map(({ answered, returnedAt }) =>
        returnedAt < moment && answered.kind === 'written' ? answered.revision : 0,
      ),
    );
  for (const watched of history.watches) {
    if (watched.compactedRevision !== undefined) yield 'tooOldWatches';
    if (watched.isResumed) yield 'resumed';
    const begun = newest(watched.calledAt);
    const isOld = (event: StoreEvent | undefined) => event !== undefined && event.revision <= begun;
    if (isOld(eventsOf(watched)[0])) yield 'oldWatches';
    const pieces = watched.deliveries.filter(({ delivery }) => delivery.kind === 'events' && isOld(delivery.events[0]));
    if (pieces.length > 1) yield 'cutWatches';
    for (const { delivery } of watched.deliveries) {
      if (delivery.kind === 'bookmark') yield 'bookmarks';
      if (delivery.kind === 'end' && delivery.how === 'lost') yield 'lostWatches';
    }
  }
}
