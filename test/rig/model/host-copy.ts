// The host copy of one claim: every field of it, with the few that the rules leave open.

import { type Claim, render, strangersReferences } from './claims.ts';
import { reversed, waysOf } from './patches/back.ts';
import type { Patched } from './patches/patches.ts';
import { leftovers, type Pair, type Value } from './patches/two-way.ts';
import { type History, type MapName, mapOf } from './words/history.ts';
import {
  annotationsOf,
  areSame,
  canonical,
  copyOf,
  isMap,
  type JsonMap,
  keyOf,
  listBelow,
  objectKey,
  own,
} from './words/json.ts';
import {
  BASE,
  goesNeverBack,
  isProtected,
  MANAGED_ANNOTATIONS,
  ownerReference,
  SLICE_MANAGER,
  uidOnHost,
} from './words/marks.ts';
import type { Settings, SyncedKind } from './words/settings.ts';
import type { ExpectedObject, Json, OpenField, PlainObject } from './words/types.ts';

export interface CopyCase {
  readonly history: History;
  readonly settings: readonly Settings[];
  readonly claim: Claim;
  /** The virtual object as it must be now. */
  readonly virtual: PlainObject;
  readonly pair: Pair;
}

/** The value in `now` when the rules allow it, else the likeliest one: so both sides of an open choice agree. */
export const pick = (allowed: readonly Value[], now: Value): Value => (allowed.includes(now) ? now : allowed[0]);

/** All forward results since the last calm point: what an old copy or a kept field may still hold. */
export function olderResults(of: CopyCase): readonly Patched[] {
  const found = new Map<string, Patched>();
  for (const version of [...of.history.versions('virtual', objectKey(of.virtual)), of.virtual]) {
    for (const settings of of.settings) {
      const rendering = render({ ...of.claim.around, virtual: version, settings });
      if (rendering?.outcome.ok === true) found.set(canonical(rendering.outcome), rendering.outcome);
    }
  }
  return [...found.values()];
}

/** The host object that people last saw, if it is still the one that is there. */
export function lastOfSame(of: { readonly history: History; readonly claim: Claim }): PlainObject | undefined {
  const last = of.history.last('host', of.claim.hostKey);
  const now = of.history.now('host', of.claim.hostKey);
  if (last === undefined || (now !== undefined && now.metadata.uid !== last.metadata.uid)) return undefined;
  return last;
}

function hostValues(of: CopyCase, patched: Patched, map: MapName, key: string): readonly Value[] {
  const { history, claim, pair } = of;
  const settings = claim.around.settings;
  const virtualKey = map === 'labels' ? settings.naming.virtualLabelKey(key) : isProtected(key) ? undefined : key;
  const forward = own(patched[map], key);
  const kind = of.virtual.kind as SyncedKind;
  const { way } = waysOf(settings, kind, map, key);
  const last = lastOfSame(of);
  const theirs = own(mapOf(last, map), key);
  if (patched.kept.has(`${map}/${key}`)) {
    return [theirs, ...olderResults(of).map((result) => own(result[map], key)), forward];
  }
  if (forward === undefined) {
    const older = olderResults(of).some((result) => own(result[map], key) !== undefined);
    const left = leftovers(pair, map, key, virtualKey, way);
    return older && !left.includes(undefined) ? [undefined, ...left] : left;
  }
  const events = history.keyEvents('host', claim.hostKey, map, key);
  if (way === 'back') {
    const raw = history
      .versions('virtual', objectKey(of.virtual))
      .map((version) => own(mapOf(version, map), virtualKey ?? key));
    return theirs === undefined ? [forward, ...raw, ...events.map((event) => event.value)] : [theirs, forward, ...raw];
  }
  if (way !== 'both' || theirs === undefined || theirs === forward || goesNeverBack(virtualKey ?? key))
    return [forward];
  const answer = reversed(theirs, map, key, virtualKey ?? key, claim.around, history);
  if (answer.ok) return answer.isUnsure === true ? [forward, theirs] : [forward];
  const tenant = history.keyEvents('virtual', objectKey(of.virtual), map, virtualKey ?? key);
  // Without a base virtual wins for every key that it has.
  const editedMs = events.at(-1)?.atMs ?? 0;
  const isBaseless = history
    .deedsOn('host', claim.hostKey)
    .some(({ after, atMs }) => atMs >= editedMs && own(annotationsOf(after), BASE) === undefined);
  const isSure = tenant.length === 0 && pair.isSteady && settings.flowsBack && !isBaseless;
  return isSure ? [theirs] : [forward, theirs];
}

function mapExpected(of: CopyCase, patched: Patched, map: MapName): { readonly [key: string]: string } {
  const { history, claim } = of;
  const now = mapOf(history.now('host', claim.hostKey), map);
  const { translated } = claim.rendering;
  const fixed = map === 'labels' ? translated.fixedLabels : translated.fixedAnnotations;
  const made: { [key: string]: string } = {};
  const keys = new Set([...Object.keys(patched[map]), ...Object.keys(now), ...Object.keys(mapOf(lastOfSame(of), map))]);
  for (const key of keys) {
    if (key === BASE || key === MANAGED_ANNOTATIONS || Object.hasOwn(fixed, key)) continue;
    // DESIGN 3.18: of a slice it is the tenant's value, and so absent where the tenant has none.
    if (key === SLICE_MANAGER && of.virtual.kind === 'EndpointSlice') continue;
    const value = pick(hostValues(of, patched, map, key), own(now, key));
    if (value !== undefined) made[key] = value;
  }
  Object.assign(made, fixed);
  if (map === 'annotations') {
    const list = pick(managedLists(of), own(now, MANAGED_ANNOTATIONS));
    if (list !== undefined) made[MANAGED_ANNOTATIONS] = list;
  }
  return made;
}

