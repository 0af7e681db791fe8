// The words between looking, deciding and doing for the content behind references: what is known of one object, what may be
// asked for next, and how a pass can end. Values only.
import type { Preconditions } from '../../cluster/writer.ts';
import type { Key, KubeObject } from '../../object/object.ts';
import type { KeyRules } from '../keys.ts';
import type { OwnerState } from '../owner.ts';
import type { Place, Placement } from '../placement.ts';
import type { ContentKind, HostContent, VirtualContent } from './content-kind.ts';

export interface ContentFacts {
  key: Key;
  kind: ContentKind;
  placement: Placement;
  labels: KeyRules;
  virtual: VirtualContent | undefined;
  /** Where the copy of the tenant's object stands, and what stands there; undefined where its namespace has no place. */
  copyPlace: Place | undefined;
  copy: HostContent | undefined;
  /** A copy of ours for this key in another place: the mapping has changed since. */
  stray: HostContent | undefined;
  /** Where an object of the host stands that has the tenant's own name, and that object if tenants may have it. */
  importPlace: Place | undefined;
  importable: HostContent | undefined;
  /** Of an import whose host object is not in sight: what the host said when asked. */
  lost: 'unknown' | 'there' | 'gone' | 'unlabelled';
  isReferenced: boolean;
  /** Everything that could refer to it has been counted, and no list is in doubt. */
  mayRemove: boolean;
  /** The sync of this kind is on, and it is us who make the copies. */
  isExported: boolean;
  owner: OwnerState;
}

export type ContentRequest =
  | { side: 'host' | 'virtual'; verb: 'create'; object: KubeObject; place: Place }
  | { side: 'host' | 'virtual'; verb: 'patch'; place: Place; mergePatch: object }
  | { side: 'host' | 'virtual'; verb: 'remove'; place: Place; preconditions: Preconditions }
  /** On the host why an import has lost its object; on the virtual side what the tenant's object holds, which is not kept. */
  | { side: 'host' | 'virtual'; verb: 'get'; place: Place };

export type ContentOutcome =
  | { kind: 'settled'; as: 'exported' | 'imported' | 'none' }
  | { kind: 'waiting'; message: string; retryAfterMs?: number; isForOwner?: boolean }
  /** Told to whoever refers to it. Virtual names only. */
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
