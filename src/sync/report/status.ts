// Long because each figure and each list of a status is made here.
// Reports the status of sync as a whole. In: a running Sync. Out: plain values for `hostward status`. It must never change
// anything.
import type { Key } from '../../object/meta/object.ts';
import type { Sync } from '../loop/sync.ts';
import type { Outcome, WaitReason } from '../plan/step.ts';
import type { ListDoubt } from '../world/doubt/doubted-list.ts';
import type { Difference, LedgerEntry } from '../world/ledger.ts';
import { waitingObjects } from './missing-place.ts';
import { countsWithGone, isRelieved } from './object-list.ts';
import { type ProvenCount, provenCount, seconds, wallTimeOf } from './proven-times.ts';
import {
  type CauseRow,
  causeRows,
  gapsIn,
  hostPlaceOf,
  listLimit,
  mostLooks,
  refusedBack,
  refusedRemovals,
  type TroubledObject,
  troubleByCause,
  troubleByPatch,
  troubleCounts,
  troubledObjects,
} from './troubles.ts';
import { type UnnamedCopy, unnamedCopies } from './unnamed-copies.ts';
import type { VerdictFacts } from './verdict.ts';

export interface SyncStatus extends ProvenCount {
  kind: string;
  /** Where the configuration has the settings of this kind. */
  settings: string;
  objects: Record<string, number>;
  queue: { waiting: number; running: number; delayed: number; oldestSeconds: number };
  lag: { p50Ms: number; p99Ms: number; samples: number };
  owner: string;
  deletesWithheld: number;
  listsInDoubt?: readonly ListDoubt[];
  /** Why tenants hear of no refusal, as the virtual API server says it. */
  eventsForbidden?: string;
  /** State → number of objects in it, complete also where the list of them is cut. */
  troubleByState?: Record<string, number>;
  /** `STATE PATCH` → number of objects, where several patches fail in one state. */
  troubleByPatch?: Record<string, number>;
  /** Why servers refuse objects, where they do so for several causes: those of most objects. */
  troubleByCause?: CauseRow[];
  trouble: TroubledObject[];
  /** `lost`: what the answer to a write of ours already lacked of it. */
  contested: { object: Key; hostObject?: Key; by: string; lost?: string; sinceSeconds: number }[];
  /** Copies that no virtual object has and that nothing removes. */
  unnamedCopies?: readonly UnnamedCopy[];
  /** The object is a key, with its kind in front for the content behind a reference. */
  differences?: { object: string; request: string; touches: string }[];
}

export function syncStatus(sync: Sync): SyncStatus {
  const now = sync.options.clock.now();
  const { ledger, queue } = sync;
  const owner = sync.world.ownerState();
  const inTrouble = troubleCounts(sync);
  const byPatch = troubleByPatch(sync, inTrouble);
  const byCause = troubleByCause(sync, inTrouble);
  const unnamed = isRelieved(sync) ? [] : unnamedCopies(sync);
  const { kind } = sync.world.rules.translation;
  return {
    kind: kind.kind,
    settings: kind.settingsPath,
    objects: countsWithGone(sync),
    queue: {
      waiting: queue.waiting,
      running: queue.running,
      delayed: queue.delayed,
      oldestSeconds: queue.oldestMs / 1000,
    },
    lag: ledger.lags(),
    ...provenCount(sync),
    owner:
      owner.kind === 'missing'
        ? `OwnerMissing: ${owner.message}`
        : owner.kind === 'none'
          ? 'not set'
          : `Service "${owner.name}"`,
    deletesWithheld: sync.massDelete.guard.size,
    ...(sync.massDelete.doubts.length > 0 && { listsInDoubt: sync.massDelete.doubts }),
    ...(sync.eventsForbidden !== undefined && { eventsForbidden: sync.eventsForbidden }),
    ...(inTrouble.size > 0 && { troubleByState: Object.fromEntries(inTrouble) }),
    ...(byPatch.size > 0 && { troubleByPatch: Object.fromEntries(byPatch) }),
    ...(byCause.size > 0 && { troubleByCause: causeRows(sync, byCause) }),
    trouble: troubledObjects(sync, { now, inTrouble, parts: new Map([...byPatch, ...byCause]) }),
    contested: (isRelieved(sync) ? [] : sync.contest.contested()).map(({ key, by, lost, sinceMs }) => ({
      object: key,
      ...hostPlaceOf(sync, key),
      by,
      ...(lost !== undefined && { lost }),
      sinceSeconds: seconds(now - sinceMs),
    })),
    ...(unnamed.length > 0 && { unnamedCopies: unnamed }),
    ...(sync.options.isDryRun && {
      differences: differencesOf(sync),
    }),
  };
}

