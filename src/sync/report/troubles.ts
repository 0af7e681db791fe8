// Finds the objects of one sync that are in trouble: how many there are of each state, and a list of them that is cut when it is long.
// In: a running Sync. Out: plain values for the status. It must never change anything.
import { type Key, keyOf } from '../../object/meta/object.ts';
import type { Sync } from '../loop/sync.ts';
import { backflowMessage } from '../plan/backflow.ts';
import type { Outcome } from '../plan/step.ts';
import { backflowState, failedName, firstFailure, labelOf, lapsedState } from '../world/ledger.ts';
import { isRelieved } from './object-list.ts';
import { sentenceOf, shownState } from './object-status.ts';
import { seconds } from './proven-times.ts';

/** Objects in trouble that one answer lists; the counts are always complete. */
export const listLimit = 500;

/** Looks at objects in one turn: about a millisecond. */
export const mostLooks = 2_000;

/** `hostObject` is the place of the copy. */
export interface TroubledObject {
  object: Key;
  hostObject?: Key;
  state: string;
  message: string;
  sinceSeconds?: number;
}

/** Reason → number of objects whose back-flow alone the tenant's cluster refuses, among the first that are looked at. */
export function refusedBack(ledger: Sync['ledger']): Map<string, number> {
  return refusedIn(ledger, ({ isBackFlow }) => isBackFlow === true);
}

/** Reason → number of copies whose removal the host refuses, among the first objects that are looked at. */
export function refusedRemovals(ledger: Sync['ledger']): Map<string, number> {
  return refusedIn(ledger, ({ isRemoval }) => isRemoval === true);
}

type Refused = Extract<Outcome, { kind: 'refused' }>;

function refusedIn(ledger: Sync['ledger'], isCounted: (outcome: Refused) => boolean): Map<string, number> {
  const found = new Map<string, number>();
  if (!['Forbidden', 'HostRefused'].some((reason) => (ledger.counts().get(`refused/${reason}`) ?? 0) > 0)) return found;
  let looks = 0;
  for (const [, { outcome }] of ledger.entries()) {
    if (++looks > mostLooks) break;
    if (outcome.kind !== 'refused' || !isCounted(outcome)) continue;
    found.set(outcome.reason, (found.get(outcome.reason) ?? 0) + 1);
  }
  return found;
}

/** Objects whose copy is right and of which a part does not cross. */
export function gapsIn({ ledger }: Pick<Sync, 'ledger'>): Map<string, number> {
  const lapsed = [...ledger.lapses.keys()].filter((key) => ledger.entry(key) === undefined).length;
  const refused = [...refusedBack(ledger).values()].reduce((sum, count) => sum + count, 0);
  const counts = { BackflowFailed: ledger.backflowFailures.size + refused, PatchFailed: lapsed };
  return new Map(Object.entries(counts).filter(([, count]) => count > 0));
}

/** State → number of objects in `trouble`. */
export function troubleCounts(sync: Sync): Map<string, number> {
  if (isRelieved(sync)) return new Map();
  const { ledger } = sync;
  const counts = ledger.counts();
  const isSplit = (kind: string) => [...counts].some(([name, count]) => count > 0 && name.startsWith(`${kind}/`));
  const all = new Map(
    [...counts].filter(([name, count]) => {
      const [kind, reason] = name.split('/') as [string, string?];
      return count > 0 && kind !== 'ineligible' && kind !== 'inSync' && (reason !== undefined || !isSplit(kind));
    }),
  );
  for (const [reason, count] of refusedBack(ledger)) {
    const name = `refused/${reason}`;
    all.set(name, (all.get(name) ?? 0) - count);
    if (all.get(name) === 0) all.delete(name);
  }
  for (const [reason, count] of gapsIn({ ledger })) all.set(`inSync/${reason}`, count);
  return all;
}

export function hostPlaceOf({ world }: Sync, key: Key): { hostObject?: Key } {
  const place = world.placeOf(key);
  return place === undefined ? {} : { hostObject: keyOf(place.namespace, place.name) };
}

/** `STATE PATCH` → number of objects, for states that not all objects have from one patch. */
export function troubleByPatch({ ledger }: Sync, inTrouble: ReadonlyMap<string, number>): Map<string, number> {
  const states = Map.groupBy(ledger.failedBy(), ([name]) => stateIn(name));
  const mixed = [...states].filter(
    ([state, counts]) => inTrouble.has(state) && (counts.length > 1 || sumOf(counts) < (inTrouble.get(state) ?? 0)),
  );
  return new Map(mixed.flatMap(([, counts]) => counts));
}

/** Causes that one answer counts; those of fewest objects are counted together. */
const mostCauses = 20;

export interface CauseRow {
  state: string;
  objects: number;
  /** One of the objects. */
  such: Key;
  /** In the words of the server. */
  cause: string;
}

