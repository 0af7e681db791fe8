// Rule 8 of DESIGN 3, from the deeds of both sides: the value of one key on the virtual side, and on the host.

import { type History, type KeyEvent, type MapName, mapOf } from '../words/history.ts';
import { annotationsOf, keyOf, labelsOf, objectKey, own } from '../words/json.ts';
import { BASE, goesNeverBack, MANAGED_ANNOTATIONS, ownerOf, uidOnHost } from '../words/marks.ts';
import { isReserved } from '../words/names.ts';
import { type SyncedKind, settingsOf } from '../words/settings.ts';
import type { PlainObject } from '../words/types.ts';
import { patchesOn, reversed, type Way, waysOf } from './back.ts';
import type { Answer } from './expression.ts';
import type { Surroundings } from './patches.ts';

export type Value = string | undefined;

export interface Pair {
  readonly history: History;
  readonly around: Surroundings;
  readonly virtualKey: string;
  readonly hostKey: string;
  /** The host object as it is now, if it is of the same uid as when people last saw it. */
  readonly hostNow: PlainObject | undefined;
  /** True: since the last calm point there was no time without a copy, and nothing but people's writes on the two objects. */
  readonly isSteady: boolean;
}

const unique = (values: readonly Value[]): readonly Value[] => [...new Set(values)];

/** Whether the host change of one key can be the source of anything on the virtual side. */
export function canGoBack(pair: Pair, map: MapName, virtualKey: string): boolean {
  const { settings } = pair.around;
  if (!settings.flowsBack || goesNeverBack(virtualKey) || isReserved(virtualKey)) return false;
  if (virtualKey === 'endpointslice.kubernetes.io/managed-by') return false;
  return map === 'labels' ? !settings.isExcludedLabel(virtualKey) : !settings.isExcludedAnnotation(virtualKey);
}

const CONTROLLER_MARK = 'endpoints.kubernetes.io/managed-by';

/** The daemon must have carried this host change back: it had a base of this very object before and after the change. */
function mustGoBack(pair: Pair, event: KeyEvent): boolean {
  const { before, after } = event.deed;
  if (!pair.isSteady || before === undefined || after === undefined || pair.hostNow === undefined) return false;
  const uid = pair.around.virtual.metadata.uid;
  const base = own(annotationsOf(before), BASE);
  const later = pair.history.deedsOn('host', pair.hostKey).filter((deed) => deed.atMs >= event.atMs);
  return (
    base !== undefined &&
    uidOnHost(before) === uid &&
    after.metadata.uid === pair.hostNow.metadata.uid &&
    own(labelsOf(after), CONTROLLER_MARK) === undefined &&
    later.every((deed) => own(annotationsOf(deed.after), BASE) === own(annotationsOf(deed.before), BASE)) &&
    // Nothing flows out of an object that is not ours, and it may have ceased to be before the daemon could write.
    later.every((deed) => deed.after !== undefined && isOurs(pair, deed.after))
  );
}

function isOurs({ around }: Pair, host: PlainObject): boolean {
  return ownerOf(host, around.virtual.metadata, around.settings.naming) === 'ours';
}

/** Every value that the rules allow for one key on the virtual side; the first one is the likeliest. */
export function virtualValues(pair: Pair, map: MapName, virtualKey: string, hostMapKey: string): readonly Value[] {
  const present = valuesOfPresent(pair, map, virtualKey, hostMapKey);
  return unique([...present, ...carriedBefore(pair, map, virtualKey, hostMapKey)]);
}

/**
 * What another configuration has carried back before a reload took its patches away: nothing takes that from the tenant's object, unless the tenant has
 * written the key since. What was done on the host while no daemon ran is of the configuration that the next one has found.
 */
