// Who may be under which name of the host (DESIGN 3.2 and 3.13): all wanted objects, what each becomes, and one holder per name.

import { type Outcome, patchForward, type Surroundings } from './patches/patches.ts';
import { type Translated, translate } from './patches/translate.ts';
import { isMirror, isRefusedPayload, isWanted, serviceNameOf } from './policy.ts';
import type { History } from './words/history.ts';
import { annotationsOf, isMap, keyOf, listBelow, objectKey, own } from './words/json.ts';
import { namedBy, ownerOf } from './words/marks.ts';
import type { PatchEntry, Settings, SyncedKind } from './words/settings.ts';
import type { PlainObject } from './words/types.ts';

export type NameOnHost = (kind: string, namespace: string, name: string, entry: PatchEntry) => string;

export interface Rendering {
  readonly translated: Translated;
  readonly outcome: Outcome;
  readonly isRefused: boolean;
}

/** The forward result of one virtual object, whatever is on the host. */
export function render(around: Surroundings): Rendering | undefined {
  const { virtual, settings } = around;
  const place = settings.naming.place(virtual.metadata.namespace, virtual.metadata.name);
  if (place === undefined) return undefined;
  const translated = translate(virtual, place, settings);
  const outcome = patchForward(translated, around);
  const isRefused = outcome.ok && isRefusedPayload(virtual.kind, outcome.payload, settings);
  return { translated, outcome, isRefused };
}

export interface Claim {
  readonly virtual: PlainObject;
  readonly hostKey: string;
  readonly around: Surroundings;
  readonly rendering: Rendering;
}

export const isSynced = (kind: string): kind is SyncedKind => kind === 'Endpoints' || kind === 'EndpointSlice';

export function claimsOf(history: History, settings: Settings, nameOnHost: NameOnHost): readonly Claim[] {
  const look = (key: string): PlainObject | undefined => history.last('virtual', key);
  const found: Claim[] = [];
  for (const virtual of history.lastObjects('virtual')) {
    if (!isSynced(virtual.kind) || !settings.isOn[virtual.kind] || !isWanted(virtual, look, settings)) continue;
    const place = settings.naming.place(virtual.metadata.namespace, virtual.metadata.name);
    if (place === undefined) continue;
    const hostKey = keyOf(virtual.kind, place.namespace, place.name);
    const host = history.last('host', hostKey) ?? history.now('host', hostKey);
    const around = { settings, virtual, host, nameOnHost };
    const rendering = render(around);
    if (rendering === undefined || rendering.isRefused) continue;
    found.push({ virtual, hostKey, around, rendering });
  }
  return found;
}

/** The claim of the Endpoints that a mirrored slice was made from, which it needs beside it where the host does not mirror (DESIGN 3.18). */
export function needsBeside({ virtual }: Claim, settings: Settings): string | undefined {
  if (virtual.kind !== 'EndpointSlice' || !isMirror(virtual) || !settings.isOn.Endpoints) return undefined;
  return keyOf('Endpoints', virtual.metadata.namespace, serviceNameOf(virtual) ?? '');
}

const serviceKeyOf = ({ virtual }: Claim): string =>
  keyOf('Service', virtual.metadata.namespace, serviceNameOf(virtual) ?? '');

/**
 * Consumers on the host join everything behind the name of a Service, so of several virtual Services that get one host name only one has objects
 * there, of either kind: the Service that the host Service is a copy of, else the one with a copy behind the name, else the one with the oldest object.
 */
export function withoutLosers(claims: readonly Claim[], history: History, settings: Settings): readonly Claim[] {
  const services = history.lastObjects('virtual').filter(({ kind }) => kind === 'Service');
  const hostKeyOf = ({ metadata }: PlainObject): string => {
    const place = settings.naming.place(metadata.namespace, metadata.name);
    return place === undefined ? '' : keyOf('Service', place.namespace, place.name);
  };
  return claims.filter((claim) => {
    const own = services.find((service) => objectKey(service) === serviceKeyOf(claim));
    if (own === undefined) return true;
    const rivals = services.filter((service) => hostKeyOf(service) === hostKeyOf(own)).map(objectKey);
    if (rivals.length < 2) return true;
    return serviceThatHolds(rivals, claims, hostKeyOf(own), history) === objectKey(own);
  });
}