/** Of each state that servers refuse for more than one cause: the causes with most objects first. */
export function troubleByCause(
  { ledger }: Pick<Sync, 'ledger'>,
  inTrouble: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const known = [...ledger.causedBy()];
  const perState = Map.groupBy(known, ([name]) => stateIn(name));
  const mixed = known.filter(
    ([name]) => inTrouble.has(stateIn(name)) && (perState.get(stateIn(name))?.length ?? 0) > 1,
  );
  return new Map(mixed.toSorted(([, one], [, other]) => other - one).slice(0, mostCauses));
}

/** With an example each, in the order of the objects. */
export function causeRows({ ledger }: Pick<Sync, 'ledger'>, byCause: ReadonlyMap<string, number>): CauseRow[] {
  const examples = new Map<string, Key>();
  for (const [key, { outcome }] of ledger.entries()) {
    if (examples.size === byCause.size) break;
    if (outcome.kind !== 'refused' || outcome.cause === undefined) continue;
    const name = failedName(labelOf(outcome), outcome.cause);
    if (byCause.has(name) && !examples.has(name)) examples.set(name, key);
  }
  return [...byCause].flatMap(([name, objects]) => {
    const [state, such] = [stateIn(name), examples.get(name)];
    return such === undefined ? [] : { state, objects, such, cause: name.slice(state.length + 1) };
  });
}

function stateIn(name: string): string {
  return name.split(' ')[0] as string;
}

function sumOf(counts: Iterable<readonly [string, number]>): number {
  return [...counts].reduce((total, [, count]) => total + count, 0);
}

/** The same objects, those of each failing patch and of each cause by themselves. */
function separately(inTrouble: ReadonlyMap<string, number>, parts: ReadonlyMap<string, number>): Map<string, number> {
  const others = new Map(inTrouble);
  for (const [name, count] of parts) others.set(stateIn(name), (others.get(stateIn(name)) ?? 0) - count);
  return new Map([...others, ...parts].filter(([, count]) => count > 0));
}

/** A long list is cut, but so that no state, no failing patch and no cause hides another one. */
export function troubledObjects(
  sync: Sync,
  {
    now,
    inTrouble,
    parts,
  }: { now: number; inTrouble: ReadonlyMap<string, number>; parts: ReadonlyMap<string, number> },
): TroubledObject[] {
  const { ledger } = sync;
  const all = separately(inTrouble, parts);
  const most = sumOf(all) <= listLimit ? listLimit : Math.ceil(listLimit / all.size);
  const left = new Map([...all].map(([name, count]) => [name, Math.min(count, most)]));
  let open = [...left.values()].reduce((total, count) => total + count, 0);
  const takes = (state: string, part: number | string | undefined): boolean => {
    const ofPart = part === undefined ? state : failedName(state, part);
    const name = left.has(ofPart) ? ofPart : state;
    const more = left.get(name) ?? 0;
    if (more > 0) open--;
    left.set(name, Math.max(0, more - 1));
    return more > 0;
  };
  const listed: TroubledObject[] = [];
  for (const [object, lapse] of ledger.lapses) {
    if (ledger.entry(object) === undefined && takes(lapsedState, lapse.patch))
      listed.push({ object, state: lapsedState, message: lapse.message });
  }
  for (const [object, failures] of ledger.backflowFailures) {
    const message = backflowMessage(failures);
    if (takes(backflowState, firstFailure(failures)?.patch) && message !== undefined)
      listed.push({ object, state: backflowState, message });
  }
  const found: TroubledObject[] = [];
  // Of a hundred thousand objects in one state all but the first are passed over without making a text of each.
  let full: Outcome | undefined;
  for (const [object, { outcome, sinceMs }] of ledger.entries()) {
    if (open === 0) break;
    if (outcome.kind === 'ineligible' || outcome.kind === 'inSync') continue;
    if (full !== undefined && areAlike(full, outcome)) continue;
    const state = shownState(outcome);
    if (takes(state, partOf(outcome)))
      found.push({ object, state, message: sentenceOf(outcome), sinceSeconds: seconds(now - sinceMs) });
    else full = outcome;
  }
  return [...found, ...listed].map(({ object, ...row }) => ({ object, ...hostPlaceOf(sync, object), ...row }));
}

function areAlike(one: Outcome, other: Outcome): boolean {
  const isOne = one.kind === other.kind && reasonOf(one) === reasonOf(other);
  return isOne && partOf(one) === partOf(other);
}

function reasonOf(outcome: Outcome): string | undefined {
  return 'reason' in outcome ? outcome.reason : undefined;
}

/** The patch that fails, or the cause for which a server refuses. */
function partOf(outcome: Outcome): number | string | undefined {
  return outcome.kind === 'refused' ? (outcome.failure?.patch ?? outcome.cause) : undefined;
}