function carriedBefore(pair: Pair, map: MapName, virtualKey: string, hostMapKey: string): readonly Value[] {
  const { history, around } = pair;
  const kind = around.virtual.kind as SyncedKind;
  const all = settingsOf(history.point);
  const writtenMs = history.keyEvents('virtual', pair.virtualKey, map, virtualKey).at(-1)?.atMs ?? 0;
  const present = patchesOn(around.settings, kind, map, hostMapKey);
  return all.flatMap((settings, nth): readonly Value[] => {
    const untilMs = all[nth + 1]?.sinceMs;
    if (untilMs === undefined || writtenMs >= untilMs) return [];
    const former = { ...pair, around: { ...around, settings } };
    const { way } = waysOf(settings, kind, map, hostMapKey);
    if (patchesOn(settings, kind, map, hostMapKey) === present || !settings.isOn[kind]) return [];
    if (way === 'forward' || !canGoBack(former, map, virtualKey)) return [];
    const ranSince = (fromMs: number): boolean =>
      !(history.point.absences ?? []).some((one) => one.fromMs <= fromMs && untilMs <= one.toMs);
    const edits = history
      .keyEvents('host', pair.hostKey, map, hostMapKey)
      .filter(({ atMs }) => atMs < untilMs && ranSince(Math.max(atMs, settings.sinceMs)))
      .map(({ value }) => value);
    // A key that the host owns goes back whenever the tenant has written another value; the first of the tenant's is the host's own.
    const isOwned = way === 'back' && ranSince(Math.max(writtenMs, settings.sinceMs));
    const raw = history.versions('virtual', pair.virtualKey).map((version) => own(mapOf(version, map), virtualKey));
    const known = isOwned ? unique([...knownOnHost(pair, map, hostMapKey), ...raw]) : [];
    const owned = known.filter((value) => value !== undefined);
    return [...owned, ...edits].flatMap((value): readonly Value[] => {
      if (value === undefined) return [undefined];
      const answer = reversed(value, map, hostMapKey, virtualKey, former.around, history);
      return answer.ok ? [answer.value as Value] : [];
    });
  });
}

/**
 * A value of the host that a former configuration could not carry back: it stands on the host, no base holds its key, and so it flows as soon as
 * patches can carry it, like a key that the host adds today.
 */
function heldBefore(pair: Pair, map: MapName, virtualKey: string, hostMapKey: string): readonly Value[] {
  const { history, around } = pair;
  const standing = own(mapOf(history.start('host', pair.hostKey), map), hostMapKey);
  const hasTheirs = history
    .versions('virtual', pair.virtualKey)
    .some((version) => own(mapOf(version, map), virtualKey) !== undefined);
  if (standing === undefined || hasTheirs) return [];
  const wasHeld = settingsOf(history.point)
    .slice(0, -1)
    .some((settings) => {
      const { way } = waysOf(settings, around.virtual.kind as SyncedKind, map, hostMapKey);
      const former = { ...around, settings };
      return way !== 'forward' && !reversed(standing, map, hostMapKey, virtualKey, former, history).ok;
    });
  return wasHeld ? [standing] : [];
}

function valuesOfPresent(pair: Pair, map: MapName, virtualKey: string, hostMapKey: string): readonly Value[] {
  const { history, around } = pair;
  const tenant = history.keyEvents('virtual', pair.virtualKey, map, virtualKey);
  const start = own(mapOf(history.start('virtual', pair.virtualKey), map), virtualKey);
  const isNew = history.deedsOn('virtual', pair.virtualKey).some((deed) => deed.verb !== 'change');
  const lastTenant = tenant.at(-1);
  const theirs = lastTenant === undefined ? (isNew ? undefined : start) : lastTenant.value;
  const kind = around.virtual.kind as SyncedKind;
  const { way } = waysOf(around.settings, kind, map, hostMapKey);
  if (!canGoBack(pair, map, virtualKey) && history.isOneConfiguration) return [theirs];
  if (way === 'forward' && history.isOneConfiguration) return [theirs];
  const events = history.keyEvents('host', pair.hostKey, map, hostMapKey);
  const answerTo = (value: string): Answer => reversed(value, map, hostMapKey, virtualKey, around, history);
  const back = (value: Value): Value | false => {
    if (value === undefined) return undefined;
    const answer = answerTo(value);
    return answer.ok ? (answer.value as Value) : false;
  };
  const isSure = (value: Value): boolean => {
    const answer = value === undefined ? undefined : answerTo(value);
    return !(answer?.ok === true && answer.isUnsure === true);
  };
  const allowed = (list: readonly (Value | false)[]): Value[] => list.filter((one): one is Value => one !== false);
  if (way === 'back') return hostOwned(pair, map, hostMapKey, theirs, back);
  const last = events.at(-1);
  if (last === undefined)
    return unique([
      theirs,
      ...heldBefore(pair, map, virtualKey, hostMapKey).flatMap((value) => allowed([back(value)])),
    ]);
  if (isOfNewPatches(pair, map, hostMapKey, events)) return [theirs];
  // Nothing flows back to an object that was made anew under its name after the host was edited.
  const madeMs = history.deedsOn('virtual', pair.virtualKey).findLast(({ verb }) => verb === 'create')?.atMs;
  if (madeMs !== undefined && last.atMs < madeMs) return [theirs];
  const lastBack = back(last.value);
  const hadTenant = [start, ...tenant.slice(0, -1).map((event) => event.value)];
  if (tenant.length === 0 && mustGoBack(pair, last) && !mayMeetHalf(pair, events)) {
    if (lastBack !== false && isSure(last.value)) return [lastBack];
    return unique([theirs, ...allowed(events.map((event) => back(event.value)))]);
  }
  if (theirs !== start && wereFoundTogether(pair, [...events, ...tenant])) return [theirs];
  const isTenantLast = lastTenant !== undefined && events.every((event) => event.atMs < lastTenant.atMs);
  if (isTenantLast && !hadTenant.includes(theirs)) return [theirs];
  return unique([theirs, ...allowed(events.map((event) => back(event.value)))]);
}

