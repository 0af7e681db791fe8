// Lists every object that sync knows, one row each, for `hostward status --all`. A generator makes the rows on demand, because
// a list of a hundred thousand objects would need too much memory. Counts them by the same states.
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

/** Virtual objects by state: the states that `knownState` gives each of them, counted without a look at each. */
export function objectCounts(sync: Sync): Record<string, number> {
  const { ledger } = sync;
  const { virtual } = sync.world.windows;
  if (isRelieved(sync)) {
    const left = virtual.size + onlyOnHost(sync);
    return { virtual: virtual.size, inSync: 0, ineligible: 0, refused: 0, waiting: 0, left, retrying: 0 };
  }
  const counts = ledger.counts();
  const of = (name: string): number => counts.get(name) ?? 0;
  // While nobody is known to write, nobody knows whether both sides are still equal.
  const unsure = sync.options.leaderless?.() === undefined ? 0 : ledger.inSync - gapKeys(sync).size;
  return {
    virtual: virtual.size,
    inSync: ledger.inSync - unsure,
    ineligible: of('ineligible'),
    refused: of('refused'),
    waiting: of('waiting') + unsure,
    left: of('left'),
    retrying: of('retry'),
  };
}

/** The same with the objects whose virtual side is gone: with them, the states make the sum. */
export function countsWithGone(sync: Sync): Record<string, number> {
  const { virtual = 0, ...states } = objectCounts(sync);
  const gone = onlyOnHost(sync);
  return { virtual, ...(gone > 0 && { onlyOnHost: gone }), ...states };
}

function onlyOnHost({ ledger, world }: Sync): number {
  let gone = 0;
  for (const key of ledger.keys()) if (!world.windows.virtual.has(key)) gone++;
  return gone;
}

/** Whether another replica writes: what this one knows of objects is from before that one began, or nothing. */
export function isRelieved({ options }: Pick<Sync, 'options'>): boolean {
  return options.standbyBehind?.() !== undefined;
}

/** Objects in sync of which a part does not cross. */
function gapKeys({ ledger }: Pick<Sync, 'ledger'>): Set<Key> {
  const all = [...ledger.lapses.keys(), ...ledger.backflowFailures.keys()];
  return new Set(all.filter((key) => ledger.entry(key) === undefined));
}