type SyncFacts = Pick<
  VerdictFacts,
  | 'differences'
  | 'objects'
  | 'ownerMissing'
  | 'blocked'
  | 'blockedSince'
  | 'contestedSince'
  | 'gaps'
  | 'waiting'
  | 'oldestSeconds'
>;

/** The facts of sync for the verdict on the whole daemon. */
export function verdictFacts(sync: Sync): SyncFacts {
  const { ledger, options } = sync;
  const owner = sync.world.ownerState();
  const dirty = waitingChanges(ledger);
  return {
    differences: differenceCount(sync),
    objects: sync.world.windows.virtual.size,
    ownerMissing: owner.kind === 'missing' ? owner.message : waitingObjects(sync, 'OwnerMissing')[0]?.message,
    blocked: blockedObjects(sync),
    blockedSince: wallTimeOf(sync, oldestBlocked(sync)),
    contestedSince: wallTimeOf(sync, ...sync.contest.contested().map(({ sinceMs }) => sinceMs)),
    gaps: gapsIn(sync),
    waiting: Math.max(dirty.count, sync.queue.waiting),
    oldestSeconds: dirty.oldestMs === undefined ? 0 : (options.clock.now() - dirty.oldestMs) / 1000,
  };
}

/** The facts of all syncs as those of one. */
export function joinedFacts(all: readonly SyncFacts[]): SyncFacts {
  const sumOf = (one: (facts: SyncFacts) => number) => all.reduce((sum, facts) => sum + one(facts), 0);
  return {
    differences: sumOf(({ differences }) => differences),
    objects: sumOf(({ objects }) => objects),
    ownerMissing: all.find(({ ownerMissing }) => ownerMissing !== undefined)?.ownerMissing,
    blocked: all.map(({ blocked }) => blocked).reduce(summed, new Map()),
    blockedSince: firstOf(all.map(({ blockedSince }) => blockedSince)),
    contestedSince: firstOf(all.map(({ contestedSince }) => contestedSince)),
    gaps: all.map(({ gaps }) => gaps).reduce(summed, new Map()),
    waiting: sumOf(({ waiting }) => waiting),
    oldestSeconds: Math.max(0, ...all.map(({ oldestSeconds }) => oldestSeconds)),
  };
}

function firstOf(times: readonly (string | undefined)[]): string | undefined {
  return times.filter((one) => one !== undefined).sort()[0];
}

/** Entries keep the order in which their objects first got one, so that the oldest is among the first, and all need not be looked at. */
function oldestBlocked({ ledger }: Sync): number | undefined {
  let [oldest, looks]: [number | undefined, number] = [undefined, 0];
  for (const [, { outcome, sinceMs }] of ledger.entries()) {
    if (++looks > mostLooks) break;
    const isBlocked = outcome.kind === 'refused' || (outcome.kind === 'waiting' && blockingWaits.has(outcome.reason));
    if (isBlocked && (oldest === undefined || sinceMs < oldest)) oldest = sinceMs;
  }
  return oldest;
}