/**
 * Both sides have changed the key while no daemon ran, which knew it by a base: the next one has found both together, and virtual wins, whoever
 * was last.
 */
function wereFoundTogether(pair: Pair, events: readonly KeyEvent[]): boolean {
  const { absences = [], hasSeenAll } = pair.history.point;
  // Somebody may have taken the base meanwhile: without one nobody knows who has changed what.
  const copies = pair.history.versions('host', pair.hostKey);
  const hasBase = copies.length > 0 && copies.every((copy) => own(annotationsOf(copy), BASE) !== undefined);
  if (hasSeenAll !== true || !pair.isSteady || !hasBase) return false;
  return absences.some(({ fromMs, toMs }) => events.every(({ atMs }) => atMs >= fromMs && atMs <= toMs));
}

/**
 * Of two host edits the first was half on its way back when the daemon died, or its answer was lost: then both sides have changed, and virtual wins.
 */
function mayMeetHalf({ history, virtualKey }: Pair, events: readonly KeyEvent[]): boolean {
  const lastMs = events.at(-1)?.atMs ?? 0;
  const { absences = [], halfBacks = [] } = history.point;
  const halves = halfBacks.filter(({ kind, namespace, name }) => keyOf(kind, namespace, name) === virtualKey);
  return events.length > 1 && [...absences, ...halves].some(({ fromMs, toMs }) => lastMs >= fromMs && lastMs <= toMs);
}

/**
 * Rule 8: keys whose own patches changed do not flow back in that pass. The rig knows the pass where no daemon ran while the host was edited and
 * the patches changed: the next daemon has found both together.
 */
function isOfNewPatches({ history, around }: Pair, map: MapName, hostMapKey: string, events: readonly KeyEvent[]) {
  const { absences = [], hasSeenAll } = history.point;
  const kind = around.virtual.kind as SyncedKind;
  // A base without such a key needs no digest: a key that the host adds flows back.
  if (own(mapOf(events[0]?.deed.before, map), hostMapKey) === undefined) return false;
  return absences.some(({ fromMs, toMs }) => {
    if (hasSeenAll !== true || !events.every(({ atMs }) => atMs >= fromMs && atMs <= toMs)) return false;
    const all = settingsOf(history.point);
    const before = all.findLast(({ sinceMs }) => sinceMs < fromMs);
    if (before === undefined || all.some(({ sinceMs }) => sinceMs > toMs)) return false;
    const [old, present] = [before, around.settings].map((one) => patchesOn(one, kind, map, hostMapKey));
    // Of references it is open (seed 326).
    return old !== present && !`${old}${present}`.includes('"reference"');
  });
}

/** Only `reverseExpression`: the host owns the key as soon as it has a value; before, it takes the raw one. */
function hostOwned(
  pair: Pair,
  map: MapName,
  hostMapKey: string,
  theirs: Value,
  back: (value: Value) => Value | false,
): readonly Value[] {
  const values = knownOnHost(pair, map, hostMapKey).map(back);
  return unique([theirs, ...values.filter((one): one is Value => one !== false)]);
}

