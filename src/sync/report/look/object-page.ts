// One page of the list of all objects, sorted by name. In: running Syncs, a filter and a place in the list. Out: at most a page of
// rows, and how many objects match. The list is never made as a whole, and a look at a hundred thousand keys is cut into short
// turns, so that the daemon does its work in between. It must never change anything.
import type { Key } from '../../../object/meta/object.ts';
import type { Sync } from '../../loop/sync.ts';
import { type ObjectFilter, type ObjectRow, rowOf } from '../object-list.ts';
import { knownState } from '../object-status.ts';

export interface ObjectPageQuery extends ObjectFilter {
  /** A part of the key. */
  text?: string | undefined;
  /** Only what comes behind, or before, this place: ObjectPage.first and last. */
  after?: string | undefined;
  before?: string | undefined;
  limit: number;
}

export interface ObjectPage {
  rows: ObjectRow[];
  /** Objects that match, on all pages. */
  matching: number;
  first?: string;
  last?: string;
  hasBefore: boolean;
  hasAfter: boolean;
}

/** Keys in one turn of the event loop: about a millisecond. */
const keysPerTurn = 2_000;

interface Found {
  place: string;
  key: Key;
  sync: Sync;
}

export async function objectPage(
  syncs: readonly Sync[],
  query: ObjectPageQuery,
  turn: () => Promise<void> = nextTurn,
): Promise<ObjectPage> {
  const isBackwards = query.before !== undefined;
  const best = new Smallest(query.limit, isBackwards);
  let matching = 0;
  let [outside, seen] = [0, 0];
  for (const sync of syncs) {
    const { kind } = sync.world.rules.translation.kind;
    if (query.kind !== undefined && query.kind !== kind) continue;
    for (const key of keysOf(sync)) {
      if (++seen % keysPerTurn === 0) await turn();
      if (!matches(sync, key, query)) continue;
      matching++;
      const place = `${key} ${kind}`;
      if (isBackwards ? place < (query.before as string) : place > (query.after ?? '')) best.add({ place, key, sync });
      else outside++;
    }
  }
  const rows = best.found.map(({ key, sync }) => ({
    ...(syncs.length > 1 && { kind: sync.world.rules.translation.kind.kind }),
    ...rowOf(sync, key),
  }));
  const beyond = matching - outside - rows.length;
  const [first, last] = [best.found[0]?.place, best.found.at(-1)?.place];
  return {
    rows,
    matching,
    ...(first !== undefined && { first }),
    ...(last !== undefined && { last }),
    hasBefore: isBackwards ? beyond > 0 : outside > 0,
    hasAfter: isBackwards ? outside > 0 : beyond > 0,
  };
}

function* keysOf({ world, ledger }: Sync): Generator<Key> {
  const { virtual } = world.windows;
  yield* virtual.keys();
  // These objects are gone from the virtual side, but their copies could not be removed yet.
  for (const key of ledger.keys()) if (!virtual.has(key)) yield key;
}

function matches(sync: Sync, key: Key, { namespace, text, state }: ObjectPageQuery): boolean {
  if (namespace !== undefined && !key.startsWith(`${namespace}/`)) return false;
  if (text !== undefined && !key.includes(text)) return false;
  if (state === undefined) return true;
  const { state: found } = knownState(sync, key);
  return found === state || found.startsWith(`${state}/`);
}

/** Keeps the few smallest places of many, or the few largest, in order. */
class Smallest {
  readonly found: Found[] = [];
  readonly #limit: number;
  readonly #wantsLargest: boolean;

  constructor(limit: number, wantsLargest: boolean) {
    this.#limit = limit;
    this.#wantsLargest = wantsLargest;
  }

  add(one: Found): void {
    const { found } = this;
    const worst = found.length < this.#limit ? undefined : this.#wantsLargest ? found[0] : found.at(-1);
    if (worst !== undefined && one.place < worst.place === this.#wantsLargest) return;
    found.splice(this.#placeOf(one.place), 0, one);
    if (found.length > this.#limit) {
      if (this.#wantsLargest) found.shift();
      else found.pop();
    }
  }

  #placeOf(place: string): number {
    let [low, high] = [0, this.found.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.found[middle] as Found).place < place) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
