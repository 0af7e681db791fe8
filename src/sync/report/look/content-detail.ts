// What is behind a name as a Secret or a ConfigMap, without a single value: keys, sizes and digests. In: a running sync of
// content and a key. Out: plain data. Values stay where they are.

import { createHmac } from 'node:crypto';
import { type Key, keyOf } from '../../../object/meta/object.ts';
import { digestOf } from '../../kinds/content/content-kind.ts';
import type { ContentOutcome } from '../../kinds/content/content-step.ts';
import { type KeySize, keySizes, unpackedSizes } from '../../kinds/content/key-sizes.ts';
import type { ContentSync } from '../../loop/content/content-sync.ts';
import { type NothingBehind, nothingBehind } from '../../references/nothing-behind.ts';
import type { Reference } from '../../references/reference-names.ts';
import type { Referrer } from '../../references/registry.ts';
import { labelOf } from '../../world/ledger.ts';
import { unreadSentence } from '../../world/unread.ts';
import { leaderlessSentence, leaderlessState, standbySentence } from '../object-status.ts';

export interface ContentDetail {
  kind: string;
  object: Key;
  state: string;
  message?: string;
  /** What cannot be read now, so that this may be what was true before. */
  unread?: string[];
  /** The objects whose names lead to it, as `Endpoints shop/api`. */
  referredToBy?: string[];
  virtual?: { resourceVersion: string; digest: string; keys: KeySize[] };
  host?: { object: Key; resourceVersion: string; digest: string; keys: KeySize[] };
}

export interface ContentLook {
  /** A secret of this process: a digest shows whether both sides are equal, and no short value can be guessed by it. */
  salt: Uint8Array;
  referrersOf(reference: Reference): readonly Referrer[];
  /** Who writes instead of this process. */
  leader: string | undefined;
  /** Why nobody is known to write. */
  leaderless: string | undefined;
}

/** Undefined when neither side has it, and nothing refers to it. */
export function contentDetail(
  { world, ledger }: ContentSync,
  object: Key,
  { salt, referrersOf, leader, leaderless }: ContentLook,
): ContentDetail | undefined {
  const salted = (digest: string): string => createHmac('sha256', salt).update(digest).digest('hex').slice(0, 16);
  const virtual = world.windows.virtual.get(object);
  const place = world.copyPlaceOf(object);
  const copy = place && world.windows.copies.get(keyOf(place.namespace, place.name));
  const reference = world.referenceOf(object);
  const referrers = referrersOf(reference).map(({ kind, key }) => `${kind} ${key}`);
  if (virtual === undefined && copy === undefined && referrers.length === 0) return undefined;
  const isImported = world.standingOf(reference) === 'imported';
  // For an import, the object of the host is shown in place of a copy.
  const onHost = copy ?? (isImported ? world.importableAt(world.importPlaceOf(object)) : undefined);
  const unread = world.unread.map(unreadSentence);
  const isUnresolved = referrers.length > 0 && world.standingOf(reference) === 'unresolved';
  return {
    kind: world.kind.kind,
    object,
    ...(leader !== undefined
      ? { state: 'left/Standby', message: standbySentence(leader) }
      : isUnresolved
        ? nothingIn(nothingBehind(reference, world.unread))
        : standingIn(ledger.entry(object)?.outcome, { isReferenced: referrers.length > 0, leaderless })),
    ...(unread.length > 0 && !isUnresolved && { unread }),
    ...(referrers.length > 0 && { referredToBy: referrers.slice(0, mostReferrers) }),
    ...(virtual && {
      virtual: {
        resourceVersion: virtual.resourceVersion,
        digest: salted(virtual.digest),
        keys: unpackedSizes(virtual.sizes),
      },
    }),
    ...(onHost && {
      host: {
        object: keyOf(onHost.namespace, onHost.name),
        resourceVersion: onHost.resourceVersion,
        digest: salted(digestOf(onHost.content)),
        keys: keySizes(onHost.content),
      },
    }),
  };
}

function nothingIn({ standing, why }: NothingBehind): { state: string; message: string } {
  return { state: standing, message: why };
}

/** More would only fill the page; the count of references is in the status. */
const mostReferrers = 20;

function standingIn(
  outcome: ContentOutcome | undefined,
  { isReferenced, leaderless }: { isReferenced: boolean; leaderless: string | undefined },
): { state: string; message?: string } {
  if (outcome === undefined) return { state: isReferenced ? 'pending' : 'not referenced' };
  if (outcome.kind === 'settled')
    return leaderless === undefined
      ? { state: outcome.as }
      : { state: leaderlessState, message: leaderlessSentence(leaderless) };
  return { state: labelOf(outcome), ...('message' in outcome && { message: outcome.message }) };
}