function serviceThatHolds(
  rivals: readonly string[],
  claims: readonly Claim[],
  hostKey: string,
  history: History,
): string {
  const copy = history.last('host', hostKey);
  const named = copy && namedBy(copy);
  const copied = named && keyOf('Service', named.namespace, named.name);
  if (copied !== undefined && rivals.includes(copied)) return copied;
  const theirs = claims.filter((claim) => rivals.includes(serviceKeyOf(claim)));
  const standing = history.isUntouched('host', hostKey)
    ? incumbentOf(theirs, history)
    : theirs.find((claim) => isCopyOf(history.now('host', claim.hostKey), claim));
  const holder = standing ?? oldestOf(theirs, serviceKeyOf);
  return holder === undefined ? '' : serviceKeyOf(holder);
}

const age = (object: PlainObject): string => object.metadata.creationTimestamp;

const oldestOf = (claims: readonly Claim[], keyOfClaim: (claim: Claim) => string): Claim | undefined => {
  const rank = (claim: Claim): string => `${age(claim.virtual)} ${keyOfClaim(claim)}`;
  return [...claims].sort((one, other) => (rank(one) < rank(other) ? -1 : 1))[0];
};

function isCopyOf(host: PlainObject | undefined, { virtual }: Claim): boolean {
  const named = host && namedBy(host);
  return named?.name === virtual.metadata.name && named.namespace === virtual.metadata.namespace;
}

/**
 * Who held a name that several want (DESIGN 3.13). What is there now tells it where something was still moving: then the order of
 * events has decided. Where nobody has touched the incumbent of the last calm point, or all claimants were there and the place was theirs to take,
 * the rule alone decides, and what the daemon has made of it says nothing.
 */
function incumbentOf(claims: readonly Claim[], history: History): Claim | undefined {
  const isStill = (claim: Claim): boolean =>
    history.isUntouched('virtual', objectKey(claim.virtual)) &&
    history.isUntouched('virtual', serviceKeyOf(claim)) &&
    history.isUntouched('host', claim.hostKey) &&
    !isMirror(claim.virtual);
  // Of one reload everything under the old rules is over, and everything is looked at again under the new ones.
  if (history.point.hasSeenAll === true && history.point.configurations.length <= 2) {
    const { naming } = claims[0]?.around.settings ?? {};
    const held = claims.find((claim) => {
      const host = history.start('host', claim.hostKey);
      return (
        isStill(claim) &&
        isCopyOf(host, claim) &&
        naming !== undefined &&
        host !== undefined &&
        ownerOf(host, claim.virtual.metadata, naming) === 'ours'
      );
    });
    if (held !== undefined) return held;
    // Free, or held by a copy whose object has lost its right to the name.
    const isFree = (claim: Claim): boolean => {
      const host = history.start('host', claim.hostKey);
      return host === undefined || !claims.some((one) => isCopyOf(host, one));
    };
    if (claims.every((claim) => isStill(claim) && isFree(claim))) return undefined;
  }
  return claims.find((claim) => isCopyOf(history.now('host', claim.hostKey), claim));
}

/** The incumbent keeps the name while it is a claimant; else the oldest one has it, then the smallest key. */
export function holdersOf(claims: readonly Claim[], history: History): ReadonlyMap<string, Claim> {
  const byHost = new Map<string, Claim[]>();
  for (const claim of claims) byHost.set(claim.hostKey, [...(byHost.get(claim.hostKey) ?? []), claim]);
  const holders = new Map<string, Claim>();
  for (const [hostKey, rivals] of byHost) {
    const holder = incumbentOf(rivals, history) ?? oldestOf(rivals, ({ virtual }) => objectKey(virtual));
    if (holder !== undefined) holders.set(hostKey, holder);
  }
  return holders;
}

export const isContested = (claims: readonly Claim[], claim: Claim): boolean =>
  claims.some((other) => other !== claim && other.hostKey === claim.hostKey);

/** References of other people to owners of theirs, which the daemon keeps. */
export const strangersReferences = (host: PlainObject | undefined, virtualCluster: string): readonly unknown[] =>
  listBelow(host, 'metadata', 'ownerReferences').filter(
    (reference) => !(isMap(reference) && reference['kind'] === 'Service' && reference['name'] === virtualCluster),
  );

export const annotationOf = (object: PlainObject | undefined, key: string): string | undefined =>
  own(annotationsOf(object), key);
