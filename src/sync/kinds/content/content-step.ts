// The values that pass between looking, deciding and writing for the content behind references: the facts about one object, the
// requests that a plan can make, and how a pass can end. Types only.
import type { Preconditions } from '../../../cluster/write/writer.ts';
import type { Key, KubeObject } from '../../../object/meta/object.ts';
import type { KeyRules } from '../../plan/keys/key-rules.ts';
import type { OwnerState } from '../../plan/owner.ts';
import type { HostPlace, Placement } from '../../plan/placement.ts';
import type { ContentKind, HostContent, VirtualContent } from './content-kind.ts';

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
  /** On the host it tells why an import has lost its object; on the virtual side it fetches content, which is not kept. */
  | { side: 'host' | 'virtual'; verb: 'get'; place: HostPlace };

export type ContentOutcome =
  | { kind: 'settled'; as: 'exported' | 'imported' | 'none' }
  | { kind: 'waiting'; message: string; retryAfterMs?: number; isForOwner?: boolean }
  /** For an event on each referring object, so it holds virtual names only. */
  | { kind: 'refused'; reason: 'NotOwned' | 'ReferenceRefused' | 'Forbidden' | 'HostRefused'; message: string }
  | { kind: 'retry'; retryAfterMs?: number | undefined };

export type ContentStep = { kind: 'request'; request: ContentRequest } | { kind: 'done'; outcome: ContentOutcome };

export function ask(request: ContentRequest): ContentStep {
  return { kind: 'request', request };
}

export const notCounted = 'not all references are counted yet';

export function done(outcome: ContentOutcome): ContentStep {
  return { kind: 'done', outcome };
}