export function summed(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): Map<string, number> {
  const sums = new Map(one);
  for (const [reason, count] of other) sums.set(reason, (sums.get(reason) ?? 0) + count);
  return sums;
}

/** Whether an object waits for a write, which may have failed before. */
export function areWritesWanted({ ledger, queue }: Sync): boolean {
  const counts = ledger.counts();
  const isWaiting = ['retry', 'waiting', 'refused/Forbidden'].some((name) => (counts.get(name) ?? 0) > 0);
  return isWaiting || queue.running > 0;
}

/** Reasons for waiting that do not end by themselves within seconds. */
const blockingWaits: ReadonlySet<string> = new Set<WaitReason>([
  'OwnerMissing',
  'HostNamespaceMissing',
  'DeleteWithheld',
]);

/** Changes that have not reached the other side yet, and that nothing blocks. */
function waitingChanges(ledger: Sync['ledger']): { count: number; oldestMs: number | undefined } {
  const all = ledger.dirty(() => true);
  const counts = ledger.counts();
  const blocked = [...blockingWaits, 'Contested'].reduce((sum, one) => sum + (counts.get(`waiting/${one}`) ?? 0), 0);
  if (blocked === 0) return all;
  // Without an owner all of a hundred thousand objects may wait, and a look at each would take too long. Some blocked objects have no
  // change, so the counts alone do not show whether a few others wait.
  if (all.count > mostLooks && blocked >= all.count) return { count: 0, oldestMs: undefined };
  return ledger.dirty((key) => !isBlocked(ledger.entry(key)?.outcome));
}

/** Counted among the blocked objects, so that no object is counted twice. */
function isBlocked(outcome: LedgerEntry<Outcome>['outcome'] | undefined): boolean {
  return outcome?.kind === 'waiting' && (blockingWaits.has(outcome.reason) || outcome.reason === 'Contested');
}

function blockedObjects({ ledger, contest }: Sync): Map<string, number> {
  const blocked = new Map<string, number>();
  for (const [name, count] of ledger.counts()) {
    const [kind, reason] = name.split('/');
    if (count === 0 || reason === undefined) continue;
    if (kind === 'refused' || (kind === 'waiting' && blockingWaits.has(reason))) blocked.set(reason, count);
  }
  const removals = refusedRemovals(ledger);
  const unremoved = [...removals.values()].reduce((sum, count) => sum + count, 0);
  for (const [reason, count] of summed(refusedBack(ledger), removals)) {
    const left = (blocked.get(reason) ?? 0) - count;
    if (left > 0) blocked.set(reason, left);
    else blocked.delete(reason);
  }
  if (unremoved > 0) blocked.set('DeleteRefused', unremoved);
  for (const { lost } of contest.contested()) {
    const reason = lost === undefined ? 'Contested' : 'Altered';
    blocked.set(reason, (blocked.get(reason) ?? 0) + 1);
  }
  return blocked;
}

/** One row for each write. A long list is cut; `status --all` shows the writes of every object. */
function differencesOf(sync: Sync): NonNullable<SyncStatus['differences']> {
  const rows: NonNullable<SyncStatus['differences']> = [];
  const note = (object: string, writes: readonly Difference[]): void => {
    for (const { request, touches } of writes) rows.push({ object, request, touches: touches.join(', ') });
  };
  for (const [object, writes] of sync.ledger.differences) {
    if (rows.length >= listLimit) break;
    note(object, writes);
  }
  for (const { object, writes } of contentDifferences(sync)) {
    if (rows.length >= listLimit) break;
    note(object, writes);
  }
  return rows;
}

/** The number of objects that a dry run would write, the content behind references included. */
function differenceCount(sync: Sync): number {
  return sync.ledger.differences.size + [...contentDifferences(sync)].length;
}

function contentDifferences({ options, kind }: Sync): Iterable<{ object: string; writes: readonly Difference[] }> {
  return options.references?.differences(kind) ?? [];
}