/** A copy of another uid is rendered as on create (DESIGN 3.5), also where people have only damaged the mark: nobody can tell the two apart. */
function wasOfAnother({ history, hostKey, virtualKey, around }: Pair): boolean {
  const { uid } = around.virtual.metadata;
  const isOther = (copy: PlainObject | undefined): boolean => (uidOnHost(copy) || uid) !== uid;
  // A copy that nobody could tell from a stranger's outlives its object, and what it holds is of an object that nobody here has seen.
  const isLeft = history.start('virtual', virtualKey) === undefined && isOther(history.start('host', hostKey));
  return isLeft || history.deedsOn('host', hostKey).some(({ after }) => isOther(after));
}

/** Somebody had taken the base before the tenant wrote the key, or before a daemon could have heard of that, and a daemon has written another one since. */
function wasStripped({ history, hostKey }: Pair, written: KeyEvent | undefined): boolean {
  const deeds = history.deedsOn('host', hostKey);
  const hasBase = (copy: PlainObject | undefined): boolean => own(annotationsOf(copy), BASE) !== undefined;
  return deeds.some(({ after }, nth) => {
    if (written === undefined || after === undefined || hasBase(after)) return false;
    const mended = deeds.slice(nth + 1).find(({ before }) => hasBase(before));
    return mended === undefined || written.atMs < mended.atMs;
  });
}

const knownOnHost = ({ history, hostKey, hostNow }: Pair, map: MapName, hostMapKey: string): readonly Value[] =>
  unique([...history.versions('host', hostKey), hostNow].map((version) => own(mapOf(version, map), hostMapKey)));

/** What the host may hold at a key that the forward result does not have: people's own value, or nothing. */
export function leftovers(pair: Pair, map: MapName, hostMapKey: string, virtualKey: Value, way: Way): readonly Value[] {
  const { history, around, hostNow } = pair;
  const last = history.last('host', pair.hostKey);
  if (last === undefined || hostNow === undefined || last.metadata.uid !== hostNow.metadata.uid) return [undefined];
  const theirs = own(mapOf(last, map), hostMapKey);
  if (theirs === undefined) return [undefined];
  if (virtualKey === undefined) return [theirs];
  const { settings, virtual } = around;
  const kind = virtual.kind as SyncedKind;
  const versions = history.versions('virtual', pair.virtualKey);
  const wasVirtual = versions.some((version) => own(mapOf(version, map), virtualKey) !== undefined);
  const isListed = (own(annotationsOf(last), MANAGED_ANNOTATIONS) ?? '').split('\n').includes(virtualKey);
  const events = history.keyEvents('host', pair.hostKey, map, hostMapKey);
  const hasEvents = events.length > 0;
  const isExcluded =
    map === 'labels' ? settings.isExcludedLabel(virtualKey) : settings.isExcludedAnnotation(virtualKey);
  // A key that the virtual side has and that does not cross is nothing that such a patch hides.
  const isHidden = !isExcluded || own(mapOf(virtual, map), virtualKey) === undefined;
  if (way === 'forward' && isHidden && waysOf(settings, kind, map, hostMapKey).isNamed) return [undefined];
  const tenant = history.keyEvents('virtual', pair.virtualKey, map, virtualKey);
  const isStripped = own(annotationsOf(last), BASE) === undefined || wasStripped(pair, tenant.at(-1));
  if (goesNeverBack(virtualKey)) {
    // What the tenant had given goes with it, also where the object was made again.
    const isGiven = versions.some((version) => own(mapOf(version, map), virtualKey) === theirs);
    if (isGiven && !hasEvents && !isStripped && history.isOneConfiguration) return [undefined];
    return wasVirtual ? [theirs, undefined] : [theirs];
  }
  if (isExcluded) return wasVirtual ? [undefined, theirs] : [theirs, undefined];
  if (way !== 'back' && tenant.length > 0 && wereFoundTogether(pair, [...events, ...tenant])) return [undefined];
  if (map === 'annotations' && isListed && isStripped) return [undefined];
  // Without a base a key that only the host has stays; a daemon that was there before the key went has written the base again.
  if (isStripped) return [theirs, undefined];
  if (wasVirtual && !hasEvents) return [undefined];
  if (wasOfAnother(pair)) return [undefined, theirs];
  if (!wasVirtual && !hasEvents && history.isOneConfiguration && !isListed) return [theirs];
  return [theirs, undefined];
}

export const keyOfPair = (virtual: PlainObject): string => objectKey(virtual);