/** Written at the creation of the copy only: then from any version of the virtual object that there was. */
function managedLists(of: CopyCase): readonly Value[] {
  const last = lastOfSame(of);
  const isKept = last !== undefined && uidOnHost(last) === of.virtual.metadata.uid;
  const theirs = own(mapOf(last, 'annotations'), MANAGED_ANNOTATIONS);
  if (isKept && of.pair.isSteady) return [theirs];
  const listed = (keys: readonly string[]): Value => (keys.length === 0 ? undefined : [...keys].sort().join('\n'));
  const versions = [of.virtual, ...of.history.versions('virtual', objectKey(of.virtual))];
  const made = versions.flatMap((virtual) =>
    of.settings.flatMap((settings) => {
      const rendering = render({ ...of.claim.around, virtual, settings });
      if (rendering?.outcome.ok !== true) return [];
      const { annotations } = rendering.outcome;
      // The list names the tenant's keys that the copy has (spec/endpoints.md), so not those that a patch removes.
      return [listed(Object.keys(annotationsOf(virtual)).filter((key) => Object.hasOwn(annotations, key)))];
    }),
  );
  return last === undefined ? made : [theirs, ...made];
}

function owners(of: CopyCase): { readonly list: readonly unknown[]; readonly isOpen: boolean } {
  const { history, claim } = of;
  const { settings } = claim.around;
  const { hostNamespace, virtualCluster } = settings.naming;
  const now = history.now('host', claim.hostKey);
  const strangers = strangersReferences(lastOfSame(of), virtualCluster);
  if (!settings.setsOwner) return { list: strangers, isOpen: false };
  const service = history.last('host', keyOf('Service', hostNamespace, virtualCluster));
  if (service === undefined || service.metadata.deletionTimestamp !== undefined) {
    return { list: listBelow(now, 'metadata', 'ownerReferences'), isOpen: true };
  }
  const list = [ownerReference(service, of.virtual), ...strangers];
  const stands = listBelow(now, 'metadata', 'ownerReferences');
  const sorted = (references: readonly unknown[]): string => canonical(references.map(canonical).sort());
  return { list: sorted(list) === sorted(stands) ? stands : list, isOpen: false };
}

/** Order and grouping of subsets say nothing (DESIGN 3.10). */
function asSet(payload: JsonMap): string {
  if (payload['subsets'] === undefined) return canonical(payload);
  const rows = listBelow(payload, 'subsets').flatMap((subset) =>
    ['addresses', 'notReadyAddresses'].flatMap((field) =>
      listBelow(subset, field).map((address) =>
        canonical([field, address, isMap(subset) ? listBelow(subset, 'ports').map(canonical).sort() : []]),
      ),
    ),
  );
  return canonical([...new Set(rows)].sort());
}

export const payloadOf = (object: PlainObject): JsonMap => {
  const { apiVersion: _a, kind: _k, metadata: _m, ...payload } = copyOf(object) as unknown as JsonMap;
  return payload;
};

function payloadExpected(of: CopyCase, patched: Patched): JsonMap {
  const now = of.history.now('host', of.claim.hostKey);
  if (now === undefined) return patched.payload;
  const stands = payloadOf(now);
  if (patched.kept.has('payload')) return stalePayload(of, stands);
  return areSame(patched.payload, stands) || asSet(patched.payload) === asSet(stands) ? stands : patched.payload;
}

/** A copy that is not written any more holds an earlier result, or what people last made of it. */
function stalePayload(of: CopyCase, stands: JsonMap): JsonMap {
  const last = lastOfSame(of);
  const allowed = [
    ...(last === undefined ? [] : [payloadOf(last)]),
    ...olderResults(of).map((result) => result.payload),
  ];
  return allowed.some((one) => asSet(one) === asSet(stands)) ? stands : (allowed[0] ?? {});
}

const BASE_IS_OPEN: OpenField = { path: ['metadata', 'annotations', BASE], mayLack: true };

export function writtenCopy(of: CopyCase, patched: Patched, because: string): ExpectedObject {
  const { claim } = of;
  const last = lastOfSame(of);
  const { list, isOpen } = owners(of);
  const { labels: _l, annotations: _a, ownerReferences: _o, ...kept } = (last?.metadata ?? {}) as unknown as JsonMap;
  const metadata = {
    ...kept,
    name: claim.rendering.translated.place.name,
    namespace: claim.rendering.translated.place.namespace,
    labels: mapExpected(of, patched, 'labels'),
    annotations: mapExpected(of, patched, 'annotations'),
    ownerReferences: list as readonly Json[],
  };
  const { apiVersion, kind } = of.virtual;
  const open: OpenField[] = [BASE_IS_OPEN];
  if (isOpen) open.push({ path: ['metadata', 'ownerReferences'], mayLack: true });
  return {
    side: 'host',
    object: { apiVersion, kind, metadata, ...payloadExpected(of, patched) },
    open,
    exists: 'must',
    because,
  };
}

/** Nothing is written while a patch fails: the old copy stays, with an old result. */
export function staleCopy(of: CopyCase, host: PlainObject, exists: 'must' | 'may', because: string): ExpectedObject {
  const object = { ...host, ...stalePayload(of, payloadOf(host)) };
  return { side: 'host', object, open: [{ path: ['metadata'], mayLack: true }], exists, because };
}
