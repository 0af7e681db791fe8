// Lists every object that sync knows, one row each, for `hostward status --all`. A generator makes the rows on demand, because
// a list of a hundred thousand objects would need too much memory.
import type { Key } from '../../object/meta/object.ts';
import type { Sync } from '../loop/sync.ts';
import { backflowMessage } from '../plan/backflow.ts';
import { type LedgerEntry, labelOf } from '../world/ledger.ts';
import { inSyncLabel, sentenceOf } from './object-status.ts';
import { provenTime } from './proven-times.ts';

export interface ObjectRow {
  /** Only where several kinds are synced. */
  kind?: string;
  object: Key;
  /** The kind of the outcome, with its reason after a slash, such as `refused/NotOwned`. */
  state: string;
  message?: string;
  sinceSeconds?: number;
  /** Who on the host keeps changing the copy. */
  contestedBy?: string;
  /** How long ago both API servers had what the last pass called equal. */
  provenSecondsAgo?: number;
}

export interface ObjectFilter {
  namespace?: string | undefined;
  /** `refused` stands for all its reasons, `refused/NotOwned` for one. */
  state?: string | undefined;
  /** The kind as in a manifest, such as EndpointSlice. */
  kind?: string | undefined;
}

/** The objects of several syncs. */
export function* listAll(syncs: readonly Sync[], filter: ObjectFilter): Generator<ObjectRow> {
  const isOne = syncs.length === 1;
  for (const sync of syncs) {
    const { kind } = sync.world.rules.translation.kind;
    if (filter.kind !== undefined && filter.kind !== kind) continue;
    for (const row of listObjects(sync, filter)) yield isOne ? row : { kind, ...row };
  }
}

export function* listObjects(sync: Sync, filter: ObjectFilter): Generator<ObjectRow> {
  const { virtual } = sync.world.windows;
  for (const key of virtual.keys()) {
    if (isIn(key, filter)) yield* wanted(rowOf(sync, key, sync.ledger.entry(key)), filter);
  }
  // These objects are gone from the virtual side, but their copies could not be removed yet.
  for (const [key, entry] of sync.ledger.entries()) {
    if (!virtual.has(key) && isIn(key, filter)) yield* wanted(rowOf(sync, key, entry), filter);
  }
}

function isIn(key: Key, { namespace }: ObjectFilter): boolean {
  return namespace === undefined || key.startsWith(`${namespace}/`);
}

function* wanted(row: ObjectRow, { state }: ObjectFilter): Generator<ObjectRow> {
  if (state === undefined || row.state === state || row.state.startsWith(`${state}/`)) yield row;
}

export function rowOf(sync: Sync, key: Key, entry: LedgerEntry | undefined): ObjectRow {
  const { ledger, options } = sync;
  const contestedBy = sync.contest.rivalOf(key);
  const contest = contestedBy === undefined ? {} : { contestedBy };
  if (entry !== undefined) {
    const sinceSeconds = Math.round((options.clock.now() - entry.sinceMs) / 100) / 10;
    return { object: key, state: labelOf(entry.outcome), message: sentenceOf(entry.outcome), sinceSeconds, ...contest };
  }
  const { provenSecondsAgo } = provenTime(sync, key);
  const proven = { ...contest, ...(provenSecondsAgo !== undefined && { provenSecondsAgo }) };
  const lapse = ledger.lapses.get(key);
  if (lapse !== undefined) return { object: key, state: 'inSync/PatchFailed', message: lapse, ...proven };
  const failed = backflowMessage(ledger.backflowFailures.get(key));
  if (failed !== undefined) return { object: key, state: 'inSync/BackflowFailed', message: failed, ...proven };
  return {
    object: key,
    state: ledger.settledAt(key) === undefined ? 'pending' : inSyncLabel({ contestedBy }),
    ...proven,
  };
}
