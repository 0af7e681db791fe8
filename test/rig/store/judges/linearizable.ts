// Is there one order of all operations that explains every answer, in which whatever returned before another was called comes first? The search of
// Wing and Gong with Lowe's memory of places where it has been, as Porcupine does it: take the operations that may come next one after the
// other, go back where none fits. Operations without an answer may come late, or never.
import type { History, Operation } from '../history.ts';
import type { KnownLog } from './known-log.ts';
import { emptyState, type ModelState, StoreModel, textOf } from './store-model.ts';

export type Linearized =
  | { kind: 'ok'; order: Operation[]; state: ModelState }
  /** `reached`: the longest order that was found; `stuck`: what could have come next and did not fit. */
  | { kind: 'none'; reached: Operation[]; stuck: Operation[]; state: ModelState }
  /** The search took too long: no verdict. */
  | { kind: 'gaveUp' };

/** A history of a hundred operations takes some thousand steps; many more say that the search explodes. */
const mostSteps = 2_000_000;

interface Place {
  taken: bigint;
  state: ModelState;
  /** What is left to try here: an operation and a state after it. */
  next: { nth: number; state: ModelState }[];
}

export function linearize(history: History, log: KnownLog): Linearized {
  const operations = history.operations.filter((one) => isJudged(one, history)).sort((a, b) => a.calledAt - b.calledAt);
  const ends = operations.map(({ answered, returnedAt }) =>
    answered.kind === 'unknown' ? Number.POSITIVE_INFINITY : returnedAt,
  );
  const model = new StoreModel(history, log);
  const mustCome = operations.reduce(
    (bits, { answered }, nth) => (answered.kind === 'unknown' ? bits : bits | bit(nth)),
    0n,
  );
  const been = new Set<string>();
  const path: number[] = [];
  let best: { path: number[]; place: Place } | undefined;

  const open = (taken: bigint, state: ModelState): Place => {
    const place: Place = { taken, state, next: [] };
    for (const nth of mayComeNext(operations, ends, taken))
      for (const after of model.after(state, operations[nth] as Operation)) place.next.push({ nth, state: after });
    if (best === undefined || path.length > best.path.length) best = { path: [...path], place };
    return place;
  };

  const places = [open(0n, emptyState)];
  for (let step = 0; step < mostSteps; step++) {
    const place = places.at(-1) as Place;
    if ((place.taken & mustCome) === mustCome && model.isExplained(place.state))
      return { kind: 'ok', order: path.map((nth) => operations[nth] as Operation), state: place.state };
    const next = place.next.shift();
    if (next === undefined) {
      places.pop();
      path.pop();
      if (places.length > 0) continue;
      const reached = (best?.path ?? []).map((nth) => operations[nth] as Operation);
      const { taken, state } = best?.place ?? place;
      const stuck = mayComeNext(operations, ends, taken).map((nth) => operations[nth] as Operation);
      return { kind: 'none', reached, stuck, state };
    }
    const taken = place.taken | bit(next.nth);
    const name = `${taken.toString(36)} ${textOf(next.state)}`;
    if (been.has(name)) continue;
    been.add(name);
    path.push(next.nth);
    places.push(open(taken, next.state));
  }
  return { kind: 'gaveUp' };
}

/** Not taken yet, and called before the first of those returned that are not taken. Those with an answer first: they bind. */
function mayComeNext(operations: readonly Operation[], ends: readonly number[], taken: bigint): number[] {
  const open: number[] = [];
  let firstEnd = Number.POSITIVE_INFINITY;
  for (let nth = 0; nth < operations.length; nth++) {
    const { calledAt } = operations[nth] as Operation;
    if (calledAt > firstEnd) break;
    if ((taken & bit(nth)) !== 0n) continue;
    open.push(nth);
    firstEnd = Math.min(firstEnd, ends[nth] as number);
  }
  const first = open.filter((nth) => (operations[nth] as Operation).calledAt < firstEnd);
  return first.sort((one, other) => (ends[one] as number) - (ends[other] as number));
}

/** Reads of the past, and of a store that may lag, are judged against the log; compaction changes nothing that a present read shows. */
function isJudged({ asked, answered }: Operation, { promises }: History): boolean {
  if (asked.verb === 'compact' || asked.verb === 'read') return false;
  if (asked.verb === 'write') return true;
  if (answered.kind === 'unknown') return false;
  if (asked.verb === 'list') return promises.areReadsFresh && asked.atRevision === undefined;
  if (asked.verb === 'get') return promises.areReadsFresh || asked.isFresh;
  return promises.areReadsFresh;
}

function bit(nth: number): bigint {
  return 1n << BigInt(nth);
}
