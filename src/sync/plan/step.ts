// The values that looking, deciding and writing exchange: the facts about one key, the requests, and the outcomes of a pass.
// Types and small constructors only.
import type { Preconditions } from '../../cluster/write/writer.ts';
import type { Key, KubeObject, OwnerReference } from '../../object/meta/object.ts';
import type { AddressRefusal } from './address-policy.ts';
import type { Draft } from './draft.ts';
import type { Agreement } from './keys/base.ts';
import type { EligibilityVerdict, HostItem, HostServiceItem, ServiceItem, VirtualItem } from './kind.ts';
import type { OwnerState } from './owner.ts';
import type { HostPlace } from './placement.ts';

/** Virtual spelling → value for the virtual object, null to remove. */
export interface BackValues {
  labels: Map<string, string | null>;
  annotations: Map<string, string | null>;
}

/** A failure for display: the patch, the path that matched, the error. Never a whole value, which may be a secret. */
export interface PatchFailure {
  /** Undefined when the combined result is invalid and no single patch can be blamed. */
  patch?: number;
  path?: string;
  at: string;
  class: string;
  message: string;
  position?: { line: number; column: number };
  /** The position of the failing code in the configuration. */
  source?: string;
  /** Set when another object or the machine may have caused the failure, so that a retry makes sense. */
  retryAfterMs?: number;
  /** The rules ended before they had judged. It is not reported, and nothing is written without them. */
  isPassing?: true;
}

/** Why the host's value of a key cannot reach the virtual object, by virtual key. */
export interface BackflowFailures {
  labels: ReadonlyMap<string, PatchFailure>;
  annotations: ReadonlyMap<string, PatchFailure>;
}

/** A host name that Services of several namespaces get: only the objects of one of them may have it. */
export interface NameClash {
  /** The other virtual Services that have the name. */
  rivals: readonly Key[];
  /** Another kind shares the names and has not listed its objects yet. */
  isPending: boolean;
  /** The Service that gets the name, unless the host's own Service has another owner; undefined without an object to sync. */
  holder: Key | undefined;
  /** A virtual object that has a copy under the name for another Service, while this object has none. */
  leaving?: Key;
}

export interface Facts {
  key: Key;
  virtual: VirtualItem | undefined;
  service: ServiceItem | undefined;
  /** The virtual Service that decides about the object, and its place on the host. */
  serviceKey: Key | undefined;
  servicePlace: HostPlace | undefined;
  place: HostPlace | undefined;
  verdict: EligibilityVerdict;
  host: HostItem | undefined;
  /** The host Service at servicePlace; known only in mapped namespaces, where host Services are watched. */
  hostService?: HostServiceItem | undefined;
  /** Our copies of this key at former places; namespace-mapping mode only. */
  strays: readonly HostItem[];
  /** The key that gets the host name when several claim it; undefined without a rival. */
  winner: Key | undefined;
  /** Undefined when no other Service can have the host name of the Service. */
  nameClash?: NameClash | undefined;
  owner: OwnerState;
  refusals: readonly AddressRefusal[];
  /** Nobody knows yet whether the object that this one was made from may be on the host; see Needs.source. */
  isSourcePending?: boolean;
  /** The translated and patched host object. */
  draft: Draft | undefined;
  /** Why the draft must not be used: a patch failed and wants its object left alone. */
  patchFailure: PatchFailure | undefined;
  /** A patch failed, but its onError policy lets the draft be used without it. */
  patchLapse?: PatchFailure | undefined;
  /** The resolved references of the draft as one text; undefined without references. */
  resolution?: string;
  /** Back-flow values after the reverse expressions; undefined before those have run. */
  reversed: BackValues | undefined;
  /** Host values that could not be reversed: each stays on the host, and the tenant does not get it. */
  backflowFailures?: BackflowFailures;
  /** A list that lacks this key also lacks many others, so a second list must confirm it before a delete. */
  isDeleteWithheld: boolean;
  ignoreOrder: boolean;
  /** False while a back-flow that only removes labels waits until the view of virtual Services is newer than the host. */
  mayRemoveLabelsBack: boolean;
  /** How long to hold the back-flow, because both sides keep changing the same keys; 0 for no wait. */
  backFlowWaitMs: number;
}

/** uid and resourceVersion make a late patch of a deleted or changed object fail. */
export interface HostMergePatch {
  metadata: {
    uid: string;
    resourceVersion: string;
    labels?: Record<string, string | null>;
    annotations?: Record<string, string | null>;
    ownerReferences?: OwnerReference[];
  };
  [member: string]: unknown;
}

