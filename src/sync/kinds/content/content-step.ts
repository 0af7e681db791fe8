// The values that pass between looking, deciding and writing for the content behind references: the facts about one object, the
// requests that a plan can make, and how a pass can end.
import type { Preconditions } from '../../../cluster/write/writer.ts';
import type { Key, KubeObject } from '../../../object/meta/object.ts';
import type { KeyRules } from '../../plan/keys/key-rules.ts';
import type { OwnerState } from '../../plan/owner.ts';
import type { HostPlace, Placement } from '../../plan/placement.ts';
import { type ContentKind, changeOf, type HostContent, type VirtualContent } from './content-kind.ts';

export interface ContentFacts {
  key: Key;
  kind: ContentKind;
  placement: Placement;
  labels: KeyRules;
  virtual: VirtualContent | undefined;
  /** The place of the copy on the host and the object there; undefined where the namespace has no place on the host. */
  copyPlace: HostPlace | undefined;
  copy: HostContent | undefined;
  /** Copies of ours for this key in other places, left there by earlier mappings. */
  strays: readonly HostContent[];
  /** The host place of the tenant's own name, and the object there if tenants may import it. */
  importPlace: HostPlace | undefined;
  importable: HostContent | undefined;
  /** For an import whose host object no window shows: the host's answer to a read. */
  lost: 'unknown' | 'there' | 'gone' | 'unlabelled';
  isReferenced: boolean;
  /** Every object that could refer to it has been counted, and no list is in doubt. */
  mayRemove: boolean;
  /** The sync of this kind is on, and Hostward makes the copies. */
  isExported: boolean;
  owner: OwnerState;
}

export type ContentRequest =
  | { side: 'host' | 'virtual'; verb: 'create'; object: KubeObject; place: HostPlace }
  | { side: 'host' | 'virtual'; verb: 'patch'; place: HostPlace; mergePatch: object }
  | { side: 'host' | 'virtual'; verb: 'remove'; place: HostPlace; preconditions: Preconditions }
  /** On the host it shows why an import has lost its object; on the virtual side it fetches content, which is not kept. */
  | { side: 'host' | 'virtual'; verb: 'get'; place: HostPlace };

export type ContentWait =
  | 'OwnerMissing'
  | 'HostNamespaceMissing'
  /** The tenant's namespace is missing or ends. */
  | 'NamespaceMissing'
  | 'HostDeleting'
  | 'NotCounted'
  | 'Contested'
  | 'DryRun';

export type ContentOutcome =
  | { kind: 'settled'; as: 'exported' | 'imported' | 'none' }
  | { kind: 'waiting'; reason: ContentWait; message: string; retryAfterMs?: number }
  /** For an event on each referring object, so it holds virtual names only. */
  | { kind: 'refused'; reason: 'NotOwned' | 'ReferenceRefused' | 'Forbidden' | 'HostRefused'; message: string }
  | { kind: 'retry'; retryAfterMs?: number | undefined };

export type ContentStep = { kind: 'request'; request: ContentRequest } | { kind: 'done'; outcome: ContentOutcome };

export function ask(request: ContentRequest): ContentStep {
  return { kind: 'request', request };
}

export const notCounted: ContentOutcome = {
  kind: 'waiting',
  reason: 'NotCounted',
  message: 'not all references are counted yet',
};

export function done(outcome: ContentOutcome): ContentStep {
  return { kind: 'done', outcome };
}

/** Fetches the content of a virtual object, which is not kept. */
export function readOf(virtual: VirtualContent): ContentStep {
  return ask({ side: 'virtual', verb: 'get', place: placeOf(virtual) });
}

export function removalOf(item: VirtualContent | HostContent, side: 'host' | 'virtual'): ContentRequest {
  const { uid, resourceVersion } = item;
  return { side, verb: 'remove', place: placeOf(item), preconditions: { uid, resourceVersion } };
}

/** The step that makes the copy on `side` equal to its origin on the other side; undefined when it is. */
export function alignStep(
  origin: VirtualContent | HostContent,
  copy: VirtualContent | HostContent,
  how: { side: 'host' | 'virtual'; metadata?: object | undefined; isReplaceable: boolean },
): ContentStep | undefined {
  const { side, metadata, isReplaceable } = how;
  const change = changeOf(origin, copy);
  if (change.kind === 'unread') return readOf((side === 'host' ? origin : copy) as VirtualContent);
  if (change.kind === 'replace' && isReplaceable) return ask(removalOf(copy, side));
  const members = change.kind === 'patch' ? change.members : undefined;
  if (metadata === undefined && members === undefined) return undefined;
  const { uid, resourceVersion } = copy;
  const mergePatch = { metadata: { uid, resourceVersion, ...metadata }, ...members };
  return ask({ side, verb: 'patch', place: placeOf(copy), mergePatch });
}

function placeOf({ namespace, name }: HostPlace): HostPlace {
  return { namespace, name };
}
