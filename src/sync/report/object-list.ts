// Lists every object that sync knows, one row each, for `hostward status --all`. A generator makes the rows on demand, because
// a list of a hundred thousand objects would need too much memory.
import type { Key } from '../../object/meta/object.ts';
import type { Sync } from '../loop/sync.ts';
import { knownState } from './object-status.ts';
import { provenTime, seconds } from './proven-times.ts';

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
    if (isIn(key, filter)) yield* wanted(rowOf(sync, key), filter);
  }
  // These objects are gone from the virtual side, but their copies could not be removed yet.
  for (const key of sync.ledger.keys()) {
    if (!virtual.has(key) && isIn(key, filter)) yield* wanted(rowOf(sync, key), filter);
  }
}

function isIn(key: Key, { namespace }: ObjectFilter): boolean {
  return namespace === undefined || key.startsWith(`${namespace}/`);
}

function* wanted(row: ObjectRow, { state }: ObjectFilter): Generator<ObjectRow> {
  if (state === undefined || row.state === state || row.state.startsWith(`${state}/`)) yield row;
}

export function rowOf(sync: Sync, key: Key): ObjectRow {
  const { state, message, sinceMs } = knownState(sync, key);
  const contestedBy = sync.contest.rivalOf(key);
  const { provenSecondsAgo } = sinceMs === undefined ? provenTime(sync, key) : {};
  return {
    object: key,
    state,
    ...(message !== undefined && { message }),
    ...(sinceMs !== undefined && { sinceSeconds: seconds(sync.options.clock.now() - sinceMs) }),
    ...(contestedBy !== undefined && { contestedBy }),
    ...(provenSecondsAgo !== undefined && { provenSecondsAgo }),
  };
}