/** A label or annotation in virtual spelling. */
export interface BackKey {
  map: 'label' | 'annotation';
  key: string;
}

export type PlannedRequest =
  | { side: 'host'; verb: 'create'; object: KubeObject; reason: string }
  | {
      side: 'host';
      verb: 'patch';
      place: HostPlace;
      mergePatch: HostMergePatch;
      reason: string;
      touches: string[];
      conflicts: number;
    }
  | { side: 'host'; verb: 'remove'; place: HostPlace; preconditions: Preconditions; reason: string }
  | { side: 'host'; verb: 'get'; what: 'object' | 'service'; place: HostPlace }
  | {
      side: 'virtual';
      verb: 'patch';
      place: HostPlace;
      mergePatch: object;
      reason: string;
      back: BackValues;
      /** The only key of them that is sent; absent = all are. */
      alone?: BackKey;
      /** The agreement after this write; the base on the host records it only with the following host write. */
      agreed: Agreement;
    }
  | { side: 'virtual'; verb: 'get'; place: HostPlace };

export type WaitReason =
  | 'OwnerMissing'
  | 'HostNamespaceMissing'
  | 'HostDeleting'
  | 'NamePending'
  | 'HostNameBusy'
  | 'DeleteWithheld'
  | 'SourcePending'
  | 'BackFlowHeld'
  | 'Contested';
export type RefuseReason =
  | 'HostNameTaken'
  | 'NotOwned'
  | 'NameCollision'
  | 'AddressRefused'
  | 'HostRefused'
  | 'Forbidden'
  | 'PatchFailed';
export type LeaveReason = 'Paused' | 'ControlledByOther' | 'KeptByHost' | 'NotOurs' | 'DryRun';

export type Outcome =
  | { kind: 'inSync' }
  | { kind: 'ineligible'; reason: string; message: string }
  /** `isBackFlow`: the copy is right, and what was edited on it cannot reach the tenant. `isRemoval`: the copy stays on the host. */
  | {
      kind: 'refused';
      reason: RefuseReason;
      message: string;
      detail?: string;
      /** Why a server refuses it, in words that are the same for all objects that it refuses for this reason. */
      cause?: string;
      failure?: PatchFailure;
      isBackFlow?: true;
      isRemoval?: true;
    }
  | { kind: 'waiting'; reason: WaitReason; message: string; retryAfterMs?: number; wakes?: Key }
  /** An operator of the host asked us not to write, or the copy is not provably ours. */
  | { kind: 'left'; reason: LeaveReason; message: string }
  | { kind: 'retry'; message: string; retryAfterMs?: number | undefined };

export interface RequestStep {
  kind: 'request';
  request: PlannedRequest;
  /** The key is in sync as soon as the host has stored exactly this request. */
  isLast: boolean;
}

export type PlanStep = RequestStep | { kind: 'done'; outcome: Outcome };

/** An object that somebody else has written since it was seen. */
export interface MustRead {
  side: 'host' | 'virtual';
  place: HostPlace;
}

/** The memory of one pass over a key between its requests. */
export interface Memory {
  hostService: { known: false } | { known: true; service: HostServiceItem | undefined };
  mustRead: MustRead | undefined;
  conflicts: number;
  /** Host edits that this pass has written to the virtual side; a later host edit is compared with them. */
  agreed: Agreement | undefined;
  /** Set when the virtual API server refused the back-flow: the pass still writes the host, and ends with this outcome. */
  backflowRefused: Outcome | undefined;
  /** Set when it refused several keys together: they are sent one by one, and these of them were refused again. */
  backAlone: readonly BackKey[] | undefined;
  /** Set when an answer ends the pass. */
  end: Outcome | undefined;
}

export function freshMemory(): Memory {
  return {
    hostService: { known: false },
    mustRead: undefined,
    conflicts: 0,
    agreed: undefined,
    backflowRefused: undefined,
    backAlone: undefined,
    end: undefined,
  };
}

/** A write that was not allowed and ended the pass, with the memory of the pass at that time. */
export interface HeldWrite {
  request: PlannedRequest;
  memory: Memory;
}

/** A write that creates or changes the host copy. */
export type HostWrite = Extract<PlannedRequest, { side: 'host'; verb: 'create' | 'patch' }>;

export function isHostWrite(request: PlannedRequest): request is HostWrite {
  return request.side === 'host' && (request.verb === 'create' || request.verb === 'patch');
}

export function ask(request: PlannedRequest, { isLast = false } = {}): PlanStep {
  return { kind: 'request', request, isLast };
}

export function done(outcome: Outcome): PlanStep {
  return { kind: 'done', outcome };
}
